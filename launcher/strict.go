package launcher

import (
	"errors"
	"fmt"
)

// With Job.Strict a job does not begin where it otherwise would with a warning:
//
//   - what prepare finds odd, such as a variable that is to be passed on and is
//     not set, or hosts that the scheduler does not know;
//   - a placement that has its notes, such as more ranks than CPUs;
//   - hosts with fewer GPUs than their peers;
//   - hosts that are one machine under several names;
//   - hosts that do not reach each other at the address that others use;
//   - a host on which the launcher's working folder is missing, where ranks
//     would start in the home folder;
//   - a host that cannot give ranks the limits that are asked for;
//   - a program that is linked with an MPI library that is not served, whose
//     ranks would each be alone;
//   - hosts that differ in what should be alike on all of them (audit.go).
//
// The last four are for agents to find (wire.App.DirHint, wire.Start.Strict).
// What comes up while ranks run is told and ends nothing.

// warn passes on what is odd about the job, not anew in every attempt. Its
// error refuses the job.
func (a *attempt) warn(notes []string) error {
	if a.number > 0 || len(notes) == 0 {
		return nil
	}
	if a.job.Strict {
		problems := make([]error, len(notes))
		for i, text := range notes {
			problems[i] = errors.New(text)
		}
		return &PlanError{problems}
	}
	for _, text := range notes {
		a.event(Event{Kind: Warning, Rank: -1, Message: text})
	}
	return nil
}

// shortOfGPUs names hosts that have fewer GPUs than most. One without any is
// not meant to have some.
func shortOfGPUs(hosts []*host) (notes []string) {
	usual := usualGPUs(hosts)
	for _, h := range hosts {
		if n := h.gpus(); n > 0 && n < usual {
			notes = append(notes, fmt.Sprintf("%s has %d GPUs, its peers have %d", h.name, n, usual))
		}
	}
	return notes
}
