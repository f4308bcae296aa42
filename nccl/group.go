package nccl

import "github.com/gorun/gorun/nccl/internal/core"

// Group calls fn with a handle and submits what fn calls on it as one unit,
// when fn has returned nil. If fn fails or panics, or a call in it is refused,
// nothing is submitted. Meanwhile calls on other handles of the communicator
// are refused with [ErrGroupOpen]. A Group inside fn, on fn's handle, joins the
// outer one.
func (c *Comm) Group(fn func(c *Comm) error) error {
	if c != nil && c.group != nil {
		return c.group.join(fn(c))
	}
	return Comms{c}.Group(func(_ int, c *Comm) error { return fn(c) })
}

// Comms are communicators of one process that one goroutine drives together:
// those of [InitAll], or several of one rank, as Comms{tensor, data}.
type Comms []*Comm

// Group calls fn for each communicator, with its index and a handle, and
// submits what all of them call as one group.
func (cs Comms) Group(fn func(i int, c *Comm) error) (err error) {
	handles := make(Comms, 0, len(cs))
	complete := false
	defer func() {
		for _, h := range handles {
			h.group.end(h.s, complete)
		}
	}()
	for _, c := range cs {
		if _, err := c.admit("Group"); err != nil {
			return err
		}
		g, err := c.s.begin()
		if err != nil {
			return err
		}
		handles = append(handles, &Comm{s: c.s, stream: c.stream, group: g})
	}
	for i, h := range handles {
		if err := fn(i, h); err != nil {
			return err
		}
		if err := h.group.failed; err != nil {
			return err
		}
		if err := h.s.refusal(); err != nil {
			return err
		}
	}
	complete = true
	return nil
}

// group is what calls on the handle of an open Group are recorded in.
type group struct {
	work   []core.Work
	failed error // of a Group inside
}

// begin opens a group.
func (s *seat) begin() (*group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		s.refused = s.error("Group", ErrGroupOpen)
		return nil, s.refused
	}
	s.open = &group{}
	return s.open, nil
}

// record notes a call.
func (g *group) record(w core.Work) { g.work = append(g.work, w) }

// join takes on the failure of a Group inside.
func (g *group) join(err error) error {
	if err != nil && g.failed == nil {
		g.failed = err
	}
	return err
}

// end closes the group and submits what it has, or gives it up.
func (g *group) end(s *seat, submit bool) {
	s.mu.Lock()
	s.open = nil
	s.mu.Unlock()
	if submit {
		s.engine.SubmitAll(g.work)
		return
	}
	for i := range g.work {
		g.work[i].Call.Release()
	}
}
