package sshserver_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sshCommand runs OpenSSH's client against a server.
func sshCommand(t *testing.T, h sshserver.Host, command string) *exec.Cmd {
	t.Helper()
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("OpenSSH's client is not installed")
	}
	return exec.Command(ssh, "-F", h.Config, "-o", "BatchMode=yes", h.Addr.Addr().String(), command)
}

func TestOpenSSHClientRunsACommand(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{Env: []string{"COLOR=blue"}, Noise: "hello\n"})
	out, err := sshCommand(t, s.Host, `echo "$COLOR $HOME"; exit 7`).Output()
	require.Equal(t, "hello\nblue "+s.Home+"\n", string(out))
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 7, exit.ExitCode())
}

func TestOpenSSHServerRunsACommand(t *testing.T) {
	h := sshserver.OpenSSH(t, sshserver.Config{Env: []string{"COLOR=it's blue"}})
	out, err := sshCommand(t, h, `echo "$COLOR"`).Output()
	require.NoError(t, err)
	require.Equal(t, "it's blue\n", string(out))
}

func TestOpenSSHClientSeesTheFaults(t *testing.T) {
	tests := []struct {
		name   string
		faults sshserver.Faults
		stderr string
	}{
		{"key rejected", sshserver.Faults{RejectKeys: true}, "Permission denied (publickey)"},
		{"no commands", sshserver.Faults{RefuseExec: true}, "exec request failed"},
		{"dropped", sshserver.Faults{Drop: 1}, "kex_exchange_identification"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sshserver.Start(t, sshserver.Config{Faults: tt.faults})
			out, err := sshCommand(t, s.Host, "true").CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), tt.stderr)
		})
	}
}

func TestChangedHostKeyIsNoticed(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	require.NoError(t, s.ForgeKnownHosts())
	out, err := sshCommand(t, s.Host, "true").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "REMOTE HOST IDENTIFICATION HAS CHANGED")
}

// When the connection ends the process goes on, as under OpenSSH; its input
// ends. The test ends it by closing the server, and goleak would see the
// session that waits for it.
func TestProcessOutlivesItsConnection(t *testing.T) {
	s := sshserver.Start(t, sshserver.Config{})
	key, err := ssh.ParsePrivateKey(readFile(t, s.Key))
	require.NoError(t, err)
	client, err := ssh.Dial("tcp", s.Addr.String(), &ssh.ClientConfig{
		User: s.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.FixedHostKey(s.HostKey),
	})
	require.NoError(t, err)
	session, err := client.NewSession()
	require.NoError(t, err)
	stdin, err := session.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := session.StdoutPipe()
	require.NoError(t, err)
	pipe := s.Home + "/after"
	require.NoError(t, session.Start(`mkfifo after && echo up && read x; echo "input ended" > after`))
	buf := make([]byte, 3)
	_, err = stdout.Read(buf)
	require.NoError(t, err)
	require.NoError(t, client.Close())
	require.Equal(t, "input ended\n", string(readFile(t, pipe)))
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return text
}
