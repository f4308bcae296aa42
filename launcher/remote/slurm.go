package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Slurm starts agents on the nodes of a Slurm job by srun, without a login. It
// is safe for concurrent use.
//
// Each agent is a job step of its own, since a step has one standard input and
// output for all its nodes and ours differ from node to node. Slurm's
// controller makes steps one after the other, which bounds how far this scales.
//
// A step's processes are Slurm's to kill: when its stream is closed the step
// ends with everything in it, and so it does when srun is killed, since Slurm
// alone would let the step go on without its standard streams.
type Slurm struct {
	job           string
	srun, scancel string // paths
}

// NewSlurm returns a Slurm for the nodes of the job with that id. It fails if
// Slurm's commands are not installed here.
func NewSlurm(job string) (*Slurm, error) {
	s := &Slurm{job: job}
	for name, path := range map[string]*string{"srun": &s.srun, "scancel": &s.scancel} {
		var err error
		if *path, err = exec.LookPath(name); err != nil {
			return nil, fmt.Errorf("agents are started by Slurm's %s: %w", name, err)
		}
	}
	return s, nil
}

// StepError says that Slurm did not start a step.
type StepError struct {
	Job  string
	Said string // by srun, its errors or else the last of what it said; ""
	Err  error  // how srun ended
}

func (e *StepError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("srun started no step of job %s: %v", e.Job, e.Err)
	}
	return fmt.Sprintf("srun started no step of job %s: %s", e.Job, e.Said)
}

func (e *StepError) Unwrap() error { return e.Err }

// StartAgent runs p on the node and returns its stream. It blocks until the
// program starts, ctx ends or Slurm gives up; then the error is an *[Error] of
// StepAgent, with a *[StepError] inside if the node was not reached. Closing
// the stream kills what runs in the step.
func (s *Slurm) StartAgent(ctx context.Context, p *Program, node string, start Start) (Stream, error) {
	said := &stepOutput{}
	stream, err := p.Start(ctx, node, start, func(command string, stderr io.Writer) (Stream, error) {
		said.to = stderr
		return s.step(node, command, said)
	})
	if failed, ok := errors.AsType[*Error](err); ok && said.number() == "" {
		failed.Err = &StepError{Job: s.job, Said: said.errors(), Err: failed.Err}
	}
	return stream, err
}

// step runs a command line on the node.
func (s *Slurm) step(node, command string, said *stepOutput) (Stream, error) {
	args := append(s.arguments(node), "/bin/sh", "-c", `echo "`+stepLine+`$SLURM_STEP_ID" >&2; `+command)
	l, err := startProcess(&exec.Cmd{
		Path: s.srun, Args: args, Env: srunEnviron(os.Environ()), Stderr: said,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // the terminal's signals are for us
	})
	if err != nil {
		return nil, err
	}
	st := &step{Local: l, slurm: s, said: said}
	st.wait = sync.OnceValue(st.end)
	return st, nil
}

// arguments are srun's, srun(1) of Slurm 22.05. GPUs are not among them: unless
// it says otherwise a step has all of its job's on that node, and with --overlap
// it takes them from nobody.
func (s *Slurm) arguments(node string) []string {
	return []string{
		"srun",
		"--jobid=" + s.job,
		"--nodes=1", "--ntasks=1", "--nodelist=" + node,
		"--overlap",       // ranks share the node with the steps of the user's other commands
		"--mem=0",         // all memory that the job has there, also if a default is less
		"--cpu-bind=none", // ranks are bound by their agent, which must be free to choose
		"--mpi=none",      // no PMI server: gorun is the ranks' launcher
		"--unbuffered",    // else output waits for a newline
		"--input=0",
		"--kill-on-bad-exit=0",
		"--chdir=/", // the folder we are in may not be there
		"--job-name=gorun",
		// Nothing else of our environment: the ranks' comes with their start.
		"--export=" + strings.Join(exported, ","),
	}
}

// exported are the variables that a login would set on the node.
var exported = []string{"HOME", "USER", "LOGNAME", "SHELL", "PATH"}

// srunEnviron returns the environment of srun, which takes for options what
// salloc and sbatch have set to describe the job.
func srunEnviron(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name != "SLURM_CONF" && (strings.HasPrefix(name, "SLURM_") || strings.HasPrefix(name, "SRUN_"))
	})
}

// step is the Stream of a command in a step.
type step struct {
	*Local
	slurm *Slurm
	said  *stepOutput
	wait  func() error

	mu     sync.Mutex
	killer *time.Timer // of srun; nil: not closed
}

// stepPatience bounds how long srun and scancel may take to end a step. Both
// answer in milliseconds, or try for minutes to reach a controller or a node
// that is not there.
const stepPatience = 2 * time.Second

// Close ends the step: on TERM srun has Slurm kill it.
func (s *step) Close() error {
	s.mu.Lock()
	if s.killer == nil {
		s.cmd.Process.Signal(syscall.SIGTERM)
		s.killer = time.AfterFunc(stepPatience, func() { s.Kill() })
	}
	s.mu.Unlock()
	return s.Local.Close()
}

// Wait waits for srun.
func (s *step) Wait() error { return s.wait() }

func (s *step) end() error {
	err := s.Local.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killer != nil {
		s.killer.Stop()
	}
	if s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
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
