//go:build linux

package agent

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gorun/gorun/launcher/agent/proc"
	"github.com/gorun/gorun/launcher/wire"
)

// Bounds of what is told: a job that hangs may have thousands of threads.
const (
	maxStackProcesses = 8        // of a rank
	maxStackThreads   = 64       // of a process
	maxStackText      = 32 << 10 // bytes of a process
	stackWorkers      = 4        // ranks at a time: debuggers are heavy
)

// takeStacks tells where every rank of this host is, and then that it has. It
// ends with m's time at the latest.
func (a *agent) takeStacks(m *wire.TakeStacks) {
	defer a.conn.SendBulk(&wire.StacksTaken{})
	ctx, cancel := context.WithTimeout(a.ctx, time.Duration(m.Within))
	defer cancel()
	leaders := a.leaders()
	var wg sync.WaitGroup
	next := make(chan *rank)
	for range min(stackWorkers, len(leaders)) {
		wg.Go(func() {
			for r := range next {
				for _, pid := range family(r.pid) {
					if ctx.Err() != nil {
						break
					}
					a.conn.SendBulk(&wire.Stack{Rank: r.number, PID: pid, Text: a.describeProcess(ctx, pid)})
				}
			}
		})
	}
	for _, r := range leaders {
		next <- r
	}
	close(next)
	wg.Wait()
	if m.Ending {
		end, _ := ctx.Deadline()
		proc.Await(a.quitGoPrograms(leaders), timeNow().Add(min(quitPatience, time.Until(end))))
	}
}

// quitPatience is how long Go programs may take to print their goroutines
// before the TERM that follows cuts them off. One that catches QUIT goes on.
const quitPatience = time.Second

// leaders returns the ranks that live.
func (a *agent) leaders() (alive []*rank) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.ranks {
		if r.running() {
			alive = append(alive, r)
		}
	}
	return alive
}

// quitGoPrograms has Go programs print their goroutines, which no debugger
// does as well, and end. It returns them.
func (a *agent) quitGoPrograms(leaders []*rank) (told []int) {
	for _, r := range leaders {
		for _, pid := range family(r.pid) {
			if languageOf(pid) != golang {
				continue
			}
			a.mu.Lock()
			r.told = true
			if r.running() {
				syscall.Kill(pid, syscall.SIGQUIT)
				told = append(told, pid)
			}
			a.mu.Unlock()
		}
	}
	return told
}

// family returns a process and the first of those below it.
func family(pid int) []int {
	children := map[int][]int{}
	for _, p := range proc.All() {
		if ppid, state, ok := proc.Parent(p); ok && state != 'Z' && state != 'X' {
			children[ppid] = append(children[ppid], p)
		}
	}
	all := []int{pid}
	for i := 0; i < len(all) && len(all) < maxStackProcesses; i++ {
		all = append(all, children[all[i]]...)
	}
	return all[:min(len(all), maxStackProcesses)]
}

// describeProcess returns what a process is doing, in lines: each thread by
// what the kernel tells, then what a debugger of this host finds.
func (a *agent) describeProcess(ctx context.Context, pid int) string {
	var b strings.Builder
	threads := threadsOf(pid)
	fmt.Fprintf(&b, "%s\n", proc.ShortCommand(proc.CommandLine(pid)))
	for _, tid := range threads[:min(len(threads), maxStackThreads)] {
		b.WriteString(describeThread(pid, tid))
	}
	if more := len(threads) - maxStackThreads; more > 0 {
		fmt.Fprintf(&b, "and %d more threads\n", more)
	}
	b.WriteString(a.userStack(ctx, pid))
	text := strings.ToValidUTF8(b.String(), "?")
	if len(text) > maxStackText {
		text = strings.ToValidUTF8(text[:maxStackText], "") + "\n…\n"
	}
	return text
}

func threadsOf(pid int) (tids []int) {
	entries, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	slices.Sort(tids)
	return tids
}

// describeThread returns where a thread is in the kernel. The stack is root's
// to read (proc_pid_stack(5)); who may not sees the function that it sleeps in
// and the number of its system call.
func describeThread(pid, tid int) string {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(tid))
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	_, state, ok := proc.Parent(tid) // a thread's number is a process's for /proc
	if !ok {
		return ""
	}
	text := fmt.Sprintf("thread %d %s, state %c", tid, read("comm"), state)
	if where := read("wchan"); where != "" && where != "0" {
		text += ", in " + where
	}
	if call, _, _ := strings.Cut(read("syscall"), " "); call != "" && call != "running" {
		text += ", system call " + call
	}
	text += "\n"
	for line := range strings.Lines(read("stack")) {
		// "[<0>] futex_wait_queue+0x6e/0x90"
		_, frame, _ := strings.Cut(strings.TrimSpace(line), "] ")
		text += "  kernel " + frame + "\n"
	}
	return text
}

// language is what a program's stacks are best read with.
type language string

const (
	golang language = "Go"
	python language = "Python"
	other  language = ""
)

// languageOf tells by a process's executable.
func languageOf(pid int) language {
	path := filepath.Join("/proc", strconv.Itoa(pid), "exe")
	target, err := os.Readlink(path)
	if err != nil {
		return other
	}
	if strings.HasPrefix(filepath.Base(target), "python") {
		return python
	}
	f, err := elf.Open(path)
	if err != nil {
		return other
	}
	defer f.Close()
	if f.Section(".go.buildinfo") != nil || f.Section(".note.go.buildid") != nil {
		return golang
	}
	return other
}

// stackTools are the programs that print a process's stacks, the best first.
// %d is the process.
var stackTools = map[language][]string{
	python: {"py-spy dump --nonblocking --pid %d", gdbCommand, "eu-stack -p %d", "pstack %d"},
	other:  {gdbCommand, "eu-stack -p %d", "pstack %d"},
}

const gdbCommand = "gdb -nx -batch -p %d -ex|thread apply all bt 30"

// userStack returns a process's own stacks, or how to have them.
func (a *agent) userStack(ctx context.Context, pid int) string {
	kind := languageOf(pid)
	hint := ""
	switch kind {
	case golang:
		return "a Go program: SIGQUIT makes it print its goroutines\n"
	case python:
		if _, err := exec.LookPath("py-spy"); err != nil {
			hint = "a Python program: with py-spy on the host its functions are shown; " +
				"or it calls faulthandler.register(signal.SIGQUIT) and prints them by itself\n"
		}
	}
	for _, tool := range stackTools[kind] {
		name, rest, _ := strings.Cut(tool, " ")
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		// What follows a bar is one argument.
		rest, last, whole := strings.Cut(fmt.Sprintf(rest, pid), "|")
		args := append([]string{name}, strings.Fields(rest)...)
		if whole {
			args = append(args, last)
		}
		return hint + indent(name, a.runTool(ctx, path, args))
	}
	return cmp.Or(hint, "neither gdb nor eu-stack is on the host, which would show its functions\n")
}

// indent puts the tool's name before its lines. Of gdb's only those of threads
// and frames matter, if there are any.
func indent(name, text string) string {
	var all, frames strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			continue
		}
		fmt.Fprintf(&all, "  %s %s\n", name, line)
		if line[0] == '#' || strings.HasPrefix(line, "Thread ") {
			fmt.Fprintf(&frames, "  %s %s\n", name, line)
		}
	}
	return cmp.Or(frames.String(), all.String())
}

// runTool runs a program and returns the first of what it prints. The agent
// reaps all its children alike, so it is started as ranks are, and killed when
// ctx ends.
func (a *agent) runTool(ctx context.Context, path string, args []string) string {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err.Error()
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	attr := &syscall.ProcAttr{
		Env:   append(os.Environ(), "DEBUGINFOD_URLS="), // nothing is to be fetched
		Files: []uintptr{null.Fd(), w.Fd(), w.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	ended := make(chan struct{})
	var pid int
	a.processes.Each(1, func(int) bool {
		pid, err = a.processes.Start(path, args, attr, nil, func(syscall.WaitStatus) { close(ended) })
		return true
	})
	w.Close()
	if err != nil {
		return err.Error()
	}
	late := ""
	stop := context.AfterFunc(ctx, func() { syscall.Kill(-pid, syscall.SIGKILL) })
	var out bytes.Buffer
	io.CopyN(&out, r, maxStackText) // the end of the program is the end of its output
	r.Close()
	<-ended
	if !stop() {
		late = "\nit took too long"
	}
	return out.String() + late
}
