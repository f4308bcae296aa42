// Command loopback makes hosts of this machine's loopback addresses, runs a
// command that uses them, and takes them down when it ends. It needs no root
// and no sshd: each host is a small SSH server of its own at 127.0.0.2,
// 127.0.0.3 …, which lets in only who has the key that was made for it. They
// share this machine's files and have homes of their own.
//
//	go run ./internal/testhost/loopback -n 2 -- sh -c 'bin/gorun -F "$TESTHOST_SSH_CONFIG" bin/hello'
//	go run ./internal/testhost/loopback -n 2 -- sh    # a shell to try them from
//
// gorun finds the hosts in the environment of the command: GORUN_HOSTFILE
// names them. The file TESTHOST_SSH_CONFIG, which -F takes, makes gorun trust
// their host keys.
//
// Its exit status is that of the command, 125 if there are no hosts, and 2 if
// the usage was wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

func main() {
	n := flag.Int("n", 2, "`number` of hosts, 1 to 200")
	slots := flag.Int("slots", 0, "write this `number` of slots behind each host")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: loopback [flags] [--] command [arguments]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *n < 1 || *n > 200 || *slots < 0 || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	status, err := run(*n, *slots, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "loopback:", err)
	}
	os.Exit(status)
}

// run makes the hosts, runs the command and returns its exit status.
func run(n, slots int, command []string) (status int, err error) {
	const failed = 125
	dir, err := os.MkdirTemp("", "loopback-")
	if err != nil {
		return failed, err
	}
	defer os.RemoveAll(dir)
	servers, err := serve(dir, n)
	defer func() {
		for _, s := range servers {
			s.Close()
		}
	}()
	if err != nil {
		return failed, err
	}
	hostfile, config := filepath.Join(dir, "hostfile"), filepath.Join(dir, "ssh_config")
	if err := errors.Join(
		os.WriteFile(hostfile, []byte(hostLines(servers, slots)), 0o600),
		os.WriteFile(config, []byte(sshConfig(servers)), 0o600),
	); err != nil {
		return failed, err
	}

	// The terminal's signals go to the command as well, which decides what they
	// mean and whose end is awaited.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GORUN_HOSTFILE="+hostfile, "TESTHOST_SSH_CONFIG="+config)
	err = cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return 0, nil
	case !ok:
		return failed, err
	}
	if wait := exit.Sys().(syscall.WaitStatus); wait.Signaled() {
		return 128 + int(wait.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// serve starts n servers. On error it returns those that run.
func serve(dir string, n int) (servers []*sshserver.Server, err error) {
	for i := range n {
		addr := netip.AddrFrom4([4]byte{127, 0, 0, byte(2 + i)})
		home := filepath.Join(dir, addr.String())
		if err := os.Mkdir(home, 0o700); err != nil {
			return servers, err
		}
		s, err := sshserver.New(home, sshserver.Config{Addr: addr})
		if err != nil {
			return servers, fmt.Errorf("%v: %w", addr, err)
		}
		servers = append(servers, s)
	}
	return servers, nil
}

func hostLines(servers []*sshserver.Server, slots int) string {
	var b strings.Builder
	for _, s := range servers {
		b.WriteString(s.Line())
		if slots > 0 {
			fmt.Fprintf(&b, " slots=%d", slots)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func sshConfig(servers []*sshserver.Server) string {
	var b strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&b, "Host %v\n\tIdentityAgent none\n\tUserKnownHostsFile %q\n\tGlobalKnownHostsFile none\n",
			s.Addr.Addr(), s.KnownHosts)
	}
	return b.String()
}
