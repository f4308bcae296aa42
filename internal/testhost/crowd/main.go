//go:build linux

// Command crowd makes up to thousands of hosts of a few processes, runs a
// command that uses them, and takes them down when it ends. Each has an address
// of its own, an SSH server and an agent, the one that ships; only the ranks
// are not processes but calls of a function, so that what is measured is gorun.
//
//	go run ./internal/testhost/crowd -n 1000 -slots 8 -- sh -c 'exec bin/gorun -F "$TESTHOST_SSH_CONFIG" true meet'
//
// gorun finds the hosts in GORUN_HOSTFILE. Whatever program it is told to run,
// the words behind it tell the ranks what to do: see rank.go. When the command
// ends, its time and the most memory that it had resident are written to
// standard error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const maxHosts = 1 << 14 // 127.1.0.0 to 127.1.63.255

func main() {
	n := flag.Int("n", 64, fmt.Sprintf("`number` of hosts, 1 to %d", maxHosts))
	slots := flag.Int("slots", 1, "`slots` of each host")
	first := flag.Int("serve", -1, "be -n hosts from this `number` on until standard input ends; used by crowd itself")
	flag.Parse()
	var err error
	switch {
	case *n < 1 || *n > maxHosts || *slots < 1 || (*first < 0) == (flag.NArg() == 0):
		fmt.Fprintln(os.Stderr, "usage: crowd [-n hosts] [-slots n] -- command [arguments]")
		os.Exit(2)
	case *first >= 0:
		err = serve(*first, *n, *slots)
	default:
		err = run(*n, *slots, flag.Args())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
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
	each, err := hostsPerProcess(slots)
	if err != nil {
		return err
	}
	var lines, known strings.Builder
	for first := 0; first < n; first += each {
		p, err := startProcess(dir, first, min(each, n-first), slots)
		if err != nil {
			return err
		}
		defer p.end()
		lines.WriteString(p.lines)
		known.WriteString(p.known)
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
	began := time.Now()
	err = cmd.Run()
	if cmd.ProcessState != nil {
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		fmt.Fprintf(os.Stderr, "crowd: %.2f s, %d MiB resident at most\n", time.Since(began).Seconds(), usage.Maxrss>>10)
	}
	return err
}
