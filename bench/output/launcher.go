package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/gorun/gorun/bench/internal/contest"
)

// work is what four ranks are to print.
type work struct {
	title   string
	program []string
	tagged  bool
}

// launcher starts four ranks.
type launcher struct {
	name    string
	command []string
	tag     string // the flag that tags lines
}

func launchers(gorun string) []launcher {
	all := []launcher{{"gorun", []string{gorun, "-q", "-np", "4"}, "-l"}}
	if hydra := contest.Hydra(); hydra != "" {
		all = append(all, launcher{"hydra", []string{hydra, "-n", "4"}, "-l"})
	}
	if mpirun := contest.OpenMPI(); mpirun != nil {
		all = append(all, launcher{"open mpi", append(mpirun, "-n", "4"), "-tag-output"})
	}
	return all
}

// run starts the work, hands what comes out of it to read, and waits.
func (l launcher) run(ctx context.Context, w work, read func(io.Reader) error) (*os.ProcessState, error) {
	argv := slices.Clone(l.command)
	if w.tagged {
		argv = append(argv, l.tag)
	}
	argv = append(argv, w.program...)
	cmd := contest.NewCommand(ctx, argv)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	failed := read(out)
	if err := cmd.Wait(); err != nil {
		return nil, err
	}
	return cmd.ProcessState, failed
}

// discard reads with a buffer of its own: io.Discard's is small.
func discard(r io.Reader) (total int64, err error) {
	buf := make([]byte, 256<<10)
	for {
		n, err := r.Read(buf)
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

func (l launcher) contender(w work) contest.Contender {
	return contest.Contender{Name: l.name, Run: func(ctx context.Context) (contest.Cost, error) {
		start := time.Now()
		state, err := l.run(ctx, w, func(r io.Reader) error { _, err := discard(r); return err })
		if err != nil {
			return contest.Cost{}, err
		}
		return contest.Cost{Wall: time.Since(start), CPU: state.UserTime() + state.SystemTime()}, nil
	}}
}

// inspect counts the lines that do not hold one whole line of one rank.
func (l launcher) inspect(ctx context.Context, w work) error {
	lines, damaged := 0, 0
	_, err := l.run(ctx, w, func(r io.Reader) error {
		for s := bufio.NewScanner(r); ; lines++ {
			if !s.Scan() {
				return s.Err()
			}
			text := s.Bytes()
			whole := text[max(0, len(text)-lineLength+1):]
			if !bytes.HasPrefix(whole, []byte(lineStart)) || bytes.Count(text, []byte(lineStart)) != 1 {
				damaged++
			}
		}
	})
	fmt.Printf("%s, %s: %d lines, %d damaged\n", w.title, l.name, lines, damaged)
	return err
}

// stallTime is how long nobody reads.
const stallTime = 5 * time.Second

// stall reads one byte, nothing for a while, and then all the rest.
func (l launcher) stall(ctx context.Context, w work) error {
	var total int64
	state, err := l.run(ctx, w, func(r io.Reader) error {
		if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
			return err
		}
		time.Sleep(stallTime)
		n, err := discard(r)
		total = n + 1
		return err
	})
	if err != nil {
		return err
	}
	peak := state.SysUsage().(*syscall.Rusage).Maxrss >> 10 // in KiB, getrusage(2)
	fmt.Printf("%s, %s: %d bytes arrived, at most %d MiB resident in the launcher\n", w.title, l.name, total, peak)
	return nil
}
