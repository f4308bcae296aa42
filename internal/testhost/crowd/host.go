//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/gorun/gorun/internal/testhost/sshserver"
	"github.com/gorun/gorun/launcher/agent"
)

// serve is count hosts, whose files lie in the working folder, until standard
// input ends. It writes their lines of a hostfile and, behind an empty one, of
// known_hosts to standard output.
func serve(first, count, slots int) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	var lines, known bytes.Buffer
	key := ""
	for i := first; i < first+count; i++ {
		addr := netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)})
		home := filepath.Join(dir, addr.String())
		if err := os.Mkdir(home, 0o700); err != nil {
			return err
		}
		s, err := sshserver.New(home, sshserver.Config{Addr: addr, AnyKey: true, Exec: shell})
		if err != nil {
			return fmt.Errorf("%v: %w", addr, err)
		}
		defer s.Close()
		if key == "" {
			key = s.Key // one for all, as on a real cluster
		}
		fmt.Fprintf(&lines, "%v port=%d user=%s key=%s slots=%d\n", addr, s.Addr.Port(), s.User, key, slots)
		file, err := os.ReadFile(s.KnownHosts)
		if err != nil {
			return err
		}
		known.Write(file)
	}
	fmt.Printf("%s\n%s", &lines, &known)
	os.Stdout.Close()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// shell answers what a host answers that has gorun in its cache, and becomes the
// agent.
func shell(_ string, channel ssh.Channel) (status int) {
	marker, job, err := readScript(channel)
	if err == nil {
		fmt.Fprintf(channel, "%s start\n", marker)
		fmt.Fprintf(channel.Stderr(), "%s start\n", marker)
		err = agent.Serve(channel, job, newCalls())
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
