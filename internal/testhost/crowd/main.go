// Command crowd makes up to thousands of hosts of this one process, runs a
// command that uses them, and takes them down when it ends. Each has an address
// of its own, an SSH server and an agent, the one that ships; only the ranks
// are not processes but calls of a function, so that what is measured is gorun.
//
//	go run ./internal/testhost/crowd -n 1000 -slots 8 -- sh -c 'bin/gorun -F "$TESTHOST_SSH_CONFIG" true meet'
//
// gorun finds the hosts in GORUN_HOSTFILE. Whatever program it is told to run,
// the words behind it tell the ranks what to do: see rank.go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/gorun/gorun/internal/testhost/sshserver"
	"github.com/gorun/gorun/launcher/agent"
)

const maxHosts = 1 << 14 // 127.1.0.0 to 127.1.63.255

func main() {
	n := flag.Int("n", 64, fmt.Sprintf("`number` of hosts, 1 to %d", maxHosts))
	slots := flag.Int("slots", 1, "`slots` of each host")
	flag.Parse()
	if *n < 1 || *n > maxHosts || *slots < 1 || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: crowd [-n hosts] [-slots n] -- command [arguments]")
		os.Exit(2)
	}
	if err := run(*n, *slots, flag.Args()); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(125)
	}
}

func run(n, slots int, command []string) error {
	dir, err := os.MkdirTemp("", "crowd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var lines, known strings.Builder
	for i := range n {
		addr := netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)})
		home := filepath.Join(dir, addr.String())
		if err := os.Mkdir(home, 0o700); err != nil {
			return err
		}
		s, err := sshserver.New(home, sshserver.Config{Addr: addr, AnyKey: true, Exec: serve})
		if err != nil {
			return fmt.Errorf("%v: %w", addr, err)
		}
		defer s.Close()
		// One key for all, as on a real cluster.
		key := filepath.Join(dir, "127.1.0.0", filepath.Base(s.Key))
		fmt.Fprintf(&lines, "%v port=%d user=%s key=%s slots=%d\n", addr, s.Addr.Port(), s.User, key, slots)
		file, err := os.ReadFile(s.KnownHosts)
		if err != nil {
			return err
		}
		known.Write(file)
	}
	hostfile, knownHosts, config := filepath.Join(dir, "hosts"), filepath.Join(dir, "known_hosts"), filepath.Join(dir, "ssh_config")
	if err := errors.Join(
		os.WriteFile(hostfile, []byte(lines.String()), 0o600),
		os.WriteFile(knownHosts, []byte(known.String()), 0o600),
		os.WriteFile(config, fmt.Appendf(nil, "Host *\n\tIdentityAgent none\n\tUserKnownHostsFile %q\n\tGlobalKnownHostsFile none\n", knownHosts), 0o600),
	); err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GORUN_HOSTFILE="+hostfile, "TESTHOST_SSH_CONFIG="+config)
	return cmd.Run()
}

// serve stands for the host's shell: it answers what a host answers that has
// gorun in its cache, and becomes the agent.
func serve(_ string, channel ssh.Channel) (status int) {
	marker, job, err := readScript(channel)
	if err == nil {
		fmt.Fprintf(channel, "%s start\n", marker)
		fmt.Fprintf(channel.Stderr(), "%s start\n", marker)
		err = agent.Rehearse(channel, job, rank)
	}
	if err != nil {
		fmt.Fprintln(channel.Stderr(), err)
		return 1
	}
	return 0
}

// readScript takes the launcher's boot script from its line, and out of it the
// marker behind which it listens, and the job.
func readScript(r io.Reader) (marker, job string, err error) {
	const longest = 64 << 10
	var line []byte
	for b := make([]byte, 1); len(line) < longest; line = append(line, b[0]) {
		// Byte by byte: what comes behind is the agent's.
		if _, err := io.ReadFull(r, b); err != nil {
			return "", "", err
		}
		if b[0] == '\n' {
			break
		}
	}
	text := string(line)
	_, marker, _ = strings.Cut(text, "m=")
	marker, _, _ = strings.Cut(marker, " ")
	_, job, ok := strings.Cut(text, "'--job' '")
	job, _, closed := strings.Cut(job, "'")
	if marker == "" || !ok || !closed {
		return "", "", errors.New("this is not a boot script for an agent")
	}
	return marker, job, nil
}
