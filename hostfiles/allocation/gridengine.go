package allocation

import "github.com/gorun/gorun/hostfiles"

// readGridEngine reads the allocation of a parallel environment of Sun's, now
// Altair's, Grid Engine and its descendants. JOB_ID alone is too common a name
// to mean that there is one.
func readGridEngine(s source) (*Allocation, error) {
	file, name := s.variable("PE_HOSTFILE")
	if file == "" {
		return nil, nil
	}
	job, _ := s.variable("JOB_ID")
	text, err := s.file(file)
	if err != nil {
		return nil, &VariableError{Scheduler: GridEngine, Name: name, Err: err}
	}
	hosts, err := parsePEHostfile(file, text)
	if err != nil {
		return nil, &VariableError{Scheduler: GridEngine, Name: name, Err: err}
	}
	return &Allocation{Scheduler: GridEngine, Job: job, Hosts: hosts}, nil
}

// parsePEHostfile reads lines of: host slots queue processors (sge_pe(5)). A
// host that several queues gave has several. The last two fields are passed
// over; how many they are differs between versions.
func parsePEHostfile(file, text string) ([]hostfiles.Host, error) {
	var t tally
	err := eachLine(file, text, func(line []word) error {
		if len(line) < 2 {
			pos := line[0].pos
			pos.Column += len(line[0].text)
			return &hostfiles.SyntaxError{Pos: pos, Want: "the slots of " + line[0].text}
		}
		slots, err := parseSlots(line[1].text, line[1].pos)
		if err != nil {
			return err
		}
		return t.add(line[0].text, slots, line[0].pos)
	})
	if err != nil {
		return nil, err
	}
	return t.result(file)
}
