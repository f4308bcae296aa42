package launcher

import (
	"github.com/gorun/gorun/launcher/remote"
	"github.com/gorun/gorun/launcher/verdict"
	"github.com/gorun/gorun/launcher/wire"
)

// launch is an attempt whose agents are told of the job, until nothing of it is
// left. What it has is grouped by who may use it.
type launch struct {
	*layout

	// Set while starting. Each guards what it has.
	mail       *mailbox // from the readers of agents
	printer    *printer
	input      *input     // nil: nobody reads
	screen     *screen    // nil: no rank is to have the user's terminal, or there is none
	writeError chan error // from the printer: a writer's first error

	// The rest belongs to the goroutine that supervises.
	verdict verdict.Verdict
	ranks   ranks
	joining joining
	epoch   epoch
	pausing pausing
	stacks  stacks
	audit   audit
	lease   lease
	limit   alarm // Limits.Run
	early   alarm // Limits.Early
	unread  unread

	lingering  alarm             // tells of ranks that use the grace
	forwarded  map[string]string // signals that were sent to all ranks, and why
	introduced bool              // the hosts' members were told of each other
	notices    notices
}

// newLaunch returns a launch that hears and prints nothing yet.
func newLaunch(where *layout) *launch {
	return &launch{
		layout: where, mail: newMailbox(), writeError: make(chan error, 2),
		verdict: verdict.Verdict{Continue: where.job.Continue},
		ranks:   newRanks(where.plan.Size), joining: joining{joined: map[int]bool{}}, epoch: firstEpoch(where.plan.Size),
		audit: audit{facts: map[*host][]wire.Fact{}}, lease: lease{limit: where.job.Limits.node()},
		forwarded: map[string]string{},
	}
}

// open begins to hear from the agents, and to print what ranks will. It lets go of
// no host.
func open(where *layout) (*launch, error) {
	s := &where.job.Streams
	files, err := createFiles(s, where.plan.Size, where.number > 0)
	if err != nil {
		return nil, err
	}
	l := newLaunch(where)
	l.enter(starting)
	if len(s.PTY) > 0 {
		l.screen = newScreen(s.Stdin)
	}
	l.printer = newPrinter(l.merging(), s, files, l.outputEnded, l.outputFailed)
	for _, h := range l.hosts {
		h.window = hostWindow(len(l.hosts))
		h.heard.Store(l.elapsed())
		if local, ok := h.stream.(*remote.Local); ok && local.Socket() != nil {
			h.pipes = newLocalPipes(local.Socket(), l.printer, l.time,
				func(rank int, s wire.Stream) error { return l.owns(h, rank, s) },
				func(err error) { l.mail.post(letter{from: h, err: err}, 0) })
		}
		h.reading.Go(func() { l.read(h) })
	}
	return l, nil
}

// tell tells every agent its share of the job.
func (l *launch) tell() error {
	l.event(Event{Kind: Placed, Rank: -1, Plan: l.plan, Message: plural(l.plan.Size, "rank") + " on " + plural(len(l.hosts), "host")})
	start, err := wire.Share(l.share(l.screen.size()))
	if err != nil {
		return &PlanError{[]error{err}}
	}
	l.lease.begin(timeNow())
	for _, h := range l.hosts {
		l.heartbeat(h)           // before its ranks can end: their ends are told by its clock
		h.conn.SendShared(start) // an error means that the host is lost, which its reader sees
		h.begun = timeNow()
		h.conn.Send(l.begins(h))
	}
	return l.connectInput()
}
