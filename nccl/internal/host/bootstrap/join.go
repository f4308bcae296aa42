package bootstrap

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/nccl/internal/core"
)

// missingTimeout is how long the Root may take to say who is missing.
const missingTimeout = time.Second

// Config is a rank's part in a bootstrap.
type Config struct {
	ID         ID
	Rank, Size int
	Addr       netip.Addr // where this rank listens
	Record     []byte     // what it says about itself, at most 2 KiB
}

// maxRecord bounds Config.Record.
const maxRecord = 2 << 10

// Ring is a rank's place among ranks that have met.
type Ring struct {
	Prev, Next *net.TCPConn // to the neighbours on the ring of ranks; the caller's
	Records    [][]byte     // by rank

	conf     Config
	keys     keys
	listener *listener
	addrs    []netip.AddrPort // where each rank listens
	early    []arrival        // data connections that nobody has asked for yet
}

// Join brings this rank together with the others. It blocks until all have come
// this far, or ctx ends. The caller closes the two connections and calls
// StopListening.
func Join(ctx context.Context, conf Config) (*Ring, error) {
	if conf.Size < 2 || conf.Size > MaxSize || conf.Rank < 0 || conf.Rank >= conf.Size {
		return nil, fmt.Errorf("rank %d of %d, want 0 ≤ rank < size, 2 ≤ size ≤ %d", conf.Rank, conf.Size, MaxSize)
	}
	if len(conf.Record) > maxRecord {
		return nil, fmt.Errorf("a record of %d bytes, want at most %d", len(conf.Record), maxRecord)
	}
	root, err := conf.ID.Root()
	if err != nil {
		return nil, err
	}
	tcp, err := listen(conf.Addr)
	if err != nil {
		return nil, err
	}
	r := &Ring{conf: conf, keys: conf.ID.keys()}
	r.listener = serve(tcp, r.keys, uint32(conf.Rank), uint32(conf.Size))
	if err := r.join(ctx, root, tcp.Addr().String()); err != nil {
		r.abandon()
		return nil, err
	}
	return r, nil
}

func (r *Ring) join(ctx context.Context, root netip.AddrPort, self string) error {
	next, err := r.checkIn(ctx, root, self)
	if err != nil {
		return err
	}
	if err := r.connectNeighbours(ctx, next); err != nil {
		return err
	}
	return r.gather(ctx, self)
}

// checkIn tells the Root where this rank listens, and waits to hear where the
// next one does.
func (r *Ring) checkIn(ctx context.Context, root netip.AddrPort, self string) (next netip.AddrPort, err error) {
	conn, err := r.dial(ctx, root, checkIn, toRoot)
	if err != nil {
		return next, err
	}
	defer conn.Close()
	unlimit := limit(ctx, conn, 0)
	err = writeFrame(conn, []byte(self))
	var answer []byte
	if err == nil {
		answer, err = readFrame(conn)
	}
	if !unlimit() {
		return next, fmt.Errorf("%w: %w", context.Cause(ctx), askWhoIsMissing(conn))
	}
	if err != nil {
		return next, fmt.Errorf("hearing from the root of the unique ID at %v: %w", root, err)
	}
	if len(answer) == 0 || answer[0] != answerNext {
		return next, fmt.Errorf("refused by the root of the unique ID: %s", answer[min(1, len(answer)):])
	}
	return netip.ParseAddrPort(string(answer[1:]))
}

// askWhoIsMissing returns an error that says which ranks have not come.
func askWhoIsMissing(conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(missingTimeout))
	if _, err := conn.Write([]byte{askMissing}); err != nil {
		return err
	}
	answer, err := readFrame(conn)
	if err != nil {
		return err
	}
	if len(answer) == 0 || answer[0] != answerMissing {
		return errors.New("not all ranks have come")
	}
	var ranks []int
	for b := answer[1:]; len(b) >= 4; b = b[4:] {
		ranks = append(ranks, int(binary.BigEndian.Uint32(b)))
	}
	if len(ranks) == 0 {
		return errors.New("all ranks have checked in, but not met")
	}
	return fmt.Errorf("waiting for %s", core.NameRanks(ranks, nil))
}

// connectNeighbours dials the next rank and accepts the one before, at the same
// time: in whichever order they come.
func (r *Ring) connectNeighbours(ctx context.Context, next netip.AddrPort) error {
	rank, size := r.conf.Rank, r.conf.Size
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		r.Next, err = r.dial(ctx, next, control, (rank+1)%size)
		return err
	})
	both.Go(func() (err error) {
		r.Prev, err = r.await(ctx, control, (rank+size-1)%size)
		return err
	})
	return both.Wait()
}

// gather exchanges addresses and records.
func (r *Ring) gather(ctx context.Context, self string) error {
	defer limit(ctx, r.Prev, 0)()
	defer limit(ctx, r.Next, 0)()
	mine := append([]byte{byte(len(self))}, self...)
	all, err := AllGather(r.conf.Rank, r.conf.Size, r.Prev, r.Next, append(mine, r.conf.Record...))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("exchanging addresses: %w", err)
	}
	r.addrs = make([]netip.AddrPort, len(all))
	r.Records = make([][]byte, len(all))
	for rank, b := range all {
		if len(b) == 0 || len(b) < 1+int(b[0]) {
			return fmt.Errorf("rank %d sent a record of %d bytes that is cut off", rank, len(b))
		}
		end := 1 + int(b[0])
		if r.addrs[rank], err = netip.ParseAddrPort(string(b[1:end])); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		r.Records[rank] = b[end:]
	}
	return nil
}

// Connect connects this rank to rank to and accepts a connection from rank
// from. All ranks must call it so that each dialed rank accepts. The
// connections are the caller's.
func (r *Ring) Connect(ctx context.Context, from, to int) (in, out *net.TCPConn, err error) {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		out, err = r.dial(ctx, r.addrs[to], data, to)
		return err
	})
	both.Go(func() (err error) {
		in, err = r.await(ctx, data, from)
		return err
	})
	if err := both.Wait(); err != nil {
		for _, conn := range []*net.TCPConn{in, out} {
			if conn != nil {
				conn.Close()
			}
		}
		return nil, nil, err
	}
	return in, out, nil
}

// StopListening ends the listener and drops connections that nobody asked for.
func (r *Ring) StopListening() {
	r.listener.close()
	for _, a := range r.early {
		a.conn.Close()
	}
}

// abandon closes everything.
func (r *Ring) abandon() {
	r.StopListening()
	for _, conn := range []*net.TCPConn{r.Prev, r.Next} {
		if conn != nil {
			conn.Close()
		}
	}
}

// dial opens a connection to rank to, or the Root, and shakes hands.
func (r *Ring) dial(ctx context.Context, addr netip.AddrPort, p purpose, to int) (*net.TCPConn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	conn, err := d.DialContext(ctx, "tcp", addr.String())
	if err == nil {
		unlimit := limit(ctx, conn, handshakeTimeout)
		err = r.keys.dialed(conn, hello{purpose: p, from: uint32(r.conf.Rank), to: uint32(to), size: uint32(r.conf.Size)})
		unlimit()
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil && conn != nil {
		conn.Close()
	}
	switch {
	case err == nil:
		return conn.(*net.TCPConn), nil
	case to == toRoot:
		return nil, fmt.Errorf("reaching the root of the unique ID at %v: %w", addr, err)
	default:
		return nil, fmt.Errorf("reaching rank %d at %v: %w", to, addr, err)
	}
}

// keepAlive finds out within 20 s that a host is gone without a word.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}

// await returns the connection that rank from opens for a purpose.
func (r *Ring) await(ctx context.Context, p purpose, from int) (*net.TCPConn, error) {
	for i, a := range r.early {
		if a.hello.purpose == p && int(a.hello.from) == from {
			r.early = append(r.early[:i], r.early[i+1:]...)
			return a.conn, nil
		}
	}
	for {
		select {
		case a := <-r.listener.arrived:
			if a.hello.purpose == p && int(a.hello.from) == from {
				a.conn.SetKeepAliveConfig(keepAlive)
				return a.conn, nil
			}
			// It knows the ID: a rank that is further than this one.
			r.early = append(r.early, a)
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for rank %d: %w", from, context.Cause(ctx))
		}
	}
}
