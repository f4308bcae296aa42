//go:build linux

package cgroup

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocate(t *testing.T) {
	const (
		pure   = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid = "31 23 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n" +
			"32 31 0:29 / /sys/fs/cgroup/unified rw shared:4 master:2 - cgroup2 cgroup2 rw\n" +
			"33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
			"34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	)
	for name, c := range map[string]struct {
		groups, mounts string
		want           Folders
	}{
		"version 2 alone": {"0::/user.slice/user-1000.slice/session-3.scope\n", pure, Folders{
			Mount: "/sys/fs/cgroup", Unified: "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope"}},
		"both versions": {"5:memory:/a\n4:cpu,cpuacct:/b\n0::/c\n", hybrid, Folders{
			Mount: "/sys/fs/cgroup/unified", Unified: "/sys/fs/cgroup/unified/c", Memory: "/sys/fs/cgroup/memory/a"}},
		"version 1 alone": {"5:memory:/a\n1:name=systemd:/b\n", strings.ReplaceAll(hybrid, "cgroup2", "other"), Folders{
			Memory: "/sys/fs/cgroup/memory/a"}},
		"a container with a namespace": {"0::/\n", pure, Folders{
			Mount: "/sys/fs/cgroup", Unified: "/sys/fs/cgroup"}},
		"a container without": {"0::/docker/1f/task\n", "30 23 0:26 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup ro\n", Folders{
			Mount: "/sys/fs/cgroup", Unified: "/sys/fs/cgroup/task"}},
		"another part of the hierarchy is mounted": {"0::/docker/1ff\n", "30 23 0:26 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup ro\n", Folders{
			Mount: "/sys/fs/cgroup"}},
		"outside of the namespace": {"0::/../other\n", pure, Folders{Mount: "/sys/fs/cgroup"}},
		"mounted from outside of the namespace": {"0::/\n", strings.Replace(pure, " / ", " /.. ", 1), Folders{
			Mount: "/sys/fs/cgroup"}},
		"a mount point with a space": {"0::/a\n", `30 23 0:26 / /mnt/c\040g rw - cgroup2 cgroup2 rw` + "\n", Folders{
			Mount: "/mnt/c g", Unified: "/mnt/c g/a"}},
		"no control groups": {"", "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n", Folders{}},
		"cut lines":         {"0::", "30 23 0:26\n30 23 0:26 / /x rw -\n - cgroup2\n", Folders{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, locate(c.groups, c.mounts))
		})
	}
}

func FuzzLocate(f *testing.F) {
	f.Add("5:memory:/a\n0::/c d\n", `32 31 0:29 / /a\0401 rw shared:4 - cgroup2 cgroup2 rw`)
	f.Add("0::/../x\n", `32 31 0:29 /.. /a\04 rw - cgroup cgroup rw,memory`)
	f.Fuzz(func(t *testing.T, groups, mounts string) {
		found := locate(groups, mounts)
		if found.Unified != "" && strings.HasPrefix(found.Mount, "/") {
			require.True(t, found.Unified == path.Clean(found.Mount) || strings.HasPrefix(found.Unified, strings.TrimSuffix(path.Clean(found.Mount), "/")+"/"),
				"%q is not below %q", found.Unified, found.Mount)
		}
	})
}
