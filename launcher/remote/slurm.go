package remote

import (
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
)

// Slurm starts agents on the nodes of a Slurm job by srun, without a login. It
// is safe for concurrent use.
//
// Each agent is a job step of its own, since a step has one standard input and
// output for all its nodes and ours differ from node to node. Slurm's
// controller makes steps one after the other, which bounds how far this scales.
//
// What runs in a step is Slurm's to kill. That is what happens a little after
// its stream was closed, and when srun is killed: Slurm alone would let the step
// go on without its standard streams.
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
	Said string // what srun marked as errors, or else the last that it said; "": nothing
	Err  error  // how srun ended, or why nobody waits for it any more
}

func (e *StepError) Error() string {
	said := e.Said
	if said == "" {
		said = "it said nothing"
	}
	return fmt.Sprintf("srun started no step of job %s: %s (%v)", e.Job, said, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

// StartAgent runs p on the node and returns its stream. It blocks until the
// program starts, ctx ends or Slurm gives up; then the error is an *[Error] of
// StepAgent, with a *[StepError] inside if the node was not reached. A second
// after its stream was closed, what is left of the step is killed.
func (s *Slurm) StartAgent(ctx context.Context, p *Program, node string, start Start) (Stream, error) {
	said := &stepOutput{}
	stream, err := p.Start(ctx, node, start, func(command string, stderr io.Writer) (Stream, error) {
		said.to = stderr
		return s.step(node, command, said)
	})
	failed, ok := errors.AsType[*Error](err)
	if !ok || said.number() != "" {
		return stream, err
	}
	why := failed.Err
	if exit, ok := errors.AsType[*ExitError](why); ok {
		why = exit
	}
	if ctx.Err() != nil {
		why = context.Cause(ctx)
	}
	failed.Err = &StepError{Job: s.job, Said: said.errors(), Err: why}
	return nil, failed
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
		"--input=0",       // the agent's
		"--chdir=/",       // the folder we are in may not be there
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
