package launcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorun/gorun/launcher/address"
	"github.com/gorun/gorun/launcher/wire"
)

// What a host must be like to pass the pre-flight. Each of these lets a job
// start and fail, or crawl, an hour later.
const (
	// maxClockSkew is how far a host's clock may be from the others': beyond,
	// certificates, build tools and logs go wrong.
	maxClockSkew = 2 * time.Second
	// minSharedMemory must be free in /dev/shm, where NCCL and data loaders put
	// their buffers. Containers often have 64 MiB, which is not enough.
	minSharedMemory = 256 << 20
	// minLockedMemory is what a process may lock where there are RDMA adapters,
	// which want their buffers locked.
	minLockedMemory = 1 << 30
)

// preflight examines the hosts that were reached and marks those that are not
// fit for the job.
func (l *lineup) preflight(ctx context.Context) {
	reached := slices.DeleteFunc(slices.Clone(l.hosts), func(h *host) bool { return h.unfit != nil })
	forEach(reached, func(_ int, h *host) { h.unfit = examine(ctx, h) })
	judgeClocks(reached)
	judgeGPUs(reached)
	l.judgeReach(ctx, reached)
	for _, h := range reached {
		if h.unfit != nil {
			l.event(Event{Kind: HostFailed, Host: h.name, Rank: -1, Message: h.whyUnfit()})
		}
	}
}

// forEach calls f for every host at once and waits.
func forEach(hosts []*host, f func(int, *host)) {
	var wg sync.WaitGroup
	for i, h := range hosts {
		wg.Go(func() { f(i, h) })
	}
	wg.Wait()
}

// examine asks a host for its time of day and its condition.
func examine(ctx context.Context, h *host) error {
	sent := timeNow()
	found, err := ask[*wire.Examined](ctx, h, &wire.Examine{})
	if err != nil {
		return err
	}
	date := sent.UnixNano()
	h.dates.observe(date, found.Time, date+int64(time.Since(sent)))
	if err := judge(h, found); err != nil {
		return notFit(h, err)
	}
	return nil
}

// judge looks at what a host says of itself.
func judge(h *host, e *wire.Examined) error {
	var problems []error
	if e.SharedMemory < minSharedMemory {
		problems = append(problems, fmt.Errorf("expected %d MiB free in /dev/shm, found %d", minSharedMemory>>20, e.SharedMemory>>20))
	}
	rdma := false
	for _, a := range h.hello.Topo.Adapters {
		rdma = rdma || a.RDMA && a.Active
	}
	if rdma && e.LockedMemory >= 0 && e.LockedMemory < minLockedMemory {
		problems = append(problems, fmt.Errorf("expected that its RDMA adapters can be used, found a limit of %d KiB of locked memory (ulimit -l)", e.LockedMemory>>10))
	}
	return errors.Join(problems...)
}

// judgeClocks compares the clocks of hosts.
func judgeClocks(hosts []*host) {
	for i, skew := range skews(hosts) {
		if h := hosts[i]; h.unfit == nil && skew != 0 {
			h.unfit = notFit(h, fmt.Errorf("expected a clock within %v of the other hosts', found one that is %v off", maxClockSkew, skew.Round(time.Millisecond)))
		}
	}
}

// skews returns how far each host's time of day is from the median, to which
// ours counts too; 0 if it is near enough, or not known.
func skews(hosts []*host) []time.Duration {
	offsets := []time.Duration{0}
	for _, h := range hosts {
		if h.dates.known {
			offsets = append(offsets, h.dates.offset)
		}
	}
	slices.Sort(offsets)
	median := offsets[(len(offsets)-1)/2]
	list := make([]time.Duration, len(hosts))
	for i, h := range hosts {
		if skew := h.dates.offset - median; h.dates.known && skew.Abs() > maxClockSkew+h.dates.unsure {
			list[i] = skew
		}
	}
	return list
}

// judgeGPUs compares the numbers of GPUs: a host from whose bus one has fallen
// has fewer than its peers.
func judgeGPUs(hosts []*host) {
	usual := usualGPUs(hosts)
	for _, h := range hosts {
		if n := h.gpus(); h.unfit == nil && n != usual {
			h.unfit = notFit(h, fmt.Errorf("expected %d GPUs, as its peers have, found %d", usual, n))
		}
	}
}

// usualGPUs is how many GPUs most hosts have. If two numbers are as common, it
// is the larger one.
func usualGPUs(hosts []*host) (usual int) {
	times := map[int]int{}
	for _, h := range hosts {
		if h.unfit == nil {
			times[h.gpus()]++
		}
	}
	for n := range times {
		if times[n] > times[usual] || times[n] == times[usual] && n > usual {
			usual = n
		}
	}
	return usual
}

// gpus is how many GPUs of the host the job may use.
func (h *host) gpus() int { return len(allowedGPUs(h.entry, h.hello.Topo.Accelerators)) }

// preflightFan is how many other hosts look for a host in the pre-flight: all of
// them, in any but very large jobs, whose rings and trees are made of neighbours.
const preflightFan = 128

// judgeReach has the hosts look for each other. Ranks of two hosts that do not
// reach each other would fail as soon as they meet; so of each such pair one is
// not fit, and as few hosts as that takes.
func (l *lineup) judgeReach(ctx context.Context, reached []*host) {
	hosts := slices.DeleteFunc(slices.Clone(reached), func(h *host) bool { return h.unfit != nil })
	if len(hosts) < 2 {
		return
	}
	choices, err := address.Choose(candidates(l.job, hosts, outgoing(l.hosts)))
	if err != nil {
		return // which refuses the job as soon as its hosts are settled
	}
	sightings, err := probe(ctx, hosts, choices, l.job.ports(), preflightFan)
	for _, err := range unjoin(err) {
		if silent, ok := errors.AsType[*HostError](err); ok {
			i := slices.IndexFunc(hosts, func(h *host) bool { return h.name == silent.Host })
			hosts[i].unfit = silent
		}
	}
	var gaps []gap
	why := map[gap]sighting{}
	for to, seen := range sightings {
		for _, s := range seen {
			if len(s.Reached) > 0 {
				continue
			}
			g := gap{slices.IndexFunc(hosts, func(h *host) bool { return h.name == s.by }), to}
			gaps, why[g] = append(gaps, g), s
		}
	}
	for _, i := range cover(len(hosts), gaps) {
		var said []string
		for _, g := range gaps {
			switch i {
			case g.to:
				said = append(said, missing(why[g], "it", choices[g.to].Addrs, 0))
			case g.from:
				said = append(said, missing(sighting{"it", why[g].Sighting}, hosts[g.to].name, choices[g.to].Addrs, 0))
			}
		}
		if more := len(said) - maxGaps; more > 0 {
			said = append(said[:maxGaps], fmt.Sprintf("and %d more", more))
		}
		hosts[i].unfit = notFit(hosts[i], errors.New(strings.Join(said, "; ")))
	}
}

// maxGaps is how many hosts are named that one does not reach, or is not reached by.
const maxGaps = 4

// notFit makes an error of why a host did not pass.
func notFit(h *host, why error) error {
	return &HostError{Host: h.name, Step: "pre-flight", Err: why, Hint: "hold hosts back that can take its place: --spares 1"}
}
