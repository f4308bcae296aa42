package pmi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gorun/gorun/rendezvous"
)

// Exchange is what a Server asks of the job's meeting place. A *gossip.Node has
// it, and a *rendezvous.Memory.
type Exchange interface {
	// ExchangeTogether brings a value of each of these ranks, of one host, and
	// blocks for those of all ranks of the job, which it returns by rank. The
	// values belong to the caller. A name serves once.
	ExchangeTogether(ctx context.Context, epoch int, ranks []int, name string, values [][]byte) ([][]byte, error)
}

// Config is what a Server has to know of the job.
type Config struct {
	Job      string            // names the key space; without spaces and ";"
	Hosts    []rendezvous.Host // of the plan, with the ranks from 0, each once
	Node     int               // the host that is served, of those
	Apps     []int             // by rank, which of the job's programs it runs; nil: there is one
	Exchange Exchange

	// Joined is called when a rank begins to use PMI, Aborted when it asks for
	// the end of the job, the first time, with the exit status that it wants, or
	// 1, Vanished when its connection ends between init and finalize, not by the
	// server. They must not block. nil: nobody wants to know.
	Joined   func(rank int)
	Aborted  func(rank, status int)
	Vanished func(rank int)
}

// Server answers the ranks of one host. It owns no goroutine once the calls of
// its methods have returned and the context of New has ended.
type Server struct {
	conf  Config
	ctx   context.Context // of exchanges
	size  int
	space string // name of the key space
	where string // PMI_process_mapping; "": it would be too long
	ranks map[int]*seat

	exchanging sync.WaitGroup

	mu        sync.Mutex
	values    map[string]string // what fences have brought
	fence     *fence            // that ranks come to now
	fences    int               // before it
	node      map[string]string // attributes of the host, PMI-2 only
	nodeGrown chan struct{}     // closed at the next attribute
}

// seat is what the Server knows of one rank.
type seat struct {
	local int // its place among the host's ranks

	// Under Server.mu.
	end     Ending
	aborted bool
	session *session // that speaks for it; nil: none
}

// Ending is how far a rank has come in its use of PMI.
type Ending struct {
	Joined    bool // it has begun to use PMI
	Finalized bool // and said that it has finished
}

// NewServer returns a Server for the ranks of a host. Exchanges end with ctx.
func NewServer(ctx context.Context, conf Config) (*Server, error) {
	s := &Server{
		conf: conf, ctx: ctx, space: "kvs_" + conf.Job,
		ranks: map[int]*seat{}, values: map[string]string{}, node: map[string]string{}, nodeGrown: make(chan struct{}),
	}
	if len(s.space) > maxName || strings.ContainsAny(s.space, " ;\n") {
		return nil, fmt.Errorf("pmi: job %.64q cannot name a key space", conf.Job)
	}
	if conf.Node < 0 || conf.Node >= len(conf.Hosts) {
		return nil, fmt.Errorf("pmi: node is %d of %d", conf.Node, len(conf.Hosts))
	}
	for _, h := range conf.Hosts {
		s.size += len(h.Ranks)
	}
	nodes := make([]int, s.size)
	seen := make([]bool, s.size)
	for node, h := range conf.Hosts {
		for _, rank := range h.Ranks {
			if rank < 0 || rank >= s.size || seen[rank] {
				return nil, fmt.Errorf("pmi: the plan has rank %d on %s, want each of 0 to %d once", rank, h.Name, s.size-1)
			}
			seen[rank], nodes[rank] = true, node
		}
	}
	if conf.Apps != nil && len(conf.Apps) != s.size {
		return nil, fmt.Errorf("pmi: %d programs for %d ranks", len(conf.Apps), s.size)
	}
	s.where = mapping(nodes)
	for local, rank := range conf.Hosts[conf.Node].Ranks {
		s.ranks[rank] = &seat{local: local}
	}
	s.fence = newFence(len(s.ranks))
	return s, nil
}

// Close waits for exchanges under way, whose context must have ended.
func (s *Server) Close() { s.exchanging.Wait() }

// Speaks tells whether a rank has a connection, or had one.
func (s *Server) Speaks(rank int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.ranks[rank]
	return at != nil && (at.session != nil || at.end.Joined)
}

// End returns how a rank whose process has ended stood. It blocks until what
// the process sent last was acted on, but takes no more of what its children
// may still have to say.
func (s *Server) End(rank int) Ending {
	s.mu.Lock()
	at := s.ranks[rank]
	if at == nil {
		s.mu.Unlock()
		return Ending{}
	}
	speaking := at.session
	s.mu.Unlock()
	if speaking != nil {
		speaking.end()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return at.end
}

// errTaken refuses a second program that would speak for a rank.
var errTaken = errors.New("another process speaks for the rank")

// enter makes a session the one that speaks for its rank. One that has finalized
// gives way: a script's next program may come before the last one's end is read,
// and a child of that may keep its connection open for ever.
func (s *Server) enter(c *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.ranks[c.rank]
	switch {
	case at == nil:
		return fmt.Errorf("rank %d is not on %s", c.rank, s.conf.Hosts[s.conf.Node].Name)
	case at.session != nil && !at.end.Finalized:
		return fmt.Errorf("rank %d: %w", c.rank, errTaken)
	}
	at.session, c.local = c, at.local
	return nil
}

// leave is the end of a session that had entered, by the server if ctx has ended.
func (s *Server) leave(ctx context.Context, c *session) {
	if c.next != 0 && ctx.Err() == nil && s.conf.Vanished != nil {
		s.conf.Vanished(c.rank)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.ranks[c.rank]; at.session == c {
		at.session = nil
	}
}

// joined notes that a rank's program begins to use PMI, or another does after
// one that has finished. It refuses a session that has given way.
func (s *Server) joined(c *session) error {
	s.mu.Lock()
	at := s.ranks[c.rank]
	if at.session != c {
		s.mu.Unlock()
		return fmt.Errorf("rank %d: %w", c.rank, errTaken)
	}
	at.end.Joined, at.end.Finalized = true, false
	s.mu.Unlock()
	if s.conf.Joined != nil {
		s.conf.Joined(c.rank)
	}
	return nil
}

func (s *Server) finalized(rank int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranks[rank].end.Finalized = true
}

// aborted notes that a rank asks for the end of the job.
func (s *Server) aborted(rank, status int) {
	s.mu.Lock()
	at := s.ranks[rank]
	again := at.aborted
	at.aborted = true
	s.mu.Unlock()
	if !again && s.conf.Aborted != nil {
		s.conf.Aborted(rank, status)
	}
}

// app returns which of the job's programs a rank runs.
func (s *Server) app(rank int) int {
	if s.conf.Apps == nil {
		return 0
	}
	return s.conf.Apps[rank]
}

// value returns what is visible under a key to a rank that has put the values of
// pending since its last fence.
func (s *Server) value(pending map[string]string, key string) (value string, ok bool) {
	if key == mappingKey {
		return s.where, s.where != ""
	}
	if value, ok = pending[key]; ok {
		return value, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.values[key]
	return value, ok
}

// mappingKey is the key that is the launcher's own, see mapping.
const mappingKey = "PMI_process_mapping"

// checkPut says why a rank cannot put a value.
func checkPut(key, value string) error {
	switch {
	case key == "" || len(key) > maxKey:
		return fmt.Errorf("key has %d bytes, want 1 to %d", len(key), maxKey)
	case len(value) > maxValue:
		return fmt.Errorf("value has %d bytes, at most %d are allowed", len(value), maxValue)
	case strings.HasPrefix(key, "PMI_"):
		return errors.New("keys that begin with PMI_ are the launcher's")
	}
	return nil
}
