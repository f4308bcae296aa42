package gossip

import (
	"fmt"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/internal/codec"
)

// What members send each other, directly and through the Relay, is a message:
//
//	field     bytes   meaning
//	magic     4       "gorg"
//	version   1       1
//	epoch     4       of the records
//	from      4       node of the sender
//	heard     1       1 if the sender has had a message from the receiver directly
//	records   …       list of record, each a byte slice
//
// and a record is one of
//
//	value      1   key, value
//	arrivals   2   name, list of (rank 4, value)
//	event      3   the form of a rendezvous.Event
//	unheard    4   from 4, to 4, why: gossip of node from does not reach node to
//	leaving    5   node 4, whose agent ends
//
// Integers, strings and lists are as package codec writes them.
const (
	messageMagic   = 0x676f7267 // "gorg"
	messageVersion = 1

	// maxRecord holds the longest value under the longest key.
	maxRecord = rendezvous.MaxValue + 1<<10
	// maxBatch is the size at which records are sent in several messages.
	maxBatch = 1 << 20
	// MaxMessage bounds a message: a batch, or one record longer than that.
	MaxMessage = maxRecord + 1<<10

	maxRecords = maxBatch / 4
	maxWhy     = 1 << 10
)

// message is the envelope.
type message struct {
	epoch, from int
	heard       bool
	records     [][]byte
}

func (m *message) fields(c *codec.Codec) {
	magic, version := uint32(messageMagic), uint8(messageVersion)
	c.Uint32(&magic)
	c.Uint8(&version)
	if magic != messageMagic || version != messageVersion {
		c.Fail(fmt.Errorf("magic is %#x, version %d, want %#x, %d", magic, version, messageMagic, messageVersion))
	}
	c.Int(&m.epoch, 1<<31-1)
	c.Int(&m.from, maxNodes-1)
	c.Bool(&m.heard)
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
)

func (*value) kind() uint8    { return 1 }
func (*arrivals) kind() uint8 { return 2 }
func (*event) kind() uint8    { return 3 }
func (*unheard) kind() uint8  { return 4 }
func (*leaving) kind() uint8  { return 5 }

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

// write returns the bytes of a record.
func write(r record) ([]byte, error) {
	c := codec.Writer([]byte{r.kind()})
	r.fields(c)
	b, err := c.Written()
	if err == nil && len(b) > maxRecord {
		err = fmt.Errorf("record has %d bytes, at most %d are allowed", len(b), maxRecord)
	}
	return b, err
}

// read is the inverse of write. Byte slices in the record are parts of b.
func read(b []byte) (record, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("record is empty")
	}
	var r record
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
	default:
		return nil, fmt.Errorf("unknown kind of record %d", b[0])
	}
	c := codec.Reader(b[1:])
	r.fields(c)
	return r, c.End()
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
