//go:build linux

package endtoend

import (
	"fmt"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// An old build on one host, and a configuration that only one has.
func TestHostsThatDifferAreNamed(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 3, Slots: 1})
	for i, h := range c.Hosts {
		build := fmt.Sprintf("#!/bin/sh\n# build %d\necho runs\n", min(i, 1))
		require.NoError(t, h.Root.WriteFile(path.Join(h.Home, "work")[1:], []byte(build), 0o755))
	}
	conf := path.Join(c.Hosts[2].Home, ".nccl.conf")[1:]
	require.NoError(t, c.Hosts[2].Root.WriteFile(conf, []byte("NCCL_IB_TC=106\n"), 0o644))
	args := []string{"-wd", c.Hosts[0].Home, "-x", "NCCL_DEBUG=WARN", "./work"}

	j := gorun(c, args...)
	require.NoError(t, j.Run(), "%s", &j.stderr)
	require.Equal(t, "runs\nruns\nruns\n", j.stdout.String())
	require.Regexp(t, `(?m)^gorun: warning: program \./work differs: node2, node3 [0-9a-f]{8}; node1 [0-9a-f]{8}$`, j.stderr.String())
	require.Regexp(t, `(?m)^gorun: warning: NCCL's configuration differs: node1, node2 without; node3 NCCL_IB_TC=106$`, j.stderr.String())

	j = gorun(c, append([]string{"--strict"}, args...)...)
	require.NoError(t, j.Start())
	require.Equal(t, 125, j.status(t), "%s", &j.stderr)
	require.Empty(t, j.stdout.String())
	require.Contains(t, j.stderr.String(), "differs: node2, node3 ")
	requireClean(t, c)

	// What is staged is the same everywhere.
	require.NoError(t, c.Hosts[2].Root.Remove(conf))
	run(t, c, "--strict", "-wd", "/", "--stage", "./hello")
}
