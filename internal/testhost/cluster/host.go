//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"strconv"
	"syscall"
)

// A Host is one machine of a cluster. Its methods may be called concurrently, but
// for those that disturb and heal its link.
type Host struct {
	// Name is its host name: head, node1, node2, ….
	Name string
	// Addr is its address within Subnet, Addr6 the one within Subnet6; the latter
	// is invalid if the kernel has no IPv6. Name-v6 resolves to Addr6.
	Addr, Addr6 netip.Addr
	// Login is the user whom sshd admits: User or Root.
	Login string
	// Shell is the login shell of both users.
	Shell string
	// Home is the login user's home, whether it exists or not.
	Home string
	// Cache is where the login user's programs cache files by custom: Home/.cache.
	Cache string
	// Root is the host's file system as the host sees it, for reading and writing
	// from outside. Names are relative ("tmp/x"). Links to absolute names are
	// refused, since outside they mean another file. It is closed by Close.
	Root *os.Root

	cluster    *Cluster
	index      int // place in Cluster.all, from which addresses and names come
	variant    Variant
	share      []string // folders of the machine that it sees
	namespaces namespaces
	network    namespaces // the first of namespaces alone

	first *exec.Cmd // the host's first process, which ends when its stdin does
	log   *bootLog
	ended chan struct{} // closed when the first process was waited for
	off   bool          // halted; guarded by cluster.mu

	relay *relay // while delayed
}

func newHost(c *Cluster, index int, name string, v Variant, share []string) *Host {
	h := &Host{
		Name:    name,
		Addr:    hostAddr(Subnet, index),
		Login:   User,
		Shell:   "/bin/bash",
		cluster: c,
		index:   index,
		variant: v,
		share:   share,
	}
	if c.network.ipv6 {
		h.Addr6 = hostAddr(Subnet6, index)
	}
	if v.Login != "" {
		h.Login = v.Login
	}
	if v.Shell != "" {
		h.Shell = v.Shell
	}
	login, _ := h.account(h.Login) // validated
	h.Home = login.home
	h.Cache = path.Join(h.Home, ".cache")
	return h
}

// boot starts the host's first process. The host is usable after awaitReady.
func (h *Host) boot() error {
	settings, err := json.Marshal(h.settings())
	if err != nil {
		return err
	}
	h.log = newBootLog(h.cluster.network.families())
	h.first = &exec.Cmd{
		Path:   "/proc/self/exe",
		Args:   []string{firstProcess},
		Env:    []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		Dir:    "/",
		Stderr: h.log,
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC |
				syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
			Setsid: true, // the terminal's interrupts are for the commands
		},
	}
	stdin, err := h.first.StdinPipe()
	if err != nil {
		return err
	}
	if err := h.first.Start(); err != nil {
		return fmt.Errorf("start in new namespaces: %w", err)
	}
	h.ended = make(chan struct{})
	go func() { // ends with the process; halt kills it and release waits
		defer close(h.ended)
		h.first.Wait()
	}()
	if _, err := stdin.Write(settings); err != nil {
		return err
	}
	h.namespaces, err = openNamespaces(h.proc(), hostNamespaces...)
	if err != nil {
		return err
	}
	h.network = h.namespaces[:1]
	return nil
}

// awaitReady waits until sshd listens, by when everything but the link is there.
func (h *Host) awaitReady(ctx context.Context) (err error) {
	select {
	case <-h.log.ready:
		h.Root, err = os.OpenRoot(h.proc() + "/root")
		return err
	case <-h.ended:
		return fmt.Errorf("the host ended: %s", h.Log())
	case <-ctx.Done():
		return fmt.Errorf("sshd does not listen: %w: %s", ctx.Err(), h.Log())
	}
}

// Log returns what sshd has logged so far.
func (h *Host) Log() string { return h.log.String() }

// PowerOff ends the host as a power failure does: its peers get no packet from
// it, not even the ones that close connections. It cannot be switched on again.
func (h *Host) PowerOff() error {
	if err := h.Cut(); err != nil {
		return err
	}
	// This cannot wait for the first process: it ends after the host's commands
	// have been waited for, which is up to those who started them.
	return h.halt()
}

// halt kills the first process and with it all others of the host.
func (h *Host) halt() error {
	h.cluster.mu.Lock()
	defer h.cluster.mu.Unlock()
	if h.off || h.ended == nil {
		return nil
	}
	h.off = true
	err := h.first.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// release waits for the end of a halted host and frees what this process holds
// of it.
func (h *Host) release() error {
	var problems []error
	if h.ended != nil {
		<-h.ended
	}
	if h.relay != nil {
		problems = append(problems, h.relay.close())
		h.relay = nil
	}
	if h.Root != nil {
		problems = append(problems, h.Root.Close())
	}
	return errors.Join(append(problems, h.namespaces.close())...)
}

// proc is the folder of the first process as seen from outside.
func (h *Host) proc() string { return "/proc/" + strconv.Itoa(h.first.Process.Pid) }
