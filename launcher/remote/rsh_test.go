package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
)

func TestRshWords(t *testing.T) {
	host := hostfiles.Host{Name: "w1", User: "eve", Port: 2222}
	const ours = "-T -o RemoteCommand=none -o ClearAllForwardings=yes "
	tests := []struct {
		name, template string
		host           hostfiles.Host
		conf           SSH
		want           string // words with blanks between, or the error
	}{
		{"plain", "ssh", hostfiles.Host{Name: "w1"}, SSH{}, "ssh " + ours + "-o BatchMode=yes w1"},
		{"user's options stay, ours come behind them", "ssh -x -p 1 {host}", host, SSH{Prompt: noPrompt},
			"ssh -x -p 1 " + ours + "-p 2222 -l eve w1"},
		{"placeholders are enough", "ssh -l {user} -p {port} -- {host}", host, SSH{Prompt: noPrompt},
			"ssh -l eve -p 2222 -- " + ours + "w1"},
		{"all fields", "/usr/bin/ssh", hostfiles.Host{Name: "w1", Key: "/k1", Jump: "b"},
			SSH{Port: 22, Key: "/k2", Jump: "c", Config: "/c", Agent: "/a", AcceptNewHostKeys: true, Prompt: noPrompt},
			"/usr/bin/ssh " + ours + "-p 22 -i /k1 -i /k2 -J b -F /c -o IdentityAgent=/a -o StrictHostKeyChecking=accept-new w1"},
		{"another program", "env docker exec -i {user}-{host} sh -c", hostfiles.Host{Name: "w1"}, SSH{}, "env docker exec -i ann-w1 sh -c"},
		{"another program, the host added", "env rsh", hostfiles.Host{Name: "w1"}, SSH{}, "env rsh w1"},
		{"a port that would be lost", "env rsh", hostfiles.Host{Name: "w1", Port: 2222}, SSH{}, "--rsh env would not hear of port=2222: put {port} into it"},
		{"a user that would be lost", "env rsh", hostfiles.Host{Name: "w1", User: "eve"}, SSH{}, "would not hear of user=eve: put {user} into it"},
		{"a key that would be lost", "env rsh", hostfiles.Host{Name: "w1"}, SSH{Key: "/k"}, "would not hear of -i /k: say the same in its own options"},
		{"a jump host that would be lost", "env rsh", hostfiles.Host{Name: "w1", Jump: "b"}, SSH{}, "would not hear of jump=b"},
		{"a host that is an option", "ssh", hostfiles.Host{Name: "-oProxyCommand=x"}, SSH{}, "a host cannot be called"},
		{"a placeholder that there is not", "ssh {hots}", hostfiles.Host{Name: "w1"}, SSH{}, "expected {host}, {user} or {port}, found {hots}"},
		{"a program that there is not", "/nonexistent/ssh", hostfiles.Host{Name: "w1"}, SSH{}, "--rsh /nonexistent/ssh: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.template, "ssh") && !strings.Contains(tt.template, "nonexistent") {
				lookPath(t, "ssh")
			}
			r, err := parseRsh(tt.template)
			var words []string
			if err == nil {
				words, err = r.login(tt.host, tt.conf, "ann")
			}
			if err != nil {
				require.ErrorContains(t, err, tt.want)
				return
			}
			require.Equal(t, tt.want, strings.Join(words, " "))
		})
	}
}

func noPrompt(context.Context, Question) ([]byte, error) { return nil, errors.New("nobody") }

// rshDialer returns a Dialer that logs in by a command.
func rshDialer(t testing.TB, conf SSH) *Dialer {
	t.Helper()
	d, err := NewDialer(conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// Any program that runs a command for a shell will do: it is given one more
// word, whatever the shell is that reads it.
func TestRshThatIsNotSSH(t *testing.T) {
	for _, shell := range []string{"dash", "bash", "tcsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			home := t.TempDir()
			program := writeFile(t, "login", "#!/bin/sh\necho \"to $1 as $2\" >&2\nexport HOME="+home+"\nshift 2\nexec "+lookPath(t, shell)+" -c \"$@\"\n", 0o755)
			d := rshDialer(t, SSH{Rsh: program + " {host} '{user}'"})
			for range 2 { // the second finds the program there
				c, err := d.Dial(t.Context(), hostfiles.Host{Name: "w1", User: "eve"})
				require.NoError(t, err)
				var stderr bytes.Buffer
				s, err := c.StartAgent(t.Context(), newFakeAgent(t), Start{Args: []string{"a b"}, Stderr: &stderr})
				require.NoError(t, err)
				require.Equal(t, "<a b>", finish(t, s))
				require.Equal(t, "oops\n", stderr.String())
			}
		})
	}
}

func TestRshEndsWithTheStream(t *testing.T) {
	program := writeFile(t, "login", "#!/bin/sh\necho $$ >"+t.TempDir()+"/pid\nexec sh -c \"$2\"\n", 0o755)
	home := t.TempDir()
	t.Setenv("HOME", home)
	c, err := rshDialer(t, SSH{Rsh: program}).Dial(t.Context(), hostfiles.Host{Name: "w1"})
	require.NoError(t, err)
	s, err := c.StartAgent(t.Context(), newProgram(t, "echo $$; trap '' TERM; exec sleep 1000"), Start{})
	require.NoError(t, err)
	pid := make([]byte, 16)
	n, err := s.Read(pid)
	require.NoError(t, err)
	id, err := strconv.Atoi(strings.TrimSpace(string(pid[:n])))
	require.NoError(t, err)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
	require.NoError(t, err)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGHUP} {
		require.True(t, ignores(t, string(status), signal), "the terminal's %v is the launcher's", signal)
	}
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")
	require.NoDirExists(t, fmt.Sprintf("/proc/%d", id), "KILL comes where TERM is ignored")
}

// ignores reads the set of ignored signals in a process's status.
func ignores(t testing.TB, status string, signal syscall.Signal) bool {
	t.Helper()
	_, rest, ok := strings.Cut(status, "SigIgn:\t")
	require.True(t, ok)
	set, err := strconv.ParseUint(rest[:16], 16, 64)
	require.NoError(t, err)
	return set&(1<<(signal-1)) != 0
}

func TestSystemSSH(t *testing.T) {
	lookPath(t, "ssh")
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			h := server.start(t, sshserver.Config{Noise: "Welcome\n", StderrNoise: "trouble\n"})
			d := rshDialer(t, SSH{Rsh: "ssh -x", Config: h.Config})
			c, err := d.Dial(t.Context(), h.Entry())
			require.NoError(t, err)
			require.Zero(t, c.RemoteAddr())
			var stderr bytes.Buffer
			s, err := c.StartAgent(t.Context(), newFakeAgent(t), Start{Args: []string{"a"}, Stderr: &stderr})
			require.NoError(t, err)
			require.Equal(t, h.Addr, c.RemoteAddr(), "as the server says")
			require.Equal(t, "<a>", finish(t, s))
			require.Equal(t, "oops\n", stderr.String())
			for script, want := range map[string]error{"exit 0": nil, "exit 7": &ExitError{Status: 7}} {
				c, err := d.Dial(t.Context(), h.Entry())
				require.NoError(t, err)
				s, err := c.StartAgent(t.Context(), newProgram(t, script), Start{})
				require.NoError(t, err)
				_, err = io.ReadAll(s)
				require.NoError(t, err)
				require.Equal(t, want, s.Wait())
				require.NoError(t, s.Close())
			}
		})
	}
}

func TestSystemSSHThatFails(t *testing.T) {
	lookPath(t, "ssh")
	tests := []struct {
		name   string
		break_ func(t *testing.T, s *sshserver.Server)
		want   string
	}{
		{"not let in", func(_ *testing.T, s *sshserver.Server) { s.Set(sshserver.Faults{RejectKeys: true}) }, "Permission denied"},
		{"unknown host key", func(t *testing.T, s *sshserver.Server) { require.NoError(t, s.ForgetKnownHosts()) }, "Host key verification failed."},
		{"nobody listens", func(t *testing.T, s *sshserver.Server) { require.NoError(t, s.Close()) }, "Connection refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sshserver.Start(t, sshserver.Config{})
			tt.break_(t, s)
			c, err := rshDialer(t, SSH{Rsh: "ssh", Config: s.Config}).Dial(t.Context(), s.Entry())
			require.NoError(t, err)
			_, err = c.StartAgent(t.Context(), newFakeAgent(t), Start{})
			requireStep(t, err, StepLogin)
			require.ErrorContains(t, err, "ssh ended with status 255; it printed ")
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestSystemSSHIsThrottled(t *testing.T) {
	lookPath(t, "ssh")
	s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{Drop: 3}})
	d := rshDialer(t, SSH{Rsh: "ssh", Config: s.Config})
	p := newFakeAgent(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			c, err := d.Dial(t.Context(), s.Entry())
			if err != nil {
				t.Error(err)
				return
			}
			stream, err := c.StartAgent(t.Context(), p, Start{})
			if err != nil {
				t.Error(err)
				return
			}
			stream.Close()
		})
	}
	wg.Wait()
	require.Equal(t, 4, s.Logins())
	require.Equal(t, 7, s.Connections())
}

// fakeSSH puts a program called ssh at the front of PATH, which notes its words
// and runs the command here.
func fakeSSH(t testing.TB) (words func() string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/ssh", []byte("#!/bin/sh\necho \"$*\" >>"+dir+"/words\nfor last; do :; done\nexport HOME="+dir+"\nexec sh -c \"$last\"\n"), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		text, err := os.ReadFile(dir + "/words")
		if errors.Is(err, os.ErrNotExist) {
			return ""
		}
		require.NoError(t, err)
		return string(text)
	}
}

// securityKeyFile writes what ssh-keygen -t ed25519-sk leaves behind, but for a
// private half that only ssh could read.
func securityKeyFile(t testing.TB) string {
	path := writeFile(t, "id_sk", "-----BEGIN OPENSSH PRIVATE KEY-----\nnone\n-----END OPENSSH PRIVATE KEY-----\n", 0o600)
	const public = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIGVs/vr+iHBEWoKuFyGzVXHJXGZaeuFbYCVWUYu5mHtKAAAABHNzaDo= touch\n"
	require.NoError(t, os.WriteFile(path+".pub", []byte(public), 0o644))
	return path
}

func TestWhatOnlySSHCanDo(t *testing.T) {
	t.Run("a directive", func(t *testing.T) {
		words := fakeSSH(t)
		s := sshserver.Start(t, sshserver.Config{})
		configure(t, s.Host, "PKCS11Provider /usr/lib/token.so")
		var warnings []string
		d := dialerFor(t, s.Host, SSH{Warn: func(text string) { warnings = append(warnings, text) }})
		for range 2 {
			c, err := d.Dial(t.Context(), s.Entry())
			require.NoError(t, err)
			stream, err := c.StartAgent(t.Context(), newFakeAgent(t), Start{})
			require.NoError(t, err)
			require.NoError(t, stream.Close())
		}
		require.Contains(t, words(), "-F "+s.Config)
		require.Len(t, warnings, 1)
		require.Contains(t, warnings[0], "ssh_config:1: pkcs11provider /usr/lib/token.so: ")
		require.Contains(t, warnings[0], "/ssh logs in instead of gorun itself")
		require.Zero(t, s.Connections())
	})
	t.Run("a security key that the server wants", func(t *testing.T) {
		words := fakeSSH(t)
		s := sshserver.Start(t, sshserver.Config{AnyKey: true})
		require.NoError(t, os.Remove(s.Key))
		key := securityKeyFile(t)
		warning := ""
		d := dialerFor(t, s.Host, SSH{Key: key, Warn: func(text string) { warning += text }})
		c, err := d.Dial(t.Context(), s.Entry())
		require.NoError(t, err)
		require.Contains(t, warning, key+": the key is in a security key, which needs a touch: ", "before ssh waits for it")
		stream, err := c.StartAgent(t.Context(), newFakeAgent(t), Start{})
		require.NoError(t, err)
		require.NoError(t, stream.Close())
		require.Contains(t, words(), "-i "+key)
	})
	t.Run("a security key that is not needed", func(t *testing.T) {
		words := fakeSSH(t)
		s := sshserver.Start(t, sshserver.Config{AnyKey: true})
		require.NoError(t, dial(t, s.Host, SSH{Key: securityKeyFile(t)}))
		require.Empty(t, words())
	})
	t.Run("a security key that the server does not know", func(t *testing.T) {
		words := fakeSSH(t)
		s := sshserver.Start(t, sshserver.Config{Faults: sshserver.Faults{RejectKeys: true}})
		err := dial(t, s.Host, SSH{Key: securityKeyFile(t)})
		require.ErrorContains(t, err, "was not let in")
		require.Empty(t, words())
	})
	t.Run("no ssh", func(t *testing.T) {
		s := sshserver.Start(t, sshserver.Config{})
		configure(t, s.Host, "KnownHostsCommand /bin/keys")
		t.Setenv("PATH", "/nonexistent")
		err := dial(t, s.Host, SSH{})
		requireStep(t, err, StepLogin)
		require.ErrorContains(t, err, "knownhostscommand /bin/keys: only OpenSSH's ssh can do that, and there is none in PATH")
	})
}

// Kerberos is tried where keys have failed, the server takes it and there is a
// ticket, and so is the host's own key.
func TestOtherMethodsOfSSH(t *testing.T) {
	tests := []struct {
		name    string
		config  string
		methods []string
		ticket  bool
		want    string // in ssh's words; "": it is not asked
	}{
		{"Kerberos", "GSSAPIAuthentication yes", []string{"publickey", "gssapi-with-mic"}, true, "PreferredAuthentications=gssapi"},
		{"no ticket", "GSSAPIAuthentication yes", []string{"publickey", "gssapi-with-mic"}, false, ""},
		{"Kerberos is not configured", "", []string{"publickey", "gssapi-with-mic"}, true, ""},
		{"the server takes keys only", "GSSAPIAuthentication yes", []string{"publickey"}, true, ""},
		{"the host's key", "HostbasedAuthentication yes", []string{"hostbased"}, false, "PreferredAuthentications=hostbased"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			words := fakeSSH(t)
			dir, _, _ := strings.Cut(os.Getenv("PATH"), ":")
			status := "1"
			if tt.ticket {
				status = "0"
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "klist"), []byte("#!/bin/sh\nexit "+status+"\n"), 0o755))
			d, _ := newTestDialer(t, tt.config, SSH{})
			s, err := d.resolve(t.Context(), hostfiles.Host{Name: "w1"})
			require.NoError(t, err)
			refused := &AuthError{Methods: tt.methods, gssapi: s.GSSAPI, hostBased: s.HostBased}
			c, err := d.retryWithSystem(t.Context(), hostfiles.Host{Name: "w1"}, refused, refused)
			if tt.want == "" {
				require.ErrorIs(t, err, error(refused))
				return
			}
			require.NoError(t, err)
			stream, err := c.StartAgent(t.Context(), newFakeAgent(t), Start{})
			require.NoError(t, err)
			require.NoError(t, stream.Close())
			require.Contains(t, words(), tt.want)
		})
	}
}

// A login that waits for its turn ends with its context.
func TestProgramsThatAskTakeTurns(t *testing.T) {
	fakeSSH(t)
	s := sshserver.Start(t, sshserver.Config{Addr: netip.MustParseAddr("127.0.0.2")})
	configure(t, s.Host, "PKCS11Provider /usr/lib/token.so")
	d := dialerFor(t, s.Host, SSH{})
	d.asking <- struct{}{}
	c, err := d.Dial(t.Context(), s.Entry())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = c.StartAgent(ctx, newFakeAgent(t), Start{})
	require.ErrorContains(t, err, "waiting for other logins to end")
}
