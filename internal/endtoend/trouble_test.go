//go:build linux

package endtoend

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// as runs a script on a host as root.
func as(t *testing.T, h *cluster.Host, script string) {
	t.Helper()
	_, err := h.Run(context.Background(), cluster.Root, "sh", "-c", script)
	require.NoError(t, err)
}

// on runs a job on one host and returns how it ended.
func on(t *testing.T, c *cluster.Cluster, h *cluster.Host, args ...string) (status int, stderr string) {
	t.Helper()
	j := &job{}
	j.Cmd = c.Command(context.Background(), filepath.Join(c.Dir, "gorun"), append([]string{"-H", h.Name, "-F", c.SSHConfig}, args...)...)
	j.Cmd.Dir = c.Dir
	j.Cmd.Stdout, j.Cmd.Stderr = &j.stdout, &j.stderr
	require.NoError(t, j.Start())
	return j.status(t), j.stderr.String()
}

// fill leaves no room in a folder of a host.
func fill(t *testing.T, h *cluster.Host, folder string) {
	t.Helper()
	as(t, h, fmt.Sprintf("head -c 1M /dev/zero >%s/full 2>/dev/null; test -s %[1]s/full", folder))
}

const small = 64 << 10 // bytes of a folder that is soon full

func TestHostsWithoutRoomOrRights(t *testing.T) {
	c := stage(t, cluster.Config{Variants: []cluster.Variant{
		{Size: map[string]int64{"/dev/shm": small}},
		{NoHome: true, NoExec: []string{"/var/tmp"}, Size: map[string]int64{"/dev/shm": small}},
		{},
		{NoHome: true, NoExec: []string{"/var/tmp"}, Size: map[string]int64{"/tmp": small}},
		{Size: map[string]int64{"/dev/shm": small, "/tmp": small, "/var/tmp": small, "/home": 64 << 20}},
	}, Slots: 1})
	shm, homeless, foreign, nowhere, stuffed := c.Hosts[0], c.Hosts[1], c.Hosts[2], c.Hosts[3], c.Hosts[4]
	fill(t, shm, "/dev/shm")
	fill(t, homeless, "/dev/shm")
	as(t, foreign, "mkdir -m 700 /home/gorun/.cache /home/gorun/.cache/gorun")
	as(t, nowhere, "mkdir -m 700 /dev/shm/gorun-4242")
	fill(t, nowhere, "/tmp")

	for h, folder := range map[*cluster.Host]string{
		shm: shm.Cache + "/gorun", homeless: "/tmp/gorun-4242", foreign: "/var/tmp/gorun-4242",
	} {
		t.Run("the next folder is used on "+h.Name, func(t *testing.T) {
			status, stderr := on(t, c, h, "--stage", "./hello")
			require.Zero(t, status, "%s", stderr)
			require.NotContains(t, stderr, "no folder can hold")
			files, err := h.Files(folder)
			require.NoError(t, err)
			require.NotEmpty(t, files, "%s", folder)
		})
	}
	t.Run("no folder can keep the agent", func(t *testing.T) {
		status, stderr := on(t, c, nowhere, "true")
		require.Equal(t, 125, status, "%s", stderr)
		for _, said := range []string{
			nowhere.Name + ": ", "/home/gorun/.cache/gorun cannot be made", "/var/tmp/gorun-4242 is mounted noexec",
			"/tmp/gorun-4242 cannot be written", "/dev/shm/gorun-4242 belongs to somebody else",
		} {
			require.Contains(t, stderr, said)
		}
	})
	t.Run("no folder can keep the job's socket", func(t *testing.T) {
		status, stderr := on(t, c, stuffed, "true")
		require.Zero(t, status, "%s", stderr)
		for _, folder := range []string{"/dev/shm", "/tmp", "/var/tmp", "/home"} {
			as(t, stuffed, fmt.Sprintf("head -c 100M /dev/zero >%s/full 2>/dev/null; test -s %[1]s/full", folder))
		}
		status, stderr = on(t, c, stuffed, "true")
		require.Zero(t, status, "only what looks for it by its path needs it: %s", stderr)
		for _, said := range []string{"warning", stuffed.Name + ": ", "/dev/shm/gorun-4242", "/tmp/gorun-4242", "/var/tmp/gorun-4242", "/home/gorun/.cache/gorun", "no space left"} {
			require.Contains(t, stderr, said)
		}
	})
	requireClean(t, c)
}

func TestHostsThatCannotRunAgentsOrRanks(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 3, Slots: 1})
	login := func(h *cluster.Host, script string) { // before every command
		require.NoError(t, h.Root.WriteFile("home/gorun/.bashrc", []byte(script+"\n"), 0o644))
	}
	t.Run("another architecture", func(t *testing.T) {
		h := c.Hosts[0]
		as(t, h, "mkdir /home/gorun/bin && printf '#!/bin/sh\necho Linux riscv64\n' >/home/gorun/bin/uname && chmod 755 /home/gorun/bin /home/gorun/bin/uname")
		login(h, "PATH=/home/gorun/bin:$PATH")
		status, stderr := on(t, c, h, "true")
		require.Equal(t, 125, status, "%s", stderr)
		require.Contains(t, stderr, h.Name+": ")
		require.Contains(t, stderr, "linux/riscv64")
		require.Contains(t, stderr, "GOOS=linux GOARCH=riscv64 CGO_ENABLED=0 go build")
	})
	t.Run("no /proc", func(t *testing.T) {
		h := c.Hosts[1]
		as(t, h, "mount -t tmpfs none /proc")
		status, stderr := on(t, c, h, "true")
		as(t, h, "umount /proc")
		require.Equal(t, 125, status, "%s", stderr)
		require.Contains(t, stderr, h.Name+": ")
		require.Contains(t, stderr, "expected /proc")
	})
	t.Run("few processes", func(t *testing.T) {
		h := c.Hosts[2]
		status, stderr := on(t, c, h, "true") // which stores the agent
		require.Zero(t, status, "%s", stderr)
		for _, limit := range []int{1, 20, 100} {
			login(h, fmt.Sprint("ulimit -u ", limit))
			status, stderr := on(t, c, h, "--timeout", "30", "--oversubscribe", "-np", "200", "sleep", marker)
			require.Equal(t, 125, status, "%s", stderr)
			require.Contains(t, stderr, h.Name+": ")
			require.Contains(t, stderr, "ulimit -u", "limit %d", limit)
		}
		j := &job{}
		j.Cmd = c.Command(context.Background(), "bash", "-c", `ulimit -u 100; exec "$@"`, "bash",
			filepath.Join(c.Dir, "gorun"), "--timeout", "30", "--oversubscribe", "-np", "200", "sleep", marker)
		j.Cmd.Stderr = &j.stderr
		require.NoError(t, j.Start())
		require.Equal(t, 125, j.status(t), "%s", &j.stderr)
		require.Contains(t, j.stderr.String(), c.Head.Name+": ")
		require.Contains(t, j.stderr.String(), "ulimit -u")
	})
	requireClean(t, c)
}
