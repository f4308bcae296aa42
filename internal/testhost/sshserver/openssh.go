package sshserver

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
)

// OpenSSH starts the machine's sshd on 127.0.0.1, as the current user, for
// the time of the test. Of conf it heeds Addr, Shell, Home, Path, Env and
// UserCA. The
// test is skipped, with the reason, where sshd is missing or cannot run.
func OpenSSH(t testing.TB, conf Config) Host {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		if sshd, err = exec.LookPath("/usr/sbin/sshd"); err != nil {
			t.Skip("sshd is not installed")
		}
	}
	// As root, sshd confines the part of it that reads from strangers to this
	// folder, and does not start without.
	if info, err := os.Stat("/run/sshd"); os.Getuid() == 0 && (err != nil || !info.IsDir()) {
		if err := os.Mkdir("/run/sshd", 0o755); err != nil {
			t.Skipf("sshd needs /run/sshd: %v", err)
		}
	}
	dir := t.TempDir()
	h := Host{Key: filepath.Join(dir, "id_ed25519")}
	account, err := user.Current()
	if err != nil {
		t.Skipf("who runs this: %v", err)
	}
	h.User = account.Username
	fatal := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("prepare sshd: %v", err)
		}
	}
	_, err = newKeyFile(h.Key)
	fatal(err)
	var hostKeys []ssh.PublicKey
	for _, name := range []string{"host_a", "host_b"} {
		key, err := newKeyFile(filepath.Join(dir, name))
		fatal(err)
		hostKeys = append(hostKeys, key)
	}
	fatal(writeLogin(dir, &conf))

	addr := conf.Addr
	if !addr.IsValid() {
		addr = netip.MustParseAddr("127.0.0.1")
	}
	l, err := net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
	fatal(err)
	h.Addr = l.Addr().(*net.TCPAddr).AddrPort()
	fatal(l.Close()) // its port is sshd's now, unless somebody is quicker
	config := fmt.Sprintf(`ListenAddress %s
HostKey %s/host_a
AuthorizedKeysFile %s.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
ForceCommand %s/login
`, h.Addr, dir, h.Key, dir)
	if conf.UserCA != nil {
		authority := filepath.Join(dir, "user_ca.pub")
		fatal(os.WriteFile(authority, ssh.MarshalAuthorizedKey(conf.UserCA), 0o600))
		config = strings.Replace(config, "AuthorizedKeysFile "+h.Key+".pub", "AuthorizedKeysFile none\nTrustedUserCAKeys "+authority, 1)
	}
	fatal(os.WriteFile(filepath.Join(dir, "sshd_config"), []byte(config), 0o600))
	fatal(h.writeClientFiles(dir, hostKeys[0]))

	cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stderr, err := cmd.StderrPipe()
	fatal(err)
	if err := cmd.Start(); err != nil {
		t.Skipf("sshd does not start: %v", err)
	}
	ready := make(chan bool)
	drained := make(chan struct{})
	var said strings.Builder
	go func() {
		defer close(drained)
		listening := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if !listening {
				said.WriteString(lines.Text() + "; ")
			}
			if !listening && strings.Contains(lines.Text(), "Server listening") {
				listening = true
				ready <- true
			}
		}
		close(ready)
	}()
	ok := <-ready
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		for range ready { // nothing comes but its end
		}
		<-drained
		cmd.Wait()
	})
	if !ok {
		t.Skipf("sshd does not run: %s", &said)
	}
	return h
}

// writeLogin writes what sshd runs in place of a command: the command, in the
// shell and with the home of conf, as if the account had them.
func writeLogin(dir string, conf *Config) error {
	if conf.Home == "" {
		conf.Home = filepath.Join(dir, "home")
		if err := os.Mkdir(conf.Home, 0o700); err != nil {
			return err
		}
	}
	if conf.Shell == "" {
		conf.Shell = "/bin/sh"
	}
	if conf.Path == "" {
		conf.Path = "/usr/bin:/bin"
	}
	var b strings.Builder
	b.WriteString("#!/bin/sh\nunset XDG_CACHE_HOME\n")
	for _, v := range append([]string{"HOME=" + conf.Home, "PATH=" + conf.Path}, conf.Env...) {
		name, value, _ := strings.Cut(v, "=")
		fmt.Fprintf(&b, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	fmt.Fprintf(&b, "cd \"$HOME\" 2>/dev/null || cd /\nexec %s -c \"$SSH_ORIGINAL_COMMAND\"\n", conf.Shell)
	return os.WriteFile(filepath.Join(dir, "login"), []byte(b.String()), 0o755)
}
