package pmi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/internal/codec"
)

// What ranks put is visible to all after the next fence, which PMI-1 calls a
// barrier. So a host keeps its ranks' puts until all of them are at the fence,
// and then brings them to the others in one exchange. Who puts a key that is
// there replaces its value; where several do at once, the highest rank does.

// fence is one meeting of all ranks, as one host sees it.
type fence struct {
	puts [][]byte      // by local rank; nil: none
	came []bool        // by local rank
	left int           // who have not come
	over chan struct{} // closed when err is set
	err  error
}

func newFence(ranks int) *fence {
	return &fence{puts: make([][]byte, ranks), came: make([]bool, ranks), left: ranks, over: make(chan struct{})}
}

// meet brings a rank and its puts to the fence and blocks until every rank of
// the job is there. The exchange is a goroutine's of the Server: a rank that
// dies at the fence does not take the others' news with it.
func (s *Server) meet(ctx context.Context, local int, puts map[string]string) error {
	b, err := encodePuts(puts)
	if err != nil {
		return err
	}
	s.mu.Lock()
	f, number := s.fence, s.fences
	if f.came[local] {
		s.mu.Unlock()
		return errors.New("the rank is at the fence already")
	}
	f.puts[local], f.came[local] = b, true
	if f.left--; f.left == 0 {
		s.fence = newFence(len(f.puts))
		s.fences++
		s.exchanging.Go(func() {
			f.err = s.exchange(number, f.puts)
			close(f.over)
		})
	}
	s.mu.Unlock()
	select {
	case <-f.over:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exchange brings the puts of this host's ranks to the others, and theirs here.
func (s *Server) exchange(number int, puts [][]byte) error {
	ranks := s.conf.Hosts[s.conf.Node].Ranks
	// The zero byte keeps it apart from the names of programs.
	all, err := s.conf.Exchange.ExchangeTogether(s.ctx, 0, ranks, fmt.Sprintf("\x00pmi/%d", number), puts)
	if err != nil {
		return err
	}
	brought := make([]map[string]string, len(all))
	for rank, b := range all {
		if brought[rank], err = decodePuts(b); err != nil {
			return fmt.Errorf("puts of rank %d: %w", rank, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, puts := range brought {
		maps.Copy(s.values, puts)
	}
	return nil
}

// maxPuts bounds what a rank may put before a fence, in bytes as encoded.
const maxPuts = rendezvous.MaxValue

// putSize is how much a put takes of that.
func putSize(key, value string) int { return len(key) + len(value) + 8 }

type put struct{ key, value string }

// encodePuts returns the form in which puts travel: a list of keys and values.
// Of no puts it is nil, so that a mere barrier travels as one.
func encodePuts(puts map[string]string) ([]byte, error) {
	if len(puts) == 0 {
		return nil, nil
	}
	list := make([]put, 0, len(puts))
	for _, key := range slices.Sorted(maps.Keys(puts)) {
		list = append(list, put{key, puts[key]})
	}
	c := codec.Writer(nil)
	putFields(c, &list)
	return c.Written()
}

func decodePuts(b []byte) (map[string]string, error) {
	if len(b) == 0 {
		return map[string]string{}, nil
	}
	var list []put
	c := codec.Reader(b)
	putFields(c, &list)
	if err := c.End(); err != nil {
		return nil, err
	}
	puts := make(map[string]string, len(list))
	for _, p := range list {
		puts[p.key] = p.value
	}
	return puts, nil
}

func putFields(c *codec.Codec, list *[]put) {
	codec.List(c, list, maxPuts/8, 8, func(p *put) {
		c.String(&p.key, maxKey)
		c.String(&p.value, maxValue)
	})
}
