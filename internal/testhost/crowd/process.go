//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// process is one of those that the hosts are divided among, since what a
// process may have open is limited.
type process struct {
	cmd          *exec.Cmd
	stdin        io.Closer
	lines, known string // of the hostfile and of known_hosts
}

// What a host and a rank take of their process's open files: the SSH server, its
// connection, gossip and job sockets; both ends of pipes, a door.
const (
	filesPerHost = 16
	filesPerRank = 12
	filesSpare   = 100
)

// hostsPerProcess is how many hosts with so many ranks a process can be.
func hostsPerProcess(ranks int) (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	each := (min(int(limit.Max), 1<<20) - filesSpare) / (filesPerHost + ranks*filesPerRank)
	if each < 1 {
		return 0, fmt.Errorf("%d open files (ulimit -n) are not enough for one host of %d ranks", limit.Max, ranks)
	}
	return each, nil
}

// startProcess blocks until the hosts can be reached.
func startProcess(dir string, first, count, slots int) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, strconv.Itoa(first))
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, "-serve", strconv.Itoa(first), "-n", strconv.Itoa(count), "-slots", strconv.Itoa(slots))}
	p.cmd.Dir, p.cmd.Stderr = home, os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// The terminal's signals are for the command.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	said, err := io.ReadAll(stdout)
	lines, known, ok := bytes.Cut(said, []byte("\n\n"))
	if err != nil || !ok {
		p.end()
		return nil, fmt.Errorf("hosts %d to %d did not start: %w", first, first+count-1, err)
	}
	p.lines, p.known = string(lines)+"\n", string(known)
	return p, nil
}

func (p *process) end() {
	p.stdin.Close()
	p.cmd.Wait()
}
