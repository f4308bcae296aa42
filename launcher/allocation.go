package launcher

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/hostfiles/allocation"
	"github.com/gorun/gorun/launcher/remote"
)

// scheduled is what a batch scheduler has to do with a job. The zero scheduled
// is that of a job outside of any.
type scheduled struct {
	allocation *allocation.Allocation // nil: none, or it is to be left out of account
	hosts      map[string]hostfiles.Host
}

// schedule looks for the allocation that the job is in. One that cannot be read
// is an error only where something depends on it, else a warning; one of which
// a part is missing is taken for none.
func schedule(job *Job) (s scheduled, warning string, err error) {
	switch job.Allocation {
	case "", "auto":
	case "none":
		return s, "", nil
	default:
		return s, "", fmt.Errorf("--allocation: expected auto or none, found %q", job.Allocation)
	}
	a, err := allocation.Current()
	switch {
	case err != nil && job.Hosts == nil && !isIncomplete(err):
		return s, "", err
	case err != nil:
		return s, err.Error(), nil
	case a == nil:
		return s, "", nil
	}
	s = scheduled{a, make(map[string]hostfiles.Host, len(a.Hosts))}
	for _, h := range a.Hosts {
		s.hosts[strings.ToLower(h.Name)] = h
	}
	return s, "", nil
}

func isIncomplete(err error) bool {
	bad, ok := errors.AsType[*allocation.VariableError](err)
	return ok && bad.Incomplete
}

// entries returns the hosts of a job that named these: those of the allocation
// if it named none. Named without slots, a host of the allocation has the slots
// that it has there. The warning is of hosts that are not in it.
func (s *scheduled) entries(named []hostfiles.Host) (entries []hostfiles.Host, warning string) {
	switch {
	case s.allocation == nil && named == nil:
		return []hostfiles.Host{thisHost()}, ""
	case s.allocation == nil:
		return named, ""
	case named == nil:
		return s.allocation.Hosts, ""
	}
	entries = slices.Clone(named)
	var outside []string
	for i, h := range entries {
		given, ok := s.hosts[strings.ToLower(h.Name)]
		switch {
		case ok && h.Slots == 0:
			entries[i].Slots = given.Slots
		case !ok && !remote.IsLocal(h):
			outside = append(outside, h.Name)
		}
	}
	if outside == nil {
		return entries, ""
	}
	return entries, fmt.Sprintf("not among the %s of %v: %s; --allocation none leaves it out of account",
		plural(len(s.allocation.Hosts), "host"), s.allocation, listed(outside, 4))
}
