//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
)

// A Cmd is an [exec.Cmd] that starts inside a host. The process is a child of
// the caller's, so signals reach it, and its status comes, without a program in
// between; Process.Pid is its number outside the host.
//
// Start it by the methods of Cmd: those of the exec.Cmd within would start it on
// the machine itself.
type Cmd struct {
	*exec.Cmd
	host *Host

	wait    sync.Once
	waitErr error
}

// Command returns a command that will run on the host as the given user (User
// or Root) in the user's home, or in / if that is missing, with the environment
// of a fresh login. The context kills it, as with [exec.CommandContext]. A name
// without a slash is looked up on the machine.
//
// Whoever starts the command should wait for it; Close kills and awaits what is
// left.
func (h *Host) Command(ctx context.Context, user, name string, args ...string) *Cmd {
	c := &Cmd{Cmd: exec.CommandContext(ctx, name, args...), host: h}
	account, err := h.account(user)
	if err != nil {
		c.Err = err
		return c
	}
	c.Dir = "/"
	if _, err := h.Root.Stat(account.home[1:]); err == nil {
		c.Dir = account.home
	}
	c.Env = []string{
		"HOME=" + account.home,
		"USER=" + account.name,
		"LOGNAME=" + account.name,
		"SHELL=" + h.Shell,
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG=C.UTF-8",
	}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: account.id, Gid: account.id}}
	return c
}

// Run runs a command on the host and returns its standard output. The error
// holds the standard error.
func (h *Host) Run(ctx context.Context, user, name string, args ...string) (string, error) {
	out, err := h.Command(ctx, user, name, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s on %s: %w: %s", name, h.Name, err, bytes.TrimSpace(exit.Stderr))
	}
	return string(out), err
}

// Start starts the command inside the host. See [exec.Cmd.Start].
func (c *Cmd) Start() error {
	cluster := c.host.cluster
	cluster.mu.Lock()
	defer cluster.mu.Unlock()
	if c.host.off {
		return fmt.Errorf("%s: the host is off", c.host.Name)
	}
	if err := c.host.namespaces.enter(c.Cmd.Start); err != nil {
		return fmt.Errorf("%s on %s: %w", c.Path, c.host.Name, err)
	}
	cluster.running[c] = true
	return nil
}

// Wait waits for the end of the started command. See [exec.Cmd.Wait]. Further
// calls return the same.
func (c *Cmd) Wait() error {
	c.wait.Do(func() {
		c.waitErr = c.Cmd.Wait()
		cluster := c.host.cluster
		cluster.mu.Lock()
		defer cluster.mu.Unlock()
		delete(cluster.running, c)
	})
	return c.waitErr
}

// Run starts the command and waits for its end. See [exec.Cmd.Run].
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns its standard output. See
// [exec.Cmd.Output].
func (c *Cmd) Output() ([]byte, error) {
	var stdout, stderr bytes.Buffer
	c.Stdout = &stdout
	if c.Stderr == nil {
		c.Stderr = &stderr
	}
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		exit.Stderr = stderr.Bytes()
	}
	return stdout.Bytes(), err
}

// CombinedOutput runs the command and returns its standard output and error as
// they came. See [exec.Cmd.CombinedOutput].
func (c *Cmd) CombinedOutput() ([]byte, error) {
	var both bytes.Buffer
	c.Stdout, c.Stderr = &both, &both
	err := c.Run()
	return both.Bytes(), err
}
