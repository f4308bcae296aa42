//go:build linux

// Command hosts makes a cluster of test hosts, runs a command on its head, and
// takes everything down when that ends. It needs root.
//
//	go run ./internal/testhost/hosts -n 4 -- gorun -np 8 hostname
//	go run ./internal/testhost/hosts -varied    # a shell in which ssh node1 … node4 works
//
// The command runs in the current folder, which only the head shares. The head has
// a /tmp of its own, empty at first, as the other hosts have: files of the
// caller's there are not to be seen, unless the current folder is below it. The
// command has the caller's environment and in addition
//
//	GORUN_HOSTFILE        a file with one line for each host
//	TESTHOST_SSH_CONFIG   a file for ssh -F; plain ssh works too
//	TESTHOST_DIR          the folder of both, the ordinary user's
//
// Its exit status is that of the command, 125 if there are no hosts, and 2 if
// the usage was wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

func main() {
	hosts := flag.Int("n", 4, "number of `hosts` besides the head")
	slots := flag.Int("slots", 0, "write this `number` of slots behind each host")
	varied := flag.Bool("varied", false, "make the first four hosts differ: root, no home, noexec /tmp, csh")
	asRoot := flag.Bool("root", false, "run the command as root, not as the ordinary user")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: hosts [flags] [--] [command [arguments]]")
		flag.PrintDefaults()
	}
	flag.Parse()

	config := cluster.Config{Hosts: *hosts, Slots: *slots}
	if *varied {
		config.Variants = cluster.Varied()
	}
	user := cluster.User
	if *asRoot {
		user = cluster.Root
	}
	status, err := run(config, user, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "hosts:", err)
	}
	os.Exit(status)
}

// run makes the cluster, runs the command or a shell on its head, and returns
// the exit status.
func run(config cluster.Config, user string, command []string) (status int, err error) {
	const failed = 125
	// The terminal sends INT and QUIT to the command as well, which decides what
	// they mean. TERM and HUP are passed on.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)

	here, err := os.Getwd()
	if err != nil {
		return failed, err
	}
	if here != "/" {
		config.HeadShare = []string{here}
	}
	c, err := cluster.Start(context.Background(), config)
	if err != nil {
		return failed, err
	}
	defer func() {
		if closeErr := c.Close(); closeErr != nil {
			status, err = failed, errors.Join(err, closeErr)
		}
	}()

	if len(command) == 0 {
		command = []string{c.Head.Shell}
	}
	cmd := c.Head.Command(context.Background(), user, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Dir = here
	// Of a variable that is there twice the last value counts: HOME, USER and the
	// like are the login's, PATH the caller's.
	cmd.Env = append(append(os.Environ(), cmd.Env...),
		"PATH="+os.Getenv("PATH"),
		"GORUN_HOSTFILE="+c.Hostfile,
		"TESTHOST_SSH_CONFIG="+c.SSHConfig,
		"TESTHOST_DIR="+c.Dir)
	if err := cmd.Start(); err != nil {
		return failed, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				cmd.Process.Signal(s) // an ended command reports itself
			}
		case err := <-ended:
			exit, ok := errors.AsType[*exec.ExitError](err)
			switch {
			case err == nil:
				return 0, nil
			case !ok:
				return failed, err
			}
			if wait, ok := exit.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
				return 128 + int(wait.Signal()), nil
			}
			return exit.ExitCode(), nil
		}
	}
}
