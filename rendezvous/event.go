package rendezvous

import (
	"fmt"
	"strings"
	"time"

	"github.com/gorun/gorun/rendezvous/internal/codec"
)

// Event is one thing that happened to the job.
type Event struct {
	Time  time.Time // of the clock of the host that saw it
	Kind  Kind
	Epoch int    // in which Ranks are counted
	Host  string // name in the plan; "": no single host
	Cause string // for people
	Ranks []int  // whom it concerns
}

// Kind says what happened.
type Kind string

// The kinds of events. Suspected is a hint that a host does not answer the
// others; only Lost, the launcher's verdict, says that ranks are gone. NewEpoch
// ends its Epoch, and its Ranks go on.
const (
	Joined    Kind = "joined"
	Left      Kind = "left"
	Suspected Kind = "suspected"
	Lost      Kind = "lost"
	Restarted Kind = "restarted"
	NewEpoch  Kind = "epoch"
)

// String returns the event in one line, such as
// "lost: ranks 8-15 on node2: stream closed".
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	sep := ": "
	if len(e.Ranks) == 1 {
		fmt.Fprintf(&b, "%srank %d", sep, e.Ranks[0])
		sep = " on "
	} else if len(e.Ranks) > 1 {
		fmt.Fprintf(&b, "%sranks %s", sep, ranges(e.Ranks))
		sep = " on "
	}
	if e.Host != "" {
		b.WriteString(sep + e.Host)
	}
	if e.Cause != "" {
		b.WriteString(": " + e.Cause)
	}
	return b.String()
}

// Limits of the fields of an event on the wire.
const (
	maxKind  = 64
	maxHost  = 1 << 10
	maxCause = 16 << 10
)

// AppendBinary appends the form in which members and ranks pass an event on.
// Equal events, times compared by the nanosecond, have equal forms.
func (e Event) AppendBinary(b []byte) ([]byte, error) {
	c := codec.Writer(b)
	e.fields(c)
	return c.Written()
}

// UnmarshalBinary sets e to the event of which data is the form.
func (e *Event) UnmarshalBinary(data []byte) error {
	c := codec.Reader(data)
	var read Event
	read.fields(c)
	if err := c.End(); err != nil {
		return fmt.Errorf("rendezvous: malformed event: %w", err)
	}
	*e = read
	return nil
}

func (e *Event) fields(c *codec.Codec) {
	kind, nano := string(e.Kind), e.Time.UnixNano()
	c.String(&kind, maxKind)
	c.Int64(&nano)
	c.Int(&e.Epoch, maxEpoch)
	c.String(&e.Host, maxHost)
	c.String(&e.Cause, maxCause)
	rankList(c, &e.Ranks)
	if c.Reading() {
		e.Kind, e.Time = Kind(kind), time.Unix(0, nano)
	}
}
