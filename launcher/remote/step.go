package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// step is the Stream of a command in a step.
type step struct {
	*Local
	slurm *Slurm
	said  *stepOutput
	wait  func() error

	mu     sync.Mutex
	ended  bool
	timers []*time.Timer // that end srun; nil: not closed
}

const (
	// stepGrace is how long an agent has to tidy up when its input has ended.
	stepGrace = time.Second
	// stepPatience bounds how long srun and scancel may take to end a step. Both
	// do in milliseconds, or try for minutes to reach a controller or a node that
	// is not there.
	stepPatience = 2 * time.Second
)

// Close ends the agent's input, and the step if that does not: on TERM srun has
// Slurm kill it.
func (s *step) Close() error {
	s.mu.Lock()
	if s.timers == nil && !s.ended {
		s.timers = []*time.Timer{
			time.AfterFunc(stepGrace, func() { s.cmd.Process.Signal(syscall.SIGTERM) }),
			time.AfterFunc(stepGrace+stepPatience, func() { s.Kill() }),
		}
	}
	s.mu.Unlock()
	return s.Local.Close()
}

// Wait waits for srun, which ends when the step has.
func (s *step) Wait() error { return s.wait() }

func (s *step) end() error {
	err := s.Local.Wait()
	s.mu.Lock()
	s.ended = true
	for _, t := range s.timers {
		t.Stop()
	}
	s.mu.Unlock()
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Signal != "" {
		s.cancel()
	}
	return err
}

// cancel kills what runs in the step after srun was killed.
func (s *step) cancel() {
	number := s.said.number()
	if number == "" {
		return // it did not start
	}
	ctx, stop := context.WithTimeout(context.Background(), stepPatience)
	defer stop()
	cmd := exec.CommandContext(ctx, s.slurm.scancel, "--quiet", s.slurm.job+"."+number)
	cmd.Env = srunEnviron(os.Environ())
	// If this fails too, the agent ends by itself when it has not heard of the
	// launcher for long enough.
	cmd.Run()
}

// stepLine begins the line in which a step tells its number.
const stepLine = "gorun: step "

// stepOutput takes what srun and the command in the step write to standard
// error, and keeps the line with the step's number to itself.
type stepOutput struct {
	to io.Writer

	mu      sync.Mutex
	step    string // "": not known yet
	pending []byte // of a line, while the step is not known
	before  tail   // what came before the step's number
}

func (o *stepOutput) Write(p []byte) (int, error) {
	passed := p
	o.mu.Lock()
	if o.step == "" {
		passed = o.look(p)
	}
	o.mu.Unlock()
	if len(passed) > 0 {
		if _, err := o.to.Write(passed); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// look takes the next bytes before the step's number and returns what of them
// is to be passed on.
func (o *stepOutput) look(p []byte) (passed []byte) {
	o.pending = append(o.pending, p...)
	for {
		end := bytes.IndexByte(o.pending, '\n') + 1
		if end == 0 {
			if len(o.pending) < maxMessage {
				return passed
			}
			end = len(o.pending) // no line that we wait for is as long
		}
		line := o.pending[:end]
		o.pending = o.pending[end:]
		if number, ok := bytes.CutPrefix(line, []byte(stepLine)); ok {
			o.step = string(bytes.TrimSpace(number))
			rest := o.pending
			o.pending = nil
			return append(passed, rest...)
		}
		o.before.Write(line)
		passed = append(passed, line...)
	}
}

// number returns the step's, "" if it has not started.
func (o *stepOutput) number() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.step
}

// errors returns why the step did not start: the lines that srun marks as
// errors, or else the last one.
func (o *stepOutput) errors() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var marked []string
	last := ""
	for line := range strings.Lines(o.before.text()) {
		last = strings.TrimSpace(strings.TrimPrefix(line, "srun: "))
		if reason, ok := strings.CutPrefix(last, "error: "); ok {
			marked = append(marked, reason)
		}
	}
	if marked == nil {
		return last
	}
	return strings.Join(marked, "; ")
}
