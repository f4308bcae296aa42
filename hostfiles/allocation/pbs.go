package allocation

import "github.com/gorun/gorun/hostfiles"

// readPBS reads the allocation of PBS Professional, OpenPBS or Torque.
func readPBS(s source) (*Allocation, error) {
	job, _ := s.variable("PBS_JOBID")
	file, name := s.variable("PBS_NODEFILE")
	refuse := func(name string, err error) (*Allocation, error) {
		return nil, &VariableError{Scheduler: PBS, Name: name, Err: err}
	}
	switch {
	case job == "" && file == "":
		return nil, nil
	case file == "":
		return nil, incomplete(PBS, "PBS_JOBID", "PBS_NODEFILE", "names the job's hosts")
	}
	text, err := s.file(file)
	if err != nil {
		return refuse(name, err)
	}
	hosts, err := parseRepeated(file, text)
	if err != nil {
		return refuse(name, err)
	}
	if ppn, name := s.variable("PBS_NUM_PPN"); ppn != "" && onceEach(hosts) {
		slots, err := parseSlots(ppn, hostfiles.Pos{File: name, Line: 1, Column: 1})
		if err != nil {
			return refuse(name, err)
		}
		for i := range hosts {
			hosts[i].Slots = slots
		}
	}
	return &Allocation{Scheduler: PBS, Job: job, Hosts: hosts}, nil
}

// onceEach reports whether no host was named twice. Torque can be configured
// to write so, and says in PBS_NUM_PPN how many processors of each the job has.
func onceEach(hosts []hostfiles.Host) bool {
	for _, h := range hosts {
		if h.Slots != 1 {
			return false
		}
	}
	return true
}
