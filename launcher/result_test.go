package launcher

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/remote"
)

// requireSaidOnce checks that no part of a message repeats the one before, or begins
// with it.
func requireSaidOnce(t *testing.T, message string) {
	t.Helper()
	parts := strings.Split(message, ": ")
	for i, part := range parts {
		require.NotContains(t, parts[:i], part, message)
		if i > 0 {
			require.False(t, strings.HasPrefix(part, parts[i-1]+" "), message)
		}
	}
}

func TestErrorsSayEachThingOnce(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9), Port: 1},
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "node9"}}
	h := &host{name: "node9"}
	notReached := func(step remote.Step, err error) error {
		return hostError(h, &remote.Error{Host: h.name, Step: step, Err: err})
	}
	_, notRegular := stagedProgram("/etc")
	_, absent := stagedProgram(filepath.Join(t.TempDir(), "absent"))
	_, _, noFile := stagedFiles(&Job{Files: []string{"/etc", filepath.Join(t.TempDir(), "absent")}})
	for name, err := range map[string]error{
		"refused":           notReached(remote.StepDial, refused),
		"not known":         notReached(remote.StepDial, unknown),
		"refused on a way":  &remote.Error{Host: "node9", Step: remote.StepDial, Err: refused},
		"no file there":     notReached(remote.StepAgent, &os.PathError{Op: "mkdir", Path: "/x", Err: syscall.EROFS}),
		"lost":              &HostError{Host: "node9", Step: "run", Err: &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}},
		"a folder staged":   notRegular,
		"nothing staged":    absent,
		"files not to have": noFile,
	} {
		t.Run(name, func(t *testing.T) {
			for line := range strings.Lines(err.Error()) {
				requireSaidOnce(t, strings.TrimSpace(line))
			}
		})
	}
	t.Run("a place taken", func(t *testing.T) {
		h.unfit = notReached(remote.StepDial, refused)
		e := Event{Kind: Warning, Host: h.name, Rank: -1, Message: "node8 takes its place: " + h.whyUnfit()}
		require.Equal(t, "warning: node9: node8 takes its place: dial: tcp 127.0.0.9:1: connect: connection refused", e.String())
	})
}
