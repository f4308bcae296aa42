package launcher

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/remote"
	"github.com/gorun/gorun/launcher/wire"
)

// host is one host of the job and the connection to its agent.
type host struct {
	// As the roster has it.
	index int // in the roster
	entry hostfiles.Host
	name  string // in the plan; of two entries with one name the second has its port in it
	local bool

	// Set by the goroutine that reaches it, and by those that examine it then.
	stream    remote.Stream
	conn      *wire.Conn
	hello     *wire.Hello
	stderr    *excerpt // the last that the agent or the remote shell said
	uploading bool     // it is sent programs or files
	unfit     error    // it could not be reached, or failed the pre-flight
	// reached and source are the ends of its SSH connection; zero: none.
	reached, source netip.Addr
	// token is how others know it from another host when they look for it; the
	// same each time, since its agent may be asked later than theirs. nil: nobody
	// has looked.
	token []byte
	dates clock // its time of day, once it was asked

	// Set while ranks are placed and agents told.
	node   int         // index in the plan
	window int64       // of output that its agent may send ahead of the printer
	pipes  *localPipes // nil: the agent reads its ranks' output
	begun  time.Time   // when its agent was told

	// Of the goroutine that reads from its agent, for others to look at.
	reading sync.WaitGroup
	heard   atomic.Int64 // when a message came last, in nanoseconds since launch.began
	mu      sync.Mutex
	clock   clock // of its agent; under mu; the supervisor has asked for it

	// Of the printer.
	owed atomic.Int64 // what of the window is to be given back

	// Of the goroutine that supervises.
	ready     bool
	gossip    string // where its member is, once it is ready; "": it has none
	suspected bool   // another host has said that it does not answer
	done      bool   // nothing is left there
	lost      error  // its agent is gone
}

// printed gives the agent its credit for o back. It does not for less than a
// quarter of the window: what is withheld leaves the agent the rest of it, and a
// message for each frame would cost as much as the frame.
func (h *host) printed(o *wire.Output) {
	owed := h.owed.Add(o.Cost())
	if owed >= h.window/4 {
		h.owed.Add(-owed)
		h.conn.Send(&wire.Credit{Bytes: owed}) // an error means that the host is lost, which its reader sees
	}
}

// ended says whether no more will come from the host.
func (h *host) ended() bool { return h.done || h.lost != nil }

// checkHello refuses an agent that speaks another protocol.
func checkHello(m wire.Message) (*wire.Hello, error) {
	hello, ok := m.(*wire.Hello)
	switch {
	case !ok:
		return nil, fmt.Errorf("expected the agent's hello, found %T", m)
	case hello.Magic != wire.Magic:
		return nil, fmt.Errorf("expected an agent of gorun, found something that begins with %q", hello.Magic)
	case hello.Table != wire.TableHash():
		return nil, fmt.Errorf("the agent there is of another version of gorun: its protocol is %s (%s), this one's %s",
			hello.Table, hello.Version, wire.TableHash())
	}
	return hello, nil
}

// close ends the connection after the agent has nothing more to do, and waits
// for the agent, but not for long: a host that is cut off must not hold up the
// others.
func (h *host) close() {
	if h.stream == nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if h.conn != nil {
			h.conn.Drain()
		}
		h.stream.CloseWrite()
		h.stream.Wait()
	}()
	timer := time.NewTimer(goodbye)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
		if l, ok := h.stream.(*remote.Local); ok {
			l.Kill() // no network between us, so it hangs
		}
	}
	if h.conn != nil {
		h.conn.Close()
	} else {
		h.stream.Close()
	}
	h.reading.Wait()
	<-gone
}

// goodbye bounds how long an agent may take to leave when its work is done.
const goodbye = 2 * time.Second

// excerpt keeps the first and the last bytes written to it, for error messages:
// a program that crashes says why before it says where.
type excerpt struct {
	mu          sync.Mutex
	first, last []byte
	cut         bool // there was something in between
}

// excerptSize bounds each of the two.
const excerptSize = 1 << 10

func (e *excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(excerptSize-len(e.first), len(p))
	e.first = append(e.first, p[:n]...)
	e.last = append(e.last, p[n:]...)
	if over := len(e.last) - excerptSize; over > 0 {
		e.last, e.cut = append(e.last[:0], e.last[over:]...), true
	}
	return len(p), nil
}

func (e *excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	between := ""
	if e.cut {
		between = "\n…\n"
	}
	return string(e.first) + between + string(e.last)
}

// streamError says why a stream ended that should not have.
func streamError(h *host, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the agent's stream was closed: the agent was killed, or the connection to its host broke")
	}
	if said := h.stderr.String(); said != "" {
		err = fmt.Errorf("%w; it said:\n%s", err, said)
	}
	return err
}

// whyUnfit returns what makes h unfit, for a message that names it.
func (h *host) whyUnfit() string { return strings.TrimPrefix(h.unfit.Error(), h.name+": ") }
