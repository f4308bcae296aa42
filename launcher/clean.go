package launcher

import (
	"context"
	"fmt"
	"sync"

	"github.com/gorun/gorun/launcher/wire"
)

// Cleaning is what [Clean] does.
type Cleaning struct {
	Jobs  []string // ids of the lost jobs that it is about; nil: all of the user's
	Dry   bool     // only look
	Cache bool     // also remove agents and staged files that nothing has used for four weeks
}

// Cleaned is what Clean has found on one host and, unless it only looked, has
// ended and removed.
type Cleaned struct {
	Host         string    `json:"host"`
	Err          error     `json:"-"` // a *HostError: nothing is known of the host
	Lost         []LostJob `json:"lost"`
	Running      []string  `json:"running"` // jobs that were left alone
	Disused      int       `json:"disused"` // files of the cache that nothing has used for four weeks
	DisusedBytes int64     `json:"disused_bytes"`
	Problems     []string  `json:"problems"` // why something is still there
}

// LostJob is what a job has left on a host where none of its agents lives.
type LostJob struct {
	Job       string        `json:"job"`
	User      string        `json:"user"` // whose it is
	Processes []LostProcess `json:"processes"`
	Folders   []string      `json:"folders"`
	Groups    []string      `json:"groups"` // control groups
	Problems  []string      `json:"problems"`
}

// LostProcess is a process of a lost job.
type LostProcess struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // at most 100 characters
}

// Clean looks on the hosts of job for what lost jobs have left of the user who logs
// in there, or, if that is root, of all users. It ends that: processes are killed
// without grace; folders, sockets and control groups are removed. A job that has an
// agent on the host is not touched, unless the agent's launcher is gone or, where
// the job is named, the agent was stopped.
//
// Of job, Clean takes the hosts and how to reach them; it runs no program. It
// blocks until every host has answered or failed, and returns what was found in
// the order of the hosts. Its error is a *PlanError, or about this process's
// own program.
func Clean(ctx context.Context, job *Job, c Cleaning) ([]Cleaned, error) {
	m, err := newMeans(job)
	if err != nil {
		return nil, &PlanError{[]error{err}}
	}
	entries := m.entries
	if problems := m.check(entries); len(problems) > 0 {
		return nil, &PlanError{problems}
	}
	if job.Local != "never" {
		entries = mergeLocal(entries)
	}
	r, err := newReacher(m, "", entries)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.verb = []string{"agent", "--clean"}
	roster := newRoster(entries, 0, m.isLocal)
	cleaned := make([]Cleaned, len(roster.all))
	var wg sync.WaitGroup
	for i := range roster.all {
		wg.Go(func() {
			h := roster.host(i)
			answer, err := r.clean(ctx, h, c)
			if cleaned[i] = describeCleaned(answer); err != nil {
				cleaned[i].Err = hostError(h, err)
			}
			cleaned[i].Host = h.name
		})
	}
	wg.Wait()
	return cleaned, nil
}

// clean has one host cleaned.
func (r *reacher) clean(ctx context.Context, h *host, c Cleaning) (*wire.Cleaned, error) {
	defer h.close()
	if err := r.reach(ctx, h, func(Event) {}); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { h.stream.Close() })()
	if err := h.conn.Send(&wire.Clean{Jobs: c.Jobs, Dry: c.Dry, Cache: c.Cache}); err != nil {
		return nil, err
	}
	m, err := h.conn.Receive()
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, streamError(h, err)
	}
	answer, ok := m.(*wire.Cleaned)
	if !ok {
		return nil, fmt.Errorf("its agent sent an unexpected %T", m)
	}
	return answer, nil
}

// describeCleaned turns an agent's answer, nil if there is none, into ours, in
// which lists are empty rather than nil, for JSON's sake.
func describeCleaned(m *wire.Cleaned) Cleaned {
	if m == nil {
		m = &wire.Cleaned{}
	}
	c := Cleaned{
		Lost: []LostJob{}, Running: append([]string{}, m.Running...),
		Disused: m.Disused, DisusedBytes: m.DisusedBytes, Problems: append([]string{}, m.Problems...),
	}
	for _, j := range m.Lost {
		lost := LostJob{
			Job: j.Job, User: j.User, Processes: []LostProcess{}, Folders: append([]string{}, j.Folders...),
			Groups: append([]string{}, j.Groups...), Problems: append([]string{}, j.Problems...),
		}
		for _, p := range j.Processes {
			lost.Processes = append(lost.Processes, LostProcess(p))
		}
		c.Lost = append(c.Lost, lost)
	}
	return c
}
