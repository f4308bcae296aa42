package allocation

import "github.com/gorun/gorun/hostfiles"

// readLSF reads the allocation of IBM Spectrum LSF. Its newest variable comes
// first; the oldest is missing where the list is long.
func readLSF(s source) (*Allocation, error) {
	job, _ := s.variable("LSB_JOBID")
	value, name := s.variable("LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS", "LSB_HOSTS")
	var hosts []hostfiles.Host
	var err error
	switch name {
	case "":
		if job == "" {
			return nil, nil
		}
		return nil, incomplete(LSF, "LSB_JOBID", "LSB_DJOB_HOSTFILE or LSB_MCPU_HOSTS", "has the job's hosts")
	case "LSB_DJOB_HOSTFILE":
		var text string
		if text, err = s.file(value); err == nil {
			hosts, err = parseRepeated(value, text)
		}
	case "LSB_MCPU_HOSTS":
		hosts, err = parsePairs(name, value)
	case "LSB_HOSTS":
		hosts, err = parseRepeated(name, value)
	}
	if err != nil {
		return nil, &VariableError{Scheduler: LSF, Name: name, Err: err}
	}
	return &Allocation{Scheduler: LSF, Job: job, Hosts: hosts}, nil
}

// parsePairs reads hosts that are each followed by their slots: "a 4 b 2".
func parsePairs(name, text string) ([]hostfiles.Host, error) {
	var t tally
	err := eachLine(name, text, func(line []word) error {
		for len(line) > 0 {
			if len(line) == 1 {
				pos := line[0].pos
				pos.Column += len(line[0].text)
				return &hostfiles.SyntaxError{Pos: pos, Want: "the slots of " + line[0].text}
			}
			slots, err := parseSlots(line[1].text, line[1].pos)
			if err != nil {
				return err
			}
			if err := t.add(line[0].text, slots, line[0].pos); err != nil {
				return err
			}
			line = line[2:]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t.result(name)
}
