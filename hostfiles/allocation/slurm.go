package allocation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun/gorun/hostfiles"
)

// readSlurm reads the allocation of Slurm. Variables come in pairs of a name
// and its older form.
func readSlurm(s source) (*Allocation, error) {
	job, jobName := s.variable("SLURM_JOB_ID", "SLURM_JOBID")
	list, listName := s.variable("SLURM_JOB_NODELIST", "SLURM_NODELIST")
	refuse := func(name string, err error) (*Allocation, error) {
		return nil, &VariableError{Scheduler: Slurm, Name: name, Err: err}
	}
	switch {
	case job == "" && list == "":
		return nil, nil
	case list == "":
		return nil, incomplete(Slurm, jobName, "SLURM_JOB_NODELIST", "has the job's hosts")
	case job == "":
		return nil, incomplete(Slurm, listName, "SLURM_JOB_ID", "names the job")
	}
	if components := s.getenv("SLURM_HET_SIZE"); components != "" {
		return refuse("SLURM_HET_SIZE", fmt.Errorf("expected a job of one component, found a heterogeneous one of %s", components))
	}
	// srun -n8 gorun, out of habit, would run the whole job eight times.
	if tasks := s.getenv("SLURM_STEP_NUM_TASKS"); inStep(s) && tasks != "" && tasks != "1" {
		return refuse("SLURM_STEP_NUM_TASKS", fmt.Errorf("expected 1, since each of this step's tasks would start a job on the same hosts, found %s", tasks))
	}
	hosts, err := parseNodeList(listName, list)
	if err != nil {
		return refuse(listName, err)
	}
	slots, name, err := slurmSlots(s, len(hosts))
	if err != nil {
		return refuse(name, err)
	}
	for i := range hosts {
		hosts[i].Slots = slots[i]
	}
	return &Allocation{Scheduler: Slurm, Job: job, Hosts: hosts, InStep: inStep(s)}, nil
}

// parseNodeList reads a list of nodes as Slurm writes it: names between
// commas, with ranges such as rack[1-2]gpu[01-04,08] in them.
func parseNodeList(name, list string) ([]hostfiles.Host, error) {
	hosts, err := hostfiles.ParseList(list)
	if err != nil {
		// The first problem is enough: nobody wrote this list.
		syntax, ok := errors.AsType[*hostfiles.SyntaxError](err)
		if !ok {
			return nil, err
		}
		syntax.Pos.File = name
		return nil, syntax
	}
	for i := range hosts {
		hosts[i].Pos.File = name
		if h := hosts[i]; h.User != "" || h.Slots != 0 {
			return nil, &hostfiles.SyntaxError{Pos: h.Pos, Want: "names of nodes, each once", Found: list}
		}
	}
	return hosts, nil
}

// interactiveStep is the number of the step in which salloc may run the user's
// shell. It has the job's resources and variables (slurm.h:
// SLURM_INTERACTIVE_STEP).
const interactiveStep = "4294967290"

func inStep(s source) bool {
	step := s.getenv("SLURM_STEP_ID")
	return step != "" && step != interactiveStep
}

// slurmSlots returns the slots of n nodes by the rules of the package comment,
// or what is wrong with the variable called name.
func slurmSlots(s source, n int) (slots []int, name string, err error) {
	// In a step the tasks are its own and there always: they do not tell what the
	// job was asked to be.
	if tasks, _ := s.variable("SLURM_NTASKS", "SLURM_NPROCS"); tasks != "" && !inStep(s) {
		if perNode, name := s.variable("SLURM_TASKS_PER_NODE"); perNode != "" {
			if slots, err = parseCounts(name, perNode); err == nil && len(slots) != n {
				err = fmt.Errorf("expected the tasks of %d nodes, found those of %d in %q", n, len(slots), perNode)
			}
			return slots, name, err
		}
	}
	if perNode, name := s.variable("SLURM_NTASKS_PER_NODE"); perNode != "" {
		each, err := parseSlots(perNode, hostfiles.Pos{File: name, Line: 1, Column: 1})
		return slices.Repeat([]int{each}, n), name, err
	}
	if slots, name, err := slurmGPUs(s, n); slots != nil || err != nil {
		return slots, name, err
	}
	cpus, name := s.variable("SLURM_JOB_CPUS_PER_NODE")
	if cpus == "" {
		return make([]int, n), "", nil
	}
	if slots, err = parseCounts(name, cpus); err != nil {
		return nil, name, err
	}
	if len(slots) != n {
		return nil, name, fmt.Errorf("expected the processors of %d nodes, found those of %d in %q", n, len(slots), cpus)
	}
	perTask := 1
	if each, name := s.variable("SLURM_CPUS_PER_TASK"); each != "" {
		if perTask, err = parseSlots(each, hostfiles.Pos{File: name, Line: 1, Column: 1}); err != nil {
			return nil, name, err
		}
	}
	for i := range slots {
		slots[i] = max(1, slots[i]/perTask)
	}
	return slots, "", nil
}

// slurmGPUs returns the GPUs of n nodes, nil if the job has none. What --gpus
// asked for is a sum, of which the nodes' shares are not known here.
func slurmGPUs(s source, n int) (slots []int, name string, err error) {
	if perNode, name := s.variable("SLURM_GPUS_PER_NODE"); perNode != "" {
		each, err := parseGPUs(name, perNode)
		return slices.Repeat([]int{each}, n), name, err
	}
	if sum, _ := s.variable("SLURM_GPUS", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_PER_SOCKET"); sum != "" {
		return make([]int, n), "", nil
	}
	// --gres=gpu:N is for each node.
	if here, name := s.variable("SLURM_GPUS_ON_NODE"); here != "" && here != "0" {
		each, err := parseGPUs(name, here)
		return slices.Repeat([]int{each}, n), name, err
	}
	return nil, "", nil
}

// parseGPUs reads numbers of GPUs by type, as 8, h100:8 or a100:4,h100:4, and
// adds them.
func parseGPUs(name, text string) (int, error) {
	sum, column := 0, 1
	for part := range strings.SplitSeq(text, ",") {
		count := part[strings.LastIndexByte(part, ':')+1:]
		n, err := parseSlots(count, hostfiles.Pos{File: name, Line: 1, Column: column + len(part) - len(count)})
		if err != nil {
			return 0, err
		}
		if sum += n; sum > maxSlots {
			_, err := parseSlots(strconv.Itoa(sum), hostfiles.Pos{File: name, Line: 1, Column: column})
			return 0, err
		}
		column += len(part) + 1
	}
	return sum, nil
}

// parseCounts reads a number for each node as Slurm writes it: "8(x2),4" is
// 8, 8, 4.
func parseCounts(name, text string) ([]int, error) {
	var counts []int
	pos := hostfiles.Pos{File: name, Line: 1, Column: 1}
	for part := range strings.SplitSeq(text, ",") {
		number, times, repeated := strings.Cut(part, "(x")
		n, err := parseSlots(number, pos)
		if err != nil {
			return nil, err
		}
		repeat := 1
		if repeated {
			digits, closed := strings.CutSuffix(times, ")")
			repeat, err = strconv.Atoi(digits)
			if !closed || err != nil || repeat < 1 || repeat > maxHosts-len(counts) {
				pos.Column += len(number)
				return nil, &hostfiles.SyntaxError{Pos: pos, Want: fmt.Sprintf(`"(xN)" for at most %d nodes`, maxHosts), Found: part[len(number):]}
			}
		}
		if len(counts)+repeat > maxHosts {
			return nil, &hostfiles.SyntaxError{Pos: pos, Want: fmt.Sprintf("at most %d nodes", maxHosts), Found: part}
		}
		for range repeat {
			counts = append(counts, n)
		}
		pos.Column += len(part) + 1
	}
	return counts, nil
}
