package gossip

import (
	"fmt"
	"slices"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/internal/codec"
)

// What members send each other, directly and through the Relay, is a message:
//
//	field     bytes   meaning
//	magic     4       "gorg"
//	version   1       2
//	from      4       node of the sender
//	heard     1       1 if the sender has had a message from the receiver directly
//	personal  1       1 if the records are for the receiver and nobody else
//	records   …       list of record, each a byte slice
//
// and a record begins with its kind, 1 byte, and its epoch, 4, and is one of
//
//	value      1   key, value
//	arrivals   2   name, list of (rank 4, value)
//	event      3   the form of a rendezvous.Event
//	unheard    4   from 4, to 4, why: gossip of node from does not reach node to
//	leaving    5   node 4, whose agent ends
//	hosts      6   name, list of (first 4, last 4), ascending and disjoint: nodes all of whose ranks have come with nothing
//	wanted     7   node 4, rank 4, key: the node asks for what the rank offers
//	offered    8   rank 4, key, value: what it offers
//
// Integers, strings and lists are as package codec writes them.
const (
	messageMagic   = 0x676f7267 // "gorg"
	messageVersion = 2

	// maxRecord holds the longest value under the longest key.
	maxRecord = rendezvous.MaxValue + 1<<10
	// maxBatch is the size at which records are sent in several messages.
	maxBatch = 1 << 20
	// MaxMessage bounds a message: a batch, or one record longer than that.
	MaxMessage = maxRecord + 1<<10

	maxRecords = maxBatch / 4
	maxWhy     = 1 << 10
	maxEpoch   = 1<<31 - 1
)

// message is the envelope.
type message struct {
	from            int
	heard, personal bool
	records         [][]byte
}

func (m *message) fields(c *codec.Codec) {
	magic, version := uint32(messageMagic), uint8(messageVersion)
	c.Uint32(&magic)
	c.Uint8(&version)
	if magic != messageMagic || version != messageVersion {
		c.Fail(fmt.Errorf("magic is %#x, version %d, want %#x, %d", magic, version, messageMagic, messageVersion))
	}
	c.Int(&m.from, maxNodes-1)
	c.Bool(&m.heard)
	c.Bool(&m.personal)
	codec.List(c, &m.records, maxRecords, 4, func(r *[]byte) { c.Bytes(r, maxRecord) })
}

// record is a pointer to one of the structs below.
type record interface {
	kind() uint8
	fields(*codec.Codec)
}

type (
	value struct {
		key   string
		value []byte
	}
	arrivals struct {
		name string
		came []arrival
	}
	arrival struct {
		rank  int
		value []byte
	}
	event   struct{ form []byte }
	unheard struct {
		from, to int
		why      string
	}
	leaving struct{ node int }
	hosts   struct {
		name  string
		nodes []span
	}
	span   struct{ first, last int }
	wanted struct {
		node, rank int
		key        string
	}
	offered struct {
		rank  int
		key   string
		value []byte
	}
)

func (*value) kind() uint8    { return 1 }
func (*arrivals) kind() uint8 { return 2 }
func (*event) kind() uint8    { return 3 }
func (*unheard) kind() uint8  { return 4 }
func (*leaving) kind() uint8  { return 5 }
func (*hosts) kind() uint8    { return 6 }
func (*wanted) kind() uint8   { return 7 }
func (*offered) kind() uint8  { return 8 }

func (v *value) fields(c *codec.Codec) {
	c.String(&v.key, rendezvous.MaxKey)
	c.Bytes(&v.value, rendezvous.MaxValue)
}

func (a *arrivals) fields(c *codec.Codec) {
	c.String(&a.name, rendezvous.MaxKey)
	codec.List(c, &a.came, rendezvous.MaxRanks, 8, func(came *arrival) {
		c.Int(&came.rank, rendezvous.MaxRanks-1)
		c.Bytes(&came.value, rendezvous.MaxValue)
	})
}

func (e *event) fields(c *codec.Codec) { c.Bytes(&e.form, maxRecord) }

func (u *unheard) fields(c *codec.Codec) {
	c.Int(&u.from, maxNodes-1)
	c.Int(&u.to, maxNodes-1)
	c.String(&u.why, maxWhy)
}

func (l *leaving) fields(c *codec.Codec) { c.Int(&l.node, maxNodes-1) }

func (h *hosts) fields(c *codec.Codec) {
	c.String(&h.name, rendezvous.MaxKey)
	next := 0
	codec.List(c, &h.nodes, maxNodes, 8, func(s *span) {
		c.Int(&s.first, maxNodes-1)
		c.Int(&s.last, maxNodes-1)
		if s.first < next || s.last < s.first {
			c.Fail(fmt.Errorf("span of nodes is %d to %d, want it ascending, from %d on", s.first, s.last, next))
		}
		next = s.last + 1
	})
}

func (w *wanted) fields(c *codec.Codec) {
	c.Int(&w.node, maxNodes-1)
	c.Int(&w.rank, rendezvous.MaxRanks-1)
	c.String(&w.key, rendezvous.MaxKey)
}

func (o *offered) fields(c *codec.Codec) {
	c.Int(&o.rank, rendezvous.MaxRanks-1)
	c.String(&o.key, rendezvous.MaxKey)
	c.Bytes(&o.value, rendezvous.MaxValue)
}

// write returns the bytes of a record of an epoch.
func write(epoch int, r record) ([]byte, error) {
	c := codec.Writer([]byte{r.kind()})
	c.Int(&epoch, maxEpoch)
	r.fields(c)
	b, err := c.Written()
	if err == nil && len(b) > maxRecord {
		err = fmt.Errorf("record has %d bytes, at most %d are allowed", len(b), maxRecord)
	}
	return b, err
}

// read is the inverse of write. Byte slices in the record are parts of b.
func read(b []byte) (epoch int, r record, err error) {
	if len(b) == 0 {
		return 0, nil, fmt.Errorf("record is empty")
	}
	switch b[0] {
	case 1:
		r = &value{}
	case 2:
		r = &arrivals{}
	case 3:
		r = &event{}
	case 4:
		r = &unheard{}
	case 5:
		r = &leaving{}
	case 6:
		r = &hosts{}
	case 7:
		r = &wanted{}
	case 8:
		r = &offered{}
	default:
		return 0, nil, fmt.Errorf("unknown kind of record %d", b[0])
	}
	c := codec.Reader(b[1:])
	c.Int(&epoch, maxEpoch)
	r.fields(c)
	return epoch, r, c.End()
}

// split returns arrivals as records that are not too long.
func split(name string, came []arrival) []*arrivals {
	var all []*arrivals
	size := 0
	for _, a := range came {
		size += 8 + len(a.value)
		if len(all) == 0 || size > maxRecord-1<<9 {
			all = append(all, &arrivals{name: name})
			size = 8 + len(a.value)
		}
		last := all[len(all)-1]
		last.came = append(last.came, a)
	}
	return all
}

// spans returns nodes, in any order, as ascending spans.
func spans(nodes []int) []span {
	slices.Sort(nodes)
	var all []span
	for _, node := range slices.Compact(nodes) {
		if n := len(all); n > 0 && all[n-1].last+1 == node {
			all[n-1].last = node
		} else {
			all = append(all, span{node, node})
		}
	}
	return all
}
