package host

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/gorun/gorun/nccl/internal/core"
	"github.com/gorun/gorun/nccl/internal/host/bootstrap"
	"github.com/gorun/gorun/nccl/internal/host/control"
	"github.com/gorun/gorun/nccl/internal/host/fabric"
	"github.com/gorun/gorun/nccl/internal/host/sched"
)

// Seat is a rank's place among ranks that are to form a communicator.
type Seat struct {
	ID         bootstrap.ID
	Rank, Size int
	Addr       netip.Addr // of this host, where the other ranks reach this one
	Host       string     // this host's name
}

// Join forms a communicator of ranks in several processes. It blocks until all
// have come, or ctx ends.
//
// Control runs on the ring of ranks that the bootstrap leaves behind. Data has
// a ring of its own, on which ranks of one host are neighbours, so that no host
// is entered more than once; with Config.RankRing it is the ring of ranks too.
func Join(ctx context.Context, seat Seat, conf Config) (*Comm, error) {
	if seat.Size == 1 {
		return Local(1, conf)[0], nil
	}
	mine := record{host: seat.Host, conf: conf, cpus: allowedCPUs()}
	meet, err := bootstrap.Join(ctx, bootstrap.Config{ID: seat.ID, Rank: seat.Rank, Size: seat.Size, Addr: seat.Addr, Record: mine.encode()})
	if err != nil {
		return nil, err
	}
	defer meet.StopListening()
	comm, err := assemble(ctx, seat, conf, meet)
	if err != nil {
		meet.Prev.Close()
		meet.Next.Close()
		return nil, err
	}
	return comm, nil
}

// assemble makes the Comm of ranks that have met.
func assemble(ctx context.Context, seat Seat, conf Config, meet *bootstrap.Ring) (*Comm, error) {
	records, err := readRecords(meet.Records, seat.Rank, conf)
	if err != nil {
		return nil, err
	}
	hosts := make([]string, seat.Size)
	for rank, r := range records {
		hosts[rank] = r.host
	}
	conf.hosts = hosts
	order := ranksInOrder(seat.Size)
	if !conf.RankRing {
		order = byHost(hosts)
	}
	ring := sched.Ring{Order: order, Index: slices.Index(order, seat.Rank)}
	in, out, err := meet.Connect(ctx, ring.Prev(), ring.Next())
	if err != nil {
		return nil, err
	}
	crowded := crowded(records, hosts[seat.Rank])
	port, err := fabric.TCP(map[int]*net.TCPConn{ring.Prev(): in}, map[int]*net.TCPConn{ring.Next(): out}, crowded)
	if err != nil {
		return nil, err
	}
	c := newComm(ring, port, conf)
	talk := control.NewRing(seat.Rank, seat.Size, meet.Prev, meet.Next, c)
	c.control = talk
	talk.Start()
	return c, nil
}

// readRecords returns the record of every rank, or says which rank is not set
// up as this one.
func readRecords(all [][]byte, self int, conf Config) ([]record, error) {
	records := make([]record, len(all))
	for rank, b := range all {
		r, err := decodeRecord(b)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		if what := r.differs(conf); what != "" {
			return nil, fmt.Errorf("ranks %d and %d differ in %s: all ranks need the same Config", min(rank, self), max(rank, self), what)
		}
		records[rank] = r
	}
	return records, nil
}

// crowded reports whether a host has more ranks than CPUs that they may use.
func crowded(records []record, host string) bool {
	ranks := 0
	var cpus cpuSet
	for _, r := range records {
		if r.host == host {
			ranks++
			cpus.add(r.cpus)
		}
	}
	return ranks > cpus.count()
}

// byHost returns the ranks so that those of one host follow each other: hosts
// by their first rank, and ranks in order.
func byHost(hosts []string) []int {
	first := make(map[string]int)
	for rank, h := range hosts {
		if _, ok := first[h]; !ok {
			first[h] = rank
		}
	}
	order := ranksInOrder(len(hosts))
	slices.SortStableFunc(order, func(a, b int) int { return first[hosts[a]] - first[hosts[b]] })
	return order
}

func ranksInOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

var _ core.Comm = (*Comm)(nil)
