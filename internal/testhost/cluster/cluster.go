//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// MaxHosts bounds [Config.Hosts]: with the head, all fit in [Subnet].
const MaxHosts = 200

// Config says what cluster to make. The zero value is a head and no other host.
type Config struct {
	// Hosts is the number of hosts besides the head, at most MaxHosts. They are
	// called node1, node2, …. If there are more Variants than that, their number
	// counts.
	Hosts int

	// Variants says how hosts differ from a plain one: Variants[0] is for node1
	// and so on. Hosts beyond its end are plain.
	Variants []Variant

	// Slots, if positive, is written behind every host in the hostfile.
	Slots int

	// Dir is a folder for the cluster's files (hostfile, SSH configuration, key).
	// The head sees it under the same path and the ordinary user owns it, so
	// programs to run on the head are put there. Empty: a temporary folder, which
	// Close removes.
	Dir string

	// Share lists absolute paths of the machine's folders that all hosts, head
	// included, see under the same path and may write, as on a network file
	// system.
	Share []string

	// HeadShare lists folders that only the head sees like that, besides Dir.
	HeadShare []string
}

// validate returns all that is wrong with the configuration.
func (c *Config) validate() error {
	var problems []error
	if c.Hosts < 0 || max(c.Hosts, len(c.Variants)) > MaxHosts {
		problems = append(problems, fmt.Errorf("%d hosts: expected 0 to %d", max(c.Hosts, len(c.Variants)), MaxHosts))
	}
	for i, v := range c.Variants {
		if err := v.validate(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", nodeName(i+1), err))
		}
	}
	for _, dir := range slices.Concat([]string{c.Dir}, c.Share, c.HeadShare) {
		if dir != "" && (!filepath.IsAbs(dir) || filepath.Clean(dir) == "/") {
			problems = append(problems, fmt.Errorf("folder %q: expected an absolute path below /", dir))
		}
	}
	return errors.Join(problems...)
}

// A Cluster is a set of running test hosts.
type Cluster struct {
	// Head is the host where users sit and launchers run.
	Head *Host
	// Hosts are the others: node1, node2, ….
	Hosts []*Host

	// Dir is the folder that only the head shares with the machine, under the
	// same path on both. The ordinary user owns it.
	Dir string
	// Hostfile is the path, in Dir, of a file with one line for each of Hosts.
	Hostfile string
	// SSHConfig is the path, in Dir, of a configuration for ssh -F. It names the
	// login user of each host, the key and the hosts' keys. The same is in
	// ~/.ssh/config of both users on the head and of the login user elsewhere.
	SSHConfig string

	ownDir      bool // Close removes Dir
	network     *network
	credentials *credentials

	mu         sync.Mutex
	running    map[*Cmd]bool     // started and not yet waited for
	blackholes map[[2]*Host]bool // routes that discard: from the first to the second
}

// Start makes a cluster and returns when all hosts can be logged in to. The context bounds
// only that. The caller must Close the cluster.
func Start(ctx context.Context, config Config) (_ *Cluster, err error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	c := &Cluster{
		Dir:        config.Dir,
		running:    make(map[*Cmd]bool),
		blackholes: make(map[[2]*Host]bool),
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("cluster: %w", err), c.Close())
		}
	}()

	c.Dir = filepath.Clean(c.Dir)
	if config.Dir == "" {
		if c.Dir, err = os.MkdirTemp("", "testhost-"); err != nil {
			return nil, err
		}
		c.ownDir = true
	}
	c.Hostfile = filepath.Join(c.Dir, "hostfile")
	c.SSHConfig = filepath.Join(c.Dir, "ssh_config")
	if c.network, err = newNetwork(); err != nil {
		return nil, err
	}

	c.Head = newHost(c, 0, "head", Variant{}, slices.Concat([]string{c.Dir}, config.Share, config.HeadShare))
	for i := range max(config.Hosts, len(config.Variants)) {
		var v Variant
		if i < len(config.Variants) {
			v = config.Variants[i]
		}
		c.Hosts = append(c.Hosts, newHost(c, i+1, nodeName(i+1), v, config.Share))
	}
	if c.credentials, err = newCredentials(c); err != nil {
		return nil, err
	}
	if err := c.writeDir(config.Slots); err != nil {
		return nil, err
	}

	for _, h := range c.all() {
		if err := h.boot(); err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	for _, h := range c.all() {
		if err := h.awaitReady(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	if err := c.network.connect(c.all()); err != nil {
		return nil, err
	}
	return c, nil
}

// Close ends every host and whatever runs there, waits until all is gone, and
// removes Dir if the cluster made it. Commands that nobody waited for are
// waited for.
func (c *Cluster) Close() error {
	var problems []error
	for _, h := range c.all() {
		problems = append(problems, h.halt())
	}
	// A process namespace ends only when its last process has been waited for,
	// and the commands are children of this process, not of the host's first one.
	c.mu.Lock()
	var left []*Cmd
	for cmd := range c.running {
		left = append(left, cmd)
	}
	c.mu.Unlock()
	for _, cmd := range left {
		cmd.Wait() // it was killed; its status is of no interest
	}
	for _, h := range c.all() {
		problems = append(problems, h.release())
	}
	if c.network != nil {
		problems = append(problems, c.network.close())
	}
	if c.ownDir {
		problems = append(problems, os.RemoveAll(c.Dir))
	}
	return errors.Join(problems...)
}

// Command returns a command that will run on the head as the ordinary user. See
// [Host.Command].
func (c *Cluster) Command(ctx context.Context, name string, args ...string) *Cmd {
	return c.Head.Command(ctx, User, name, args...)
}

// all returns the head and the hosts, in the order of their addresses.
func (c *Cluster) all() []*Host {
	if c.Head == nil {
		return nil
	}
	return append([]*Host{c.Head}, c.Hosts...)
}

// writeDir fills Dir and gives it to the ordinary user.
func (c *Cluster) writeDir(slots int) error {
	var hostfile strings.Builder
	for _, h := range c.Hosts {
		hostfile.WriteString(h.Name)
		if slots > 0 {
			fmt.Fprintf(&hostfile, " slots=%d", slots)
		}
		hostfile.WriteByte('\n')
	}
	files := c.credentials.clientFiles(c.Dir)
	for name, data := range map[string]string{
		c.Hostfile:                          hostfile.String(),
		c.SSHConfig:                         files.config,
		filepath.Join(c.Dir, "known_hosts"): files.knownHosts,
		filepath.Join(c.Dir, keyName):       files.key,
	} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			return err
		}
		if err := os.Chown(name, UID, UID); err != nil {
			return err
		}
	}
	return os.Chown(c.Dir, UID, UID)
}

func nodeName(i int) string { return fmt.Sprintf("node%d", i) }
