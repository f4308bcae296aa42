//go:build linux

package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// Before ranks start, hosts find out at which of their addresses they reach one
// another. Each listens at all of its own for that time and tells whoever
// connects the token that the launcher gave it: it proves nothing but which
// host this is, since an address that leads to one host from here may lead to
// another from there.

const (
	// probeLimit bounds the search for one host.
	probeLimit = 5 * time.Second
	// probeHead is how long a better address is waited for when one has
	// answered (RFC 8305, section 8).
	probeHead = 250 * time.Millisecond
	// probeRetry is how soon to connect again to a host that may not listen yet;
	// it doubles up to probeSlow.
	probeRetry = 2 * time.Millisecond
	probeSlow  = 100 * time.Millisecond
	// probeGuests bounds the connections that are answered at once.
	probeGuests = 64
)

// beacon answers those who look for this host.
type beacon struct {
	ctx    context.Context // ends with the beacon
	cancel context.CancelFunc
	guests chan struct{} // one for each connection
	wg     sync.WaitGroup
}

// light opens a beacon. An address at which it cannot listen is left dark: no
// one will find it there, which is what is to be found out.
func light(m *wire.Probe) *beacon {
	b := &beacon{guests: make(chan struct{}, probeGuests)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	for _, addr := range m.Listen {
		l, err := net.Listen("tcp", net.JoinHostPort(addr, strconv.Itoa(m.Port)))
		if err != nil {
			continue
		}
		b.wg.Go(func() { b.serve(l, m.Token) })
	}
	return b
}

// serve answers at one address until the beacon is closed.
func (b *beacon) serve(l net.Listener, token []byte) {
	defer context.AfterFunc(b.ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			select { // out of descriptors: not at full speed
			case <-time.After(probeSlow):
				continue
			case <-b.ctx.Done():
				return
			}
		}
		select {
		case b.guests <- struct{}{}:
			b.wg.Go(func() {
				b.answer(conn, token)
				<-b.guests
			})
		default:
			conn.Close() // it will come again
		}
	}
}

// answer tells one guest the token. The guest closes first: so the port stays
// free of connections that linger (RFC 9293, TIME-WAIT).
func (b *beacon) answer(conn net.Conn, token []byte) {
	defer conn.Close()
	defer context.AfterFunc(b.ctx, func() { conn.Close() })()
	conn.SetDeadline(timeNow().Add(probeLimit))
	if _, err := conn.Write(token); err == nil {
		conn.Read(make([]byte, 1))
	}
}

// close ends the beacon. It may be nil.
func (b *beacon) close() {
	if b != nil {
		b.cancel()
		b.wg.Wait()
	}
}

// probe looks for all targets at once.
func probe(ctx context.Context, targets []wire.Target) *wire.Probed {
	answer := &wire.Probed{Seen: make([]wire.Sighting, len(targets))}
	var wg sync.WaitGroup
	for i, t := range targets {
		wg.Go(func() { answer.Seen[i] = lookFor(ctx, t) })
	}
	wg.Wait()
	return answer
}

// lookFor tries all addresses of a target at once. It is content with the first
// that answers, unless a better one does soon after.
func lookFor(ctx context.Context, t wire.Target) wire.Sighting {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	type result struct {
		index int
		err   error
	}
	results := make(chan result, len(t.Addrs))
	for i, addr := range t.Addrs {
		go func() { results <- result{i, reaches(ctx, net.JoinHostPort(addr, strconv.Itoa(t.Port)), t.Token)} }()
	}
	var seen wire.Sighting
	var head <-chan time.Time
	for pending := len(t.Addrs); pending > 0; {
		select {
		case r := <-results:
			pending--
			switch {
			case r.err == nil:
				seen.Reached = append(seen.Reached, r.index)
				if head == nil {
					timer := time.NewTimer(probeHead)
					defer timer.Stop()
					head = timer.C
				}
				if r.index == 0 {
					cancel()
				}
			case r.index == 0:
				seen.Error = r.err.Error()
			}
		case <-head:
			cancel() // those that have not answered now end with an error
		}
	}
	return seen
}

// reaches says why the host that knows token is not found at addr. It tries
// again until ctx ends: the host may hear later that it is looked for.
func reaches(ctx context.Context, addr string, token []byte) error {
	for pause := probeRetry; ; pause = min(2*pause, probeSlow) {
		err := meets(ctx, addr, token)
		if err == nil || err == errOtherHost || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

var errOtherHost = errors.New("another host answered there")

// meets connects to addr once.
func meets(ctx context.Context, addr string, token []byte) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	got := make([]byte, len(token))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if !bytes.Equal(got, token) {
		return errOtherHost
	}
	return nil
}
