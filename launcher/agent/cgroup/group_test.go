//go:build linux

package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parent makes a group for a test to make others in, or skips.
func parent(t *testing.T) string {
	t.Helper()
	top := Locate().Mount
	if top == "" || os.Getuid() != 0 || os.Getenv("GORUN_TEST_FULL") == "" {
		t.Skip("needs GORUN_TEST_FULL=1, root, and control groups of version 2")
	}
	path := filepath.Join(top, fmt.Sprintf("gorun-test-%d", os.Getpid()))
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Skipf("no group can be made here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, remove(path)) })
	if _, err := os.Stat(filepath.Join(path, "cgroup.kill")); err != nil {
		t.Skipf("the kernel does not kill groups: %v", err)
	}
	return path
}

func TestAGroupDiesAsAWhole(t *testing.T) {
	g, err := New(parent(t), "gorun-test-kill")
	require.NoError(t, err)
	cmd := exec.Command("sh", "-c", `trap "" TERM HUP; env -i setsid sh -c 'trap "" TERM; sleep 60 & wait' & wait`)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	require.NoError(t, cmd.Start())
	found := Find("gorun-test-kill")
	require.Len(t, found, 1)
	require.Equal(t, g.Path(), found[0].Path())
	owner, err := found[0].Owner()
	require.NoError(t, err)
	require.Zero(t, owner)
	require.Eventually(t, func() bool { return len(found[0].Processes()) == 3 }, 10*time.Second, time.Millisecond)
	require.Error(t, remove(g.Path()), "it is not empty")
	require.NoError(t, g.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return len(found[0].Processes()) == 0 }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return remove(g.Path()) == nil }, 10*time.Second, time.Millisecond)
	require.NoError(t, g.Remove(), "who is gone need not be removed")
	require.Empty(t, Find("gorun-test-kill"))
}

func TestGroupsThatCannotBe(t *testing.T) {
	t.Run("where no hierarchy is visible", func(t *testing.T) {
		_, err := New("", "g")
		require.ErrorContains(t, err, "version 2")
	})
	t.Run("in a folder that is no group", func(t *testing.T) {
		_, err := New(t.TempDir(), "g")
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("in the root of the hierarchy", func(t *testing.T) {
		parent(t)
		_, err := New(Locate().Mount, "gorun-test-root")
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("twice", func(t *testing.T) {
		in := parent(t)
		g, err := New(in, "g")
		require.NoError(t, err)
		_, err = New(in, "g")
		require.ErrorIs(t, err, os.ErrExist)
		require.NoError(t, g.Remove())
	})
}

func TestOOMKills(t *testing.T) {
	dir := t.TempDir()
	v2, v1 := filepath.Join(dir, "v2"), filepath.Join(dir, "v1")
	require.NoError(t, os.Mkdir(v2, 0o755))
	require.NoError(t, os.Mkdir(v1, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(v2, "memory.events"), []byte("low 0\noom 9\noom_kill 2\noom_group_kill 0\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(v1, "memory.oom_control"), []byte("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 0o644))
	for name, c := range map[string]struct {
		f    Folders
		want int
		ok   bool
	}{
		"version 2":                        {Folders{Unified: v2, Memory: v1}, 2, true},
		"version 1":                        {Folders{Memory: v1}, 3, true},
		"version 2 without the controller": {Folders{Unified: dir, Memory: v1}, 3, true},
		"none":                             {Folders{Unified: dir}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			n, ok := c.f.OOMKills()
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.want, n)
		})
	}
	_, ok := HostOOMKills()
	require.True(t, ok)
}
