package launcher

import (
	"context"
	"errors"
	"fmt"
)

// lineup is the hosts of an attempt while they are being reached.
type lineup struct {
	*attempt
	hosts []*host
}

// reach reaches the hosts of the line-up, and examines them if the user
// wants that. Spares take the places of those that fail. On error none is kept.
func (l *lineup) reach(ctx context.Context) (err error) {
	defer func() {
		if err == nil {
			return
		}
		closeAll(l.hosts)
		for _, h := range l.hosts {
			if h.unfit != nil {
				l.replace(h)
			}
		}
	}()
	for wanted := l.hosts; len(wanted) > 0; {
		if err := l.reacher.reachAll(ctx, wanted, len(l.roster.spares), l.event); err != nil {
			return err
		}
		if l.job.Preflight {
			l.preflight(ctx)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if wanted, err = l.substitute(); err != nil {
			return err
		}
	}
	return nil
}

// substitute puts spares in the place of unfit hosts and returns them, not
// reached yet. Its error is that of the hosts for which there is none.
func (l *lineup) substitute() (spares []*host, err error) {
	for i, h := range l.hosts {
		if h.unfit == nil {
			continue
		}
		h.close()
		spare := l.roster.drop(h.index)
		if spare < 0 {
			err = errors.Join(err, h.unfit)
			continue
		}
		l.hosts[i] = l.roster.host(spare)
		spares = append(spares, l.hosts[i])
		l.event(Event{Kind: Warning, Host: h.name, Rank: -1,
			Message: fmt.Sprintf("%s takes its place: %s", l.hosts[i].name, h.whyUnfit())})
	}
	return spares, err
}
