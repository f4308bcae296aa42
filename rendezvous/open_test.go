package rendezvous_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
)

func TestOpenAlone(t *testing.T) {
	w := rankenv.World{Size: 1, LocalSize: 1, Nodes: 1, Host: "here"}
	job, err := rendezvous.Open(t.Context(), &rendezvous.Config{World: &w})
	require.NoError(t, err)
	require.NoError(t, job.Put(t.Context(), "k", []byte("v")))
	require.NoError(t, job.Barrier(t.Context(), "b"))
	require.False(t, job.Addr().IsValid())
	require.NoError(t, job.Close())
}

func TestOpenNeedsAMeetingPlace(t *testing.T) {
	ctx := context.Background()
	two := &rankenv.World{Rank: 0, Size: 2}
	for _, tc := range []struct {
		name string
		env  string
		conf rendezvous.Config
		want string
	}{
		{"none", "", rendezvous.Config{World: two}, "has no meeting place: not started by gorun, and GORUN_RENDEZVOUS is not set"},
		{"other scheme", "", rendezvous.Config{World: two, Address: "tcp:host:1"}, `Config.Address is "tcp:host:1", want unix:PATH`},
		{"from the environment", "dir:/shared", rendezvous.Config{World: two}, `GORUN_RENDEZVOUS is "dir:/shared", want unix:PATH`},
		{"no path", "unix:", rendezvous.Config{World: two}, "want unix:PATH"},
		{"relative", "", rendezvous.Config{World: two, Address: "unix:job"}, `is "job", want an absolute one`},
		{"nobody there", "", rendezvous.Config{World: two, Address: "unix:/nonexistent/job"}, "job socket: dial unix /nonexistent/job"},
		{"bad world", "", rendezvous.Config{World: &rankenv.World{Rank: 2, Size: 2}}, "rank is 2 of 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("GORUN_RENDEZVOUS", tc.env)
			_, err := rendezvous.Open(ctx, &tc.conf)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	// The socket is there, but nobody answers.
	path := silent(t)
	w := place(0)
	_, err := rendezvous.Open(brief(t), &rendezvous.Config{World: &w, Address: "unix:" + path})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func silent(t *testing.T) (path string) {
	path = filepath.Join(t.TempDir(), "job")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return path
}
