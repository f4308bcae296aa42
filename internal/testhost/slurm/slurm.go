//go:build linux

package slurm

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// Config says what cluster to make.
type Config struct {
	Nodes int // besides the head, which is none; at least 1
	CPUs  int // that each node claims to have; 0: 2
	GPUs  int // likewise
}

// Cluster is a running Slurm.
type Cluster struct {
	*cluster.Cluster
	config Config

	mu  sync.Mutex
	log bytes.Buffer // what all daemons said
}

// bootTimeout bounds the start of the daemons, which takes about two seconds.
const bootTimeout = time.Minute

// programs are what is needed besides test hosts.
var programs = []string{"munged", "slurmctld", "slurmd", "srun", "salloc", "scancel", "sinfo"}

// New starts a cluster for a test, which ends with it. It skips the test where
// package cluster would, or where Slurm is not installed, and says why.
func New(t testing.TB, config Config) *Cluster {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("Slurm: %v", err)
		}
	}
	s := &Cluster{Cluster: cluster.New(t, cluster.Config{Hosts: config.Nodes}), config: config}
	if s.config.CPUs == 0 {
		s.config.CPUs = 2
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Slurm:\n%s", s.Log())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), bootTimeout)
	defer cancel()
	if err := s.start(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts the daemons and waits until every node is idle.
func (s *Cluster) start(ctx context.Context) error {
	key := make([]byte, 128)
	rand.Read(key)
	for _, h := range append([]*cluster.Host{s.Head}, s.Hosts...) {
		if err := s.writeFiles(h, key); err != nil {
			return fmt.Errorf("slurm on %s: %w", h.Name, err)
		}
		if err := s.daemon(h, "munged", "--foreground", "--key-file="+mungeKey,
			"--pid-file="+folder+"/munged.pid", "--log-file="+folder+"/munged.log", "--seed-file="+folder+"/munged.seed"); err != nil {
			return err
		}
	}
	if err := s.daemon(s.Head, "slurmctld", "-D", "-f", Conf); err != nil {
		return err
	}
	for _, h := range s.Hosts {
		if err := s.daemon(h, "slurmd", "-D", "-f", Conf); err != nil {
			return err
		}
	}
	idle := strings.Repeat("idle\n", len(s.Hosts))
	for {
		states, err := s.Command(ctx, "sinfo", "--noheader", "--Node", "--format=%T").Output()
		if err == nil && string(states) == idle {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("slurm: the nodes are %q: %w", states, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// daemon starts a daemon as root, which ends with its host.
func (s *Cluster) daemon(h *cluster.Host, name string, args ...string) error {
	cmd := h.Command(context.Background(), cluster.Root, name, args...)
	cmd.Env = append(cmd.Env, "SLURM_CONF="+Conf)
	cmd.Stdout = &daemonLog{s, h.Name + " " + name}
	cmd.Stderr = cmd.Stdout
	return cmd.Start()
}

// Command returns a command that the ordinary user will run on the head, where
// Slurm's programs find their configuration.
func (s *Cluster) Command(ctx context.Context, name string, args ...string) *cluster.Cmd {
	cmd := s.Cluster.Command(ctx, name, args...)
	cmd.Env = append(cmd.Env, "SLURM_CONF="+Conf)
	return cmd
}

// Log returns what the daemons have said so far.
func (s *Cluster) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// daemonLog takes what one daemon says.
type daemonLog struct {
	s    *Cluster
	from string
}

func (l *daemonLog) Write(p []byte) (int, error) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	for said := range strings.Lines(string(p)) {
		fmt.Fprintf(&l.s.log, "%s: %s", l.from, said)
	}
	return len(p), nil
}
