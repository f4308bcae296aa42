package remote

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

// The kinds of server that agents are started on.
var servers = []struct {
	name  string
	start func(t testing.TB, conf sshserver.Config) sshserver.Host
}{
	{"in process", func(t testing.TB, conf sshserver.Config) sshserver.Host { return sshserver.Start(t, conf).Host }},
	{"OpenSSH", func(t testing.TB, conf sshserver.Config) sshserver.Host { return sshserver.OpenSSH(t, conf) }},
}

func logIn(t testing.TB, h sshserver.Host) *Conn {
	t.Helper()
	c, err := dialerFor(t, h, SSH{}).Dial(t.Context(), h.Entry())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// newProgram returns a shell script as the agent.
func newProgram(t testing.TB, script string) *Program {
	t.Helper()
	p, err := NewProgram(writeFile(t, "agent", "#!/bin/sh\n"+script+"\n", 0o755))
	require.NoError(t, err)
	p.folders = `"$HOME/.cache/gorun"`
	return p
}

func TestStartAgent(t *testing.T) {
	for _, server := range servers {
		for _, shell := range []string{"dash", "tcsh"} { // more in TestStartUnderEveryShell
			t.Run(server.name+" "+shell, func(t *testing.T) {
				h := server.start(t, sshserver.Config{Shell: lookPath(t, shell), Noise: "Welcome\n", StderrNoise: "trouble\n"})
				p := newFakeAgent(t)
				for _, uploads := range []int{1, 0} {
					var count counter
					var stderr bytes.Buffer
					s, err := logIn(t, h).StartAgent(t.Context(), p, Start{Args: []string{"a b"}, Stderr: &stderr, Uploading: count.uploading})
					require.NoError(t, err)
					require.Equal(t, "<a b>", finish(t, s))
					require.Equal(t, "oops\n", stderr.String())
					require.Equal(t, uploads, count.begun)
				}
			})
		}
	}
}

func TestStreamTellsHowTheAgentEnded(t *testing.T) {
	for _, server := range servers {
		h := server.start(t, sshserver.Config{})
		for script, want := range map[string]error{
			"exit 0":        nil,
			"exit 7":        &ExitError{Status: 7},
			"kill -KILL $$": &ExitError{Status: 137, Signal: "KILL"},
		} {
			t.Run(server.name+" "+script, func(t *testing.T) {
				s, err := logIn(t, h).StartAgent(t.Context(), newProgram(t, script), Start{})
				require.NoError(t, err)
				out, err := io.ReadAll(s)
				require.NoError(t, err)
				require.Empty(t, out)
				require.Equal(t, want, s.Wait())
				require.Equal(t, want, s.Wait(), "the second time")
				require.NoError(t, s.Close())
			})
		}
	}
}

// Close ends the agent's input and kills nothing: an agent that ends with its
// input has the time to tidy up.
func TestCloseEndsTheAgentsInput(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			h := server.start(t, sshserver.Config{})
			pipe := filepath.Join(t.TempDir(), "pipe")
			require.NoError(t, syscall.Mkfifo(pipe, 0o600))
			f, err := os.OpenFile(pipe, os.O_RDWR, 0) // which waits for no writer
			require.NoError(t, err)
			defer f.Close()
			require.NoError(t, f.SetReadDeadline(time.Now().Add(waitFor)))
			p := newProgram(t, "cat >/dev/null; echo tidy >"+pipe)
			s, err := logIn(t, h).StartAgent(t.Context(), p, Start{})
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.NoError(t, s.Close(), "again")
			require.Error(t, s.Wait(), "its end is not seen any more")
			text := make([]byte, len("tidy\n"))
			_, err = io.ReadFull(f, text)
			require.NoError(t, err)
			require.Equal(t, "tidy\n", string(text))
		})
	}
}

func TestBulkBothWays(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			h := server.start(t, sshserver.Config{})
			s, err := logIn(t, h).StartAgent(t.Context(), newProgram(t, "exec cat"), Start{})
			require.NoError(t, err)
			sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
			var wg sync.WaitGroup
			wg.Go(func() {
				s.Write(sent)
				s.CloseWrite()
			})
			got, err := io.ReadAll(s)
			wg.Wait()
			require.NoError(t, err)
			require.True(t, bytes.Equal(sent, got))
			require.NoError(t, s.Wait())
			require.NoError(t, s.Close())
		})
	}
}

// A cut connection ends reads and Wait with an error that is not an exit
// status.
func TestCutConnection(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	stream, err := logIn(t, s.Host).StartAgent(t.Context(), newProgram(t, "echo up; exec cat"), Start{})
	require.NoError(t, err)
	_, err = io.ReadFull(stream, make([]byte, 3))
	require.NoError(t, err)
	s.Cut()
	_, err = io.ReadAll(stream)
	require.NoError(t, err)
	err = stream.Wait()
	require.Error(t, err)
	require.NotErrorAs(t, err, new(*ExitError))
	require.NoError(t, stream.Close())
}

// A peer that takes nothing more, without a word, is like a network that is
// gone: Close must not
// wait for it.
func TestCloseDoesNotWaitForTheNetwork(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	stream, err := logIn(t, s.Host).StartAgent(t.Context(), newProgram(t, "echo up; exec sleep 1000"), Start{})
	require.NoError(t, err)
	_, err = io.ReadFull(stream, make([]byte, 3))
	require.NoError(t, err)
	// The agent does not read, so the window and every buffer fill up and the
	// write stays.
	var wg sync.WaitGroup
	started := make(chan struct{})
	wg.Go(func() {
		close(started)
		for {
			if _, err := stream.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	<-started
	require.NoError(t, stream.Close())
	wg.Wait()
}

func TestStartAgentFails(t *testing.T) {
	tests := []struct {
		name string
		conf sshserver.Config
		want string
	}{
		{"no commands", sshserver.Config{Faults: sshserver.Faults{RefuseExec: true}}, "the server does not run commands for this user"},
		{"no shell", sshserver.Config{Shell: "/nonexistent/sh"}, "the login shell ended before the program started"},
		{"no access", sshserver.Config{Shell: "/bin/false", Noise: "This account is not available.\n"}, `exit status 1; it printed "This account is not available."`},
		{"cut", sshserver.Config{Faults: sshserver.Faults{CloseAfter: 10}}, "the connection ended before the command did"},
		{"no home", sshserver.Config{Home: "/nonexistent/home"}, "/nonexistent/home/.cache/gorun cannot be made"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sshserver.Start(t, tt.conf)
			_, err := logIn(t, s.Host).StartAgent(t.Context(), newProgram(t, "exec cat"), Start{})
			requireStep(t, err, StepAgent)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// The PATH of a login that is not interactive may be empty.
func TestEmptyPath(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			h := server.start(t, sshserver.Config{Path: "/nonexistent"})
			s, err := logIn(t, h).StartAgent(t.Context(), newProgram(t, "echo started"), Start{})
			require.NoError(t, err)
			defer s.Close()
			out, err := io.ReadAll(s)
			require.NoError(t, err)
			require.Equal(t, "started\n", string(out))
		})
	}
}

// Where the home cannot keep the program, another folder does.
func TestHomeThatCannotKeepTheProgram(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			spare := t.TempDir()
			h := server.start(t, sshserver.Config{Home: "/nonexistent/home", Env: []string{"SPARE=" + spare}})
			p := newFakeAgent(t)
			p.folders = `"$HOME/.cache/gorun" "$SPARE/gorun"`
			s, err := logIn(t, h).StartAgent(t.Context(), p, Start{Args: []string{"a"}})
			require.NoError(t, err)
			require.Equal(t, "<a>", finish(t, s))
			requireCached(t, p, spare+"/gorun")
		})
	}
}

func TestStartAgentEndsWithItsContext(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Shell: writeFile(t, "shell", "#!/bin/sh\nexec sleep 1000\n", 0o755)})
	c := logIn(t, s.Host)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := newProgram(t, "exec cat")
	ended := make(chan error, 1)
	go func() {
		_, err := c.StartAgent(ctx, p, Start{})
		ended <- err
	}()
	require.Eventually(t, func() bool { return s.Commands() > 0 }, waitFor, poll)
	cancel()
	err := <-ended
	requireStep(t, err, StepAgent)
	require.ErrorIs(t, err, context.Canceled)
}

// As users see them: one line, which names the host and what to do.
func TestErrorsAreOneLine(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{RejectKeys: true}})
	err := dial(t, s.Host, SSH{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	require.True(t, strings.HasPrefix(err.Error(), "127.0.0.1: login: user tester was not let in: tried "), "%v", err)
}

func BenchmarkDialAndStart(b *testing.B) {
	for _, server := range servers {
		b.Run(server.name, func(b *testing.B) {
			h := server.start(b, sshserver.Config{})
			p := newFakeAgent(b)
			d := dialerFor(b, h, SSH{})
			for b.Loop() {
				c, err := d.Dial(b.Context(), h.Entry())
				require.NoError(b, err)
				s, err := c.StartAgent(b.Context(), p, Start{})
				require.NoError(b, err)
				require.NoError(b, s.Close())
			}
		})
		b.Run(server.name+" dial only", func(b *testing.B) {
			h := server.start(b, sshserver.Config{})
			d := dialerFor(b, h, SSH{})
			for b.Loop() {
				c, err := d.Dial(b.Context(), h.Entry())
				require.NoError(b, err)
				require.NoError(b, c.Close())
			}
		})
	}
}
