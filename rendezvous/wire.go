package rendezvous

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous/internal/codec"
)

// The protocol between a Job and the server of a Backend, over any reliable
// byte stream. Either side sends frames:
//
//	field    bytes   meaning
//	length   4       of what follows, 5 to maxFrame
//	kind     1       see the table of messages
//	id       4       of the request; 0 for hello and welcome
//	body     …       the fields of the message, as package codec writes them
//
// The rank sends hello and waits for welcome or failed. It may do so again, as a
// request: what it sends after that belongs to the epoch of this hello, and what
// it sent before to the one of the last. After the first welcome it sends
// requests, each with an id of its own, at most maxRequests at a time. The
// server answers each exactly once: with done, value, ranks, place or failed, or with
// any number of values or event frames before it. A cancel ends a request early
// and is not answered itself: the request is, with failed unless it was faster.
// Nor is goodbye, behind which nothing comes: a stream that ends without it is
// that of a process which has ended, or was ended, in the middle of the job.
//
//	kind           from     body
//	 1  hello      rank     magic 4, version 1, epoch 4, rank 4, size 4
//	 2  put        rank     key, value
//	 3  get        rank     key
//	 4  exchange   rank     name, value
//	 5  lost       rank     –
//	 6  events     rank     –
//	 7  cancel     rank     –
//	 8  barrier    rank     name
//	 9  offer      rank     key, value
//	10  fetch      rank     rank 4, key
//	11  next       rank     –
//	12  goodbye    rank     –
//	64  welcome    server   magic 4, version 1, ring: list of rank 4
//	65  done       server   –
//	66  value      server   value
//	67  values     server   list of value, of the ranks after those sent before
//	68  event      server   the form of an Event
//	69  ranks      server   list of rank 4
//	70  failed     server   code 1, text, what, ranks: list of rank 4, hosts: list of string
//	71  place      server   rank 4, size 4, local rank 4, local size 4, node 4, nodes 4, host, departed: list of rank 4
const (
	protocolMagic   = 0x676f7276 // "gorv"
	protocolVersion = 3

	frameHeader = 9 // length, kind and id

	// maxFrame holds the longest value under the longest key, and a list of
	// MaxRanks ranks.
	maxFrame = 4*MaxRanks + 64<<10
	// maxValues is the size at which a list of values is cut into frames.
	maxValues = 256 << 10
	// maxRequests bounds the goroutines that one rank occupies in its agent.
	// One that fetches a key from each of some thousand ranks at once is within.
	maxRequests = 8192
	maxEpoch    = 1<<31 - 1
	maxText     = 64 << 10
)

// The kinds of messages.
const (
	kindHello = 1 + iota
	kindPut
	kindGet
	kindExchange
	kindLost
	kindEvents
	kindCancel
	kindBarrier
	kindOffer
	kindFetch
	kindNext
	kindGoodbye
)

const (
	kindWelcome = 64 + iota
	kindDone
	kindValue
	kindValues
	kindEvent
	kindRanks
	kindFailed
	kindPlace
)

// message is a pointer to one of the structs below.
type message interface {
	kind() uint8
	fields(c *codec.Codec)
}

type (
	helloMsg struct {
		magic             uint32
		version           uint8
		epoch, rank, size int
	}
	putMsg      struct{ keyed }
	getMsg      struct{ key string }
	exchangeMsg struct{ keyed }
	lostMsg     struct{ empty }
	eventsMsg   struct{ empty }
	cancelMsg   struct{ empty }
	barrierMsg  struct{ name string }
	offerMsg    struct{ keyed }
	fetchMsg    struct {
		rank int
		key  string
	}

	nextMsg    struct{ empty }
	goodbyeMsg struct{ empty }

	welcomeMsg struct {
		magic   uint32
		version uint8
		ring    []int
	}
	doneMsg   struct{ empty }
	valueMsg  struct{ value []byte }
	valuesMsg struct{ values [][]byte }
	eventMsg  struct{ event Event }
	ranksMsg  struct{ ranks []int }
	failedMsg struct {
		code  uint8
		text  string
		what  string
		ranks []int
		hosts []string
	}

	placeMsg struct {
		world    rankenv.World
		departed []int
	}

	keyed struct {
		key   string
		value []byte
	}
	empty struct{}
)

func (*helloMsg) kind() uint8    { return kindHello }
func (*putMsg) kind() uint8      { return kindPut }
func (*getMsg) kind() uint8      { return kindGet }
func (*exchangeMsg) kind() uint8 { return kindExchange }
func (*lostMsg) kind() uint8     { return kindLost }
func (*eventsMsg) kind() uint8   { return kindEvents }
func (*cancelMsg) kind() uint8   { return kindCancel }
func (*barrierMsg) kind() uint8  { return kindBarrier }
func (*offerMsg) kind() uint8    { return kindOffer }
func (*fetchMsg) kind() uint8    { return kindFetch }
func (*nextMsg) kind() uint8     { return kindNext }
func (*goodbyeMsg) kind() uint8  { return kindGoodbye }
func (*placeMsg) kind() uint8    { return kindPlace }
func (*welcomeMsg) kind() uint8  { return kindWelcome }
func (*doneMsg) kind() uint8     { return kindDone }
func (*valueMsg) kind() uint8    { return kindValue }
func (*valuesMsg) kind() uint8   { return kindValues }
func (*eventMsg) kind() uint8    { return kindEvent }
func (*ranksMsg) kind() uint8    { return kindRanks }
func (*failedMsg) kind() uint8   { return kindFailed }

// newMessage returns an empty message of a kind, or nil.
func newMessage(kind uint8) message {
	switch kind {
	case kindHello:
		return &helloMsg{}
	case kindPut:
		return &putMsg{}
	case kindGet:
		return &getMsg{}
	case kindExchange:
		return &exchangeMsg{}
	case kindLost:
		return &lostMsg{}
	case kindEvents:
		return &eventsMsg{}
	case kindCancel:
		return &cancelMsg{}
	case kindBarrier:
		return &barrierMsg{}
	case kindOffer:
		return &offerMsg{}
	case kindFetch:
		return &fetchMsg{}
	case kindNext:
		return &nextMsg{}
	case kindGoodbye:
		return &goodbyeMsg{}
	case kindPlace:
		return &placeMsg{}
	case kindWelcome:
		return &welcomeMsg{}
	case kindDone:
		return &doneMsg{}
	case kindValue:
		return &valueMsg{}
	case kindValues:
		return &valuesMsg{}
	case kindEvent:
		return &eventMsg{}
	case kindRanks:
		return &ranksMsg{}
	case kindFailed:
		return &failedMsg{}
	}
	return nil
}

func (empty) fields(*codec.Codec) {}

func (m *keyed) fields(c *codec.Codec) {
	c.String(&m.key, MaxKey)
	c.Bytes(&m.value, MaxValue)
}

func (m *getMsg) fields(c *codec.Codec) { c.String(&m.key, MaxKey) }

func (m *barrierMsg) fields(c *codec.Codec) { c.String(&m.name, MaxKey) }

func (m *fetchMsg) fields(c *codec.Codec) {
	c.Int(&m.rank, MaxRanks-1)
	c.String(&m.key, MaxKey)
}

func (m *helloMsg) fields(c *codec.Codec) {
	c.Uint32(&m.magic)
	c.Uint8(&m.version)
	c.Int(&m.epoch, maxEpoch)
	c.Int(&m.rank, MaxRanks-1)
	c.Int(&m.size, MaxRanks)
}

func (m *welcomeMsg) fields(c *codec.Codec) {
	c.Uint32(&m.magic)
	c.Uint8(&m.version)
	rankList(c, &m.ring)
}

func (m *valueMsg) fields(c *codec.Codec) { c.Bytes(&m.value, MaxValue) }

func (m *valuesMsg) fields(c *codec.Codec) {
	codec.List(c, &m.values, MaxRanks, 4, func(v *[]byte) { c.Bytes(v, MaxValue) })
}

func (m *eventMsg) fields(c *codec.Codec) { m.event.fields(c) }

func (m *ranksMsg) fields(c *codec.Codec) { rankList(c, &m.ranks) }

func (m *placeMsg) fields(c *codec.Codec) {
	w := &m.world
	for _, n := range []*int{&w.Rank, &w.Size, &w.LocalRank, &w.LocalSize, &w.Node, &w.Nodes} {
		c.Int(n, MaxRanks)
	}
	c.String(&w.Host, maxHost)
	rankList(c, &m.departed)
}

func (m *failedMsg) fields(c *codec.Codec) {
	c.Uint8(&m.code)
	c.String(&m.text, maxText)
	c.String(&m.what, maxText)
	rankList(c, &m.ranks)
	codec.List(c, &m.hosts, MaxRanks, 4, func(h *string) { c.String(h, maxHost) })
}

func rankList(c *codec.Codec, ranks *[]int) {
	codec.List(c, ranks, MaxRanks, 4, func(r *int) { c.Int(r, MaxRanks-1) })
}

// frame returns m as a frame.
func frame(id uint32, m message) ([]byte, error) {
	b := append(make([]byte, 4, 64), m.kind())
	c := codec.Writer(binary.BigEndian.AppendUint32(b, id))
	m.fields(c)
	b, err := c.Written()
	if err == nil && len(b)-4 > maxFrame {
		err = fmt.Errorf("message has %d bytes, at most %d are allowed", len(b)-4, maxFrame)
	}
	if err != nil {
		return nil, fmt.Errorf("rendezvous: %w", err)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, nil
}

// readFrame reads the next message. At the end of the stream its error is
// io.EOF, within a frame io.ErrUnexpectedEOF.
func readFrame(r io.Reader) (id uint32, m message, err error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(header[:])
	kind := header[4]
	id = binary.BigEndian.Uint32(header[5:])
	if length < frameHeader-4 || length > maxFrame {
		return 0, nil, fmt.Errorf("rendezvous: frame of %d bytes, want %d to %d", length, frameHeader-4, maxFrame)
	}
	if m = newMessage(kind); m == nil {
		return 0, nil, fmt.Errorf("rendezvous: unknown message kind %d", kind)
	}
	body := make([]byte, length-(frameHeader-4))
	if _, err := io.ReadFull(r, body); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	c := codec.Reader(body)
	m.fields(c)
	if err := c.End(); err != nil {
		return 0, nil, fmt.Errorf("rendezvous: malformed %T: %w", m, err)
	}
	return id, m, nil
}

// The errors that callers branch on, by their code in failed.
const (
	codeOther = iota
	codeExists
	codeStale
	codeClosed
	codeMissing
)

var codes = map[uint8]error{codeExists: ErrExists, codeStale: ErrStale, codeClosed: ErrClosed}

// failure returns the message for err.
func failure(err error) *failedMsg {
	m := &failedMsg{text: err.Error()}
	m.text = m.text[:min(len(m.text), maxText)]
	if missing, ok := errors.AsType[*MissingError](err); ok {
		m.code, m.what, m.ranks, m.hosts = codeMissing, missing.What, missing.Ranks, missing.Hosts
		return m
	}
	for code, known := range codes {
		if errors.Is(err, known) {
			m.code = code
		}
	}
	return m
}

// err returns the error that the server had. ended is why the caller's wait
// ended, which a *MissingError wraps.
func (m *failedMsg) err(ended error) error {
	if m.code == codeMissing {
		if ended == nil {
			ended = context.Canceled // the server's own end
		}
		return &MissingError{What: m.what, Ranks: m.ranks, Hosts: m.hosts, Err: ended}
	}
	if known := codes[m.code]; known != nil {
		return &remoteError{m.text, known}
	}
	return &remoteError{m.text, nil}
}

// remoteError is an error that the server had, and what it wraps.
type remoteError struct {
	text string
	err  error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.err }
