package rendezvous_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gorun/gorun/internal/garbage"
	"github.com/gorun/gorun/rendezvous"
)

// watched tells when a Get is waiting and when it has ended.
type watched struct {
	rendezvous.Backend
	waiting, ended chan struct{}
}

func (w *watched) Get(ctx context.Context, epoch int, key string) ([]byte, error) {
	w.waiting <- struct{}{}
	defer func() { w.ended <- struct{}{} }()
	return w.Backend.Get(ctx, epoch, key)
}

func newWatched(t *testing.T) *watched {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	return &watched{m, make(chan struct{}, 1), make(chan struct{}, 1)}
}

func TestCancelFreesTheServer(t *testing.T) {
	w := newWatched(t)
	job := openAt(t, serve(t, w), 0)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() { _, err := job.Get(ctx, "k"); got <- err }()
	<-w.waiting
	cancel()
	<-w.ended
	err := <-got
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "ranks 1-3 on a, b missing")
	require.NoError(t, job.Put(t.Context(), "k", nil), "the connection lives on")
}

func TestHangingUpFreesTheServer(t *testing.T) {
	w := newWatched(t)
	job := openAt(t, serve(t, w), 0)
	go job.Get(t.Context(), "k")
	<-w.waiting
	require.NoError(t, job.Close())
	<-w.ended
}

func TestServerEndsCalls(t *testing.T) {
	w := newWatched(t)
	path := filepath.Join(t.TempDir(), "job")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- rendezvous.Serve(ctx, l, w) }()
	job := openAt(t, path, 0)
	got := make(chan error)
	go func() { _, err := job.Get(t.Context(), "k"); got <- err }()
	<-w.waiting
	cancel()
	require.NoError(t, <-served)
	require.ErrorContains(t, <-got, "connection to the meeting place")
	require.ErrorContains(t, job.Put(t.Context(), "k", nil), "connection to the meeting place")
}

func TestManyCallsAtOnce(t *testing.T) {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	job := openAt(t, serve(t, m), 0)
	var all errgroup.Group
	keys := make([]string, 500)
	for i := range keys {
		keys[i] = string(rune('一' + i))
		all.Go(func() error { _, err := job.Get(t.Context(), keys[i]); return err })
	}
	for _, key := range keys {
		require.NoError(t, m.Put(t.Context(), 0, key, nil))
	}
	require.NoError(t, all.Wait())
}

func TestOpenRefused(t *testing.T) {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	path := serve(t, m)
	w := place(0)
	w.Size = 5
	_, err = rendezvous.Open(t.Context(), &rendezvous.Config{World: &w, Address: "unix:" + path})
	require.ErrorContains(t, err, "rank 0 of 5 opened a job of 4 ranks")
	require.ErrorContains(t, rendezvous.New(m, w).Put(t.Context(), "k", nil), "rank 0 of 5")
}

// Ten thousand inputs that are no client's, or nearly: none is served that does not
// begin as one, nothing of them is kept, and the server goes on with those that are.
func TestGarbage(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 connections")
	}
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	path := serve(t, m)
	job := openAt(t, path, 0)
	truth := overheard(t, path)
	feed := func(n int) {
		for input := range garbage.Inputs(n, truth) {
			conn, err := net.Dial("unix", path)
			require.NoError(t, err)
			conn.Write(input)
			conn.(*net.UnixConn).CloseWrite()
			answer, _ := io.ReadAll(conn)
			const magic, rest = 9, 13 // of a hello
			if len(input) < rest || !bytes.Equal(input[magic:rest], truth[magic:rest]) {
				require.Empty(t, answer)
			}
			require.NoError(t, conn.Close())
		}
	}
	kept, _ := garbage.Flood(feed)
	require.Less(t, kept, int64(1<<20), "bytes are kept")
	require.NoError(t, job.Put(t.Context(), "k", nil))
}

// overheard returns what a client says that opens the job and puts a value.
func overheard(t *testing.T, server string) []byte {
	client := tap(t, server)
	job := openAt(t, client.path, 1)
	require.NoError(t, job.Put(t.Context(), "overheard", []byte("value")))
	require.NoError(t, job.Close())
	require.NoError(t, client.relay.Wait())
	return client.said.Bytes()
}

// tapped is a connection to a server through the test.
type tapped struct {
	path  string
	relay errgroup.Group
	said  bytes.Buffer // by the client, once relay has ended
	cut   func()       // ends it as the death of the client would
}

// tap relays one connection to a server.
func tap(t *testing.T, server string) *tapped {
	tap := &tapped{path: filepath.Join(t.TempDir(), "tap")}
	l, err := net.Listen("unix", tap.path)
	require.NoError(t, err)
	to, err := net.Dial("unix", server)
	require.NoError(t, err)
	tap.cut = func() { to.Close() }
	tap.relay.Go(func() error {
		defer l.Close()
		client, err := l.Accept()
		if err != nil {
			return err
		}
		defer client.Close()
		tap.relay.Go(func() error { io.Copy(client, to); client.Close(); return nil })
		io.Copy(to, io.TeeReader(client, &tap.said))
		return to.Close()
	})
	t.Cleanup(func() {
		l.Close()
		to.Close()
		tap.relay.Wait()
	})
	return tap
}

// attended notes when ranks come and go.
type attended struct {
	rendezvous.Backend
	came chan int
	left chan departure
}

type departure struct {
	epoch, rank int
	closed      bool
}

func (a *attended) Attend(epoch, rank int, _ net.Conn) func(bool) {
	a.came <- rank
	return func(closed bool) { a.left <- departure{epoch, rank, closed} }
}

func newAttended(t *testing.T) *attended {
	m, err := rendezvous.NewMemory(plan)
	require.NoError(t, err)
	return &attended{m, make(chan int, 4), make(chan departure, 4)}
}

func TestWhoClosesTheJobIsToldFromWhoVanishes(t *testing.T) {
	a := newAttended(t)
	path := serve(t, a)
	t.Run("closed", func(t *testing.T) {
		job := openAt(t, path, 1)
		require.Equal(t, 1, <-a.came)
		go job.Get(t.Context(), "never") // under way, or not yet
		require.NoError(t, job.Close())
		require.Equal(t, departure{0, 1, true}, <-a.left)
		require.NoError(t, job.Close())
		require.ErrorIs(t, job.Put(t.Context(), "k", nil), rendezvous.ErrClosed)
	})
	t.Run("vanished", func(t *testing.T) {
		client := tap(t, path)
		job := openAt(t, client.path, 2)
		require.Equal(t, 2, <-a.came)
		client.cut()
		require.Equal(t, departure{0, 2, false}, <-a.left)
		require.NoError(t, job.Close())
	})
	t.Run("by the number with which it came", func(t *testing.T) {
		job := openAt(t, path, 3)
		require.Equal(t, 3, <-a.came)
		others := []*rendezvous.Job{openAt(t, path, 1), openAt(t, path, 2)}
		<-a.came
		<-a.came
		require.NoError(t, a.Backend.(*rendezvous.Memory).Report(rendezvous.Event{Kind: rendezvous.Lost, Ranks: []int{0}}))
		var all errgroup.Group
		for _, other := range others {
			all.Go(func() error { _, err := other.NextEpoch(t.Context()); return err })
		}
		next, err := job.NextEpoch(t.Context())
		require.NoError(t, err)
		require.NoError(t, all.Wait())
		require.Equal(t, 2, next.Rank())
		require.NoError(t, next.Close())
		require.Equal(t, departure{0, 3, true}, <-a.left)
	})
}

func TestWhoIsHungUpOnByTheServerHasNotVanished(t *testing.T) {
	a := newAttended(t)
	path := filepath.Join(t.TempDir(), "job")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- rendezvous.Serve(ctx, l, a) }()
	openAt(t, path, 0)
	<-a.came
	cancel()
	require.NoError(t, <-served)
	require.Empty(t, a.left)
}
