package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gorun/gorun/bench/internal/contest"
)

// launcher is a command that takes -n and a program.
type launcher struct {
	name    string
	command []string
}

// job is a launcher with its ranks, all asleep.
type job struct {
	cmd   *contest.Command
	sleep string // how long each rank sleeps: what tells them from all other processes
}

// start blocks until all ranks run.
func (l launcher) start(ctx context.Context, ranks int) (*job, error) {
	j := &job{sleep: fmt.Sprintf("%d.%d", 100000+time.Now().UnixNano()%100000, os.Getpid())}
	j.cmd = contest.NewCommand(ctx, append(slices.Clone(l.command), "-n", strconv.Itoa(ranks), "sleep", j.sleep))
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	for len(j.ranks()) < ranks {
		if err := ctx.Err(); err != nil {
			j.cmd.Wait()
			return nil, err
		}
	}
	return j, nil
}

// ranks lists the processes that are ranks of the job.
func (j *job) ranks() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Equal(line, []byte("sleep\x00"+j.sleep+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// end interrupts the launcher and waits for it.
func (j *job) end() (contest.Cost, error) {
	start := time.Now()
	if err := j.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return contest.Cost{}, err
	}
	j.cmd.Wait() // its status is no matter here
	cost := contest.Cost{Wall: time.Since(start)}
	if left := j.ranks(); len(left) > 0 {
		return cost, fmt.Errorf("ranks %v are left", left)
	}
	return cost, nil
}

// stop starts a job and measures its end.
func (l launcher) stop(ctx context.Context, ranks int) (contest.Cost, error) {
	j, err := l.start(ctx, ranks)
	if err != nil {
		return contest.Cost{}, err
	}
	return j.end()
}

// memory starts a job and says what its launcher's processes take.
func (l launcher) memory(ctx context.Context, ranks int) (string, error) {
	j, err := l.start(ctx, ranks)
	if err != nil {
		return "", err
	}
	rank := map[int]bool{}
	for _, pid := range j.ranks() {
		rank[pid] = true
	}
	total, shares := 0, []string{}
	for queue := []int{j.cmd.Process.Pid}; len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		if rank[pid] {
			continue
		}
		resident := residentKiB(pid)
		total += resident
		shares = append(shares, fmt.Sprintf("%.1f", float64(resident)/1024))
		queue = append(queue, childrenOf(pid)...)
	}
	_, err = j.end()
	return fmt.Sprintf("%.1f MiB resident (%s)", float64(total)/1024, strings.Join(shares, " + ")), err
}

// residentKiB is the resident memory of a process, shared pages included.
func residentKiB(pid int) (kib int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			fmt.Sscan(value, &kib)
		}
	}
	return kib
}

func childrenOf(pid int) (children []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		list, err := os.ReadFile(task)
		if errors.Is(err, os.ErrNotExist) {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(list)) {
			child, _ := strconv.Atoi(field)
			children = append(children, child)
		}
	}
	return children
}
