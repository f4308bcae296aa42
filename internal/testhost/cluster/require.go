//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// bootTimeout bounds the start of a cluster in tests. Four hosts take less than
// a second; a machine that is busy with other packages' tests takes longer.
const bootTimeout = time.Minute

// New makes a cluster for a test and closes it at the test's end. It skips the
// test if GORUN_TEST_FULL is not 1 or this machine cannot have test hosts, and
// says why. If the test fails, it logs what the hosts' sshd said.
func New(t testing.TB, config Config) *Cluster {
	t.Helper()
	if os.Getenv("GORUN_TEST_FULL") != "1" {
		t.Skip("test hosts are made with GORUN_TEST_FULL=1 only")
	}
	if err := available(config); err != nil {
		t.Skipf("test hosts: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bootTimeout)
	defer cancel()
	c, err := Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		for _, h := range c.all() {
			if t.Failed() {
				t.Logf("sshd on %s:\n%s", h.Name, h.Log())
			}
		}
	})
	return c
}

// Need skips the test, saying why, unless this machine has the features.
func Need(t testing.TB, features ...*Feature) {
	t.Helper()
	for _, f := range features {
		if err := f.Err(); err != nil {
			t.Skip(err)
		}
	}
}

// available returns all that this machine lacks for the cluster.
func available(config Config) error {
	if os.Geteuid() != 0 {
		return errors.New("only root can make them")
	}
	var problems []error
	for _, name := range []string{"ip", "tc", "nft", "ssh", "sshd"} {
		if _, err := exec.LookPath(name); err != nil {
			problems = append(problems, err)
		}
	}
	for _, v := range config.Variants {
		if v.Shell != "" {
			if _, err := exec.LookPath(v.Shell); err != nil {
				problems = append(problems, err)
			}
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	n, err := newNetwork()
	if err != nil {
		return fmt.Errorf("no right to make namespaces: %w", err)
	}
	return n.close()
}
