// Package allocation reads which hosts a batch scheduler has given to the job
// that this process is part of: [Current] from the environment, [Read] from
// anything like it.
//
// # Model
//
// A scheduler tells a job its hosts in variables, or in files that variables
// name. A slot is a process that the scheduler has room for on a host:
//
//	Slurm        SLURM_JOB_NODELIST "gpu[01-03,07]"; SLURM_TASKS_PER_NODE "8(x3),4" and others
//	PBS, Torque  the file PBS_NODEFILE: a line is a slot
//	LSF          the file LSB_DJOB_HOSTFILE, else LSB_MCPU_HOSTS "a 4 b 2", else LSB_HOSTS "a a b"
//	Grid Engine  the file PE_HOSTFILE: host, slots, queue, processors
//
// With several schedulers' variables in one environment the first of this list
// counts: those that imitate another one's leave their own too.
//
// Under Slurm the slots are, by what the job was asked to be:
//
//   - where it has a number of tasks, the tasks of each host;
//   - else, where it has GPUs, the GPUs of each host, which are left undeclared
//     if only their sum is known;
//   - else the processors of each host, over those of a task.
//
// # Failure
//
// Variables outlive their job in shells that were started within it, and get
// lost where environments are filtered. What cannot be read is a
// [*VariableError], and so is a job without hosts or hosts without a job, which
// a program may take for no allocation at all: containers are often told no
// more than the job's id. Whether the job has ended is for the scheduler to say
// when its hosts are used.
package allocation

import (
	"fmt"
	"io"
	"os"

	"github.com/gorun/gorun/hostfiles"
)

// Scheduler is the name of a batch scheduler.
type Scheduler string

// The schedulers whose allocations are read.
const (
	Slurm      Scheduler = "Slurm"
	PBS        Scheduler = "PBS"
	LSF        Scheduler = "LSF"
	GridEngine Scheduler = "Grid Engine"
)

// Allocation is what a scheduler has given to a job.
type Allocation struct {
	Scheduler Scheduler
	Job       string           // its id; "": the scheduler has not said
	Hosts     []hostfiles.Host // at least one, each once, in the scheduler's order; Slots 0: undeclared

	// InStep says that this process is in a step of the job, which Slurm's srun
	// started with its own share of the job's resources on this host, and not in
	// the batch script or interactive shell, which has all of them.
	InStep bool
}

// String returns, for example, "Slurm's job 1234".
func (a *Allocation) String() string {
	if a.Job == "" {
		return fmt.Sprintf("%s's job", a.Scheduler)
	}
	return fmt.Sprintf("%s's job %s", a.Scheduler, a.Job)
}

// VariableError is a scheduler's variable that is not what it should be.
type VariableError struct {
	Scheduler Scheduler
	Name      string // of the variable
	Err       error  // what is wrong; a *hostfiles.SyntaxError where text cannot be read

	// Incomplete says that the variable may be right, but that another one is
	// missing without which there is no allocation.
	Incomplete bool
}

func (e *VariableError) Error() string {
	if syntax, ok := e.Err.(*hostfiles.SyntaxError); ok && syntax.Pos.File == e.Name {
		return e.Err.Error() // the place names the variable
	}
	return fmt.Sprintf("%s: %v", e.Name, e.Err)
}

func (e *VariableError) Unwrap() error { return e.Err }

// incomplete refuses the variable called name because missing is not set.
func incomplete(by Scheduler, name, missing, role string) error {
	return &VariableError{
		Scheduler:  by,
		Name:       name,
		Err:        fmt.Errorf("expected %s beside it, which %s, found none", missing, role),
		Incomplete: true,
	}
}

// Current returns the allocation of the job that this process is part of, nil
// if there is none. Its error is a [*VariableError].
func Current() (*Allocation, error) {
	return Read(os.Getenv, func(name string) (io.ReadCloser, error) { return os.Open(name) })
}

// Read is [Current] where getenv gives the variables, "" for one that is not
// set, and open the files that they name.
func Read(getenv func(string) string, open func(string) (io.ReadCloser, error)) (*Allocation, error) {
	s := source{getenv, open}
	for _, read := range []func(source) (*Allocation, error){readSlurm, readPBS, readLSF, readGridEngine} {
		if a, err := read(s); a != nil || err != nil {
			return a, err
		}
	}
	return nil, nil
}

// source is where a scheduler's reader looks.
type source struct {
	getenv func(string) string
	open   func(string) (io.ReadCloser, error)
}

// variable returns the value of the first of names that is set, and its name.
func (s source) variable(names ...string) (value, name string) {
	for _, name := range names {
		if value := s.getenv(name); value != "" {
			return value, name
		}
	}
	return "", ""
}

// maxBytes bounds what is read of a file. It is ours: 65,536 hosts with 256
// bytes for each.
const maxBytes = 16 << 20

// file returns the text of the file at path.
func (s source) file(path string) (string, error) {
	f, err := s.open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxBytes {
		return "", fmt.Errorf("%s: expected at most %d bytes, found more", path, maxBytes)
	}
	return string(text), nil
}
