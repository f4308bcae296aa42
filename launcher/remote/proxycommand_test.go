package remote

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

func TestProxyCommand(t *testing.T) {
	nc := writeFile(t, "nc", "#!/bin/bash\necho connecting \"$@\" >&2\nexec 3<>/dev/tcp/$1/$2\ncat <&3 2>/dev/null & cat >&3\n", 0o755)
	lookPath(t, "bash")
	for _, shell := range []string{"/bin/sh", "tcsh", "fish"} {
		t.Run(filepath.Base(shell), func(t *testing.T) {
			t.Setenv("SHELL", lookPath(t, shell))
			s := sshserver.Start(t, sshserver.Config{})
			configure(t, s.Host, "ProxyCommand "+nc+" %h %p \"%r of %n\" 50%%")
			c, err := dialerFor(t, s.Host, SSH{}).Dial(t.Context(), s.Entry())
			require.NoError(t, err)
			stream, err := c.StartAgent(t.Context(), newFakeAgent(t), Start{Args: []string{"a"}})
			require.NoError(t, err)
			require.Equal(t, s.Addr, c.RemoteAddr())
			require.Equal(t, "<a>", finish(t, stream))
		})
	}
}

func TestProxyCommandsThatFail(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	t.Cleanup(func() { // when all have ended
		pid, err := os.ReadFile(pidFile)
		require.NoError(t, err)
		require.NoDirExists(t, "/proc/"+strings.TrimSpace(string(pid)), "the command ends with the connection")
	})
	tests := []struct {
		name, lines string
		step        Step
		want        string
	}{
		{"ends at once", "ProxyCommand sh -c 'echo no route >&2; exit 3'", StepDial, `ended with exit status 3, saying "no route"`},
		{"is not there", "ProxyCommand /nonexistent/nc %h", StepDial, "ended with exit status 127, saying "},
		{"has a token that does not exist", "ProxyCommand nc %z", StepDial, "%z is unknown"},
		{"passes a descriptor", "ProxyCommand nc %h\nProxyUseFdpass yes", StepDial, "ProxyUseFdpass is not supported"},
		{"is killed", "ProxyCommand kill -9 $$", StepDial, "was killed by signal KILL"},
		{"says nothing for too long", "ConnectTimeout 1\nProxyCommand sh -c 'echo $$ >" + pidFile + "; exec sleep 1000'", StepLogin, "no answer within ConnectTimeout 1s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := sshserver.Start(t, sshserver.Config{})
			configure(t, s.Host, tt.lines)
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			_, err := dialerFor(t, s.Host, SSH{}).Dial(ctx, s.Entry())
			requireStep(t, err, tt.step)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
