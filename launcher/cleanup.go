package launcher

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/gorun/gorun/launcher/remote"
)

// finish lets the agents go and lists how the ranks ended.
func (l *launch) finish(result *Result) {
	closeAll(l.hosts)
	l.sweepLost()
	for _, e := range l.ranks.exits {
		if e != nil {
			result.Ranks = append(result.Ranks, *e)
		}
	}
}

// closeAll lets go of hosts at once: each may take until it is given up.
func closeAll(hosts []*host) { forEach(hosts, func(_ int, h *host) { h.close() }) }

// sweepPatience bounds how long a lost host is asked to end what is left
// there. One that is cut off does so by itself.
const sweepPatience = 3 * time.Second

// sweepLost ends what agents that died may have left.
func (l *launch) sweepLost() {
	var wg sync.WaitGroup
	problems := make([]error, len(l.hosts))
	for i, h := range l.hosts {
		if h.lost != nil {
			wg.Go(func() { problems[i] = l.sweep(h) })
		}
	}
	wg.Wait()
	for i, err := range problems {
		// Where Slurm starts no step, the job is over or the node is down, and
		// what is left is Slurm's to end.
		if err != nil && !errors.As(err, new(*remote.StepError)) {
			l.event(Event{Kind: Warning, Host: l.hosts[i].name, Rank: -1,
				Message: fmt.Sprintf("could not look for what is left of the job there: %v", err)})
		}
	}
}

func (l *launch) sweep(h *host) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepPatience)
	defer cancel()
	if h.local {
		return exec.CommandContext(ctx, l.reacher.path, "agent", "--sweep", l.id).Run()
	}
	stream, err := l.reacher.start(ctx, h, remote.Start{
		Args: []string{"agent", "--sweep", l.id}, Stderr: h.stderr, Log: l.reacher.log,
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	defer context.AfterFunc(ctx, func() { stream.Close() })()
	return stream.Wait()
}
