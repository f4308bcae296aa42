//go:build linux

package cluster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorun/gorun/internal/testhost/cluster"
	"github.com/stretchr/testify/require"
)

func TestConfigIsRefusedBeforeAnythingIsMade(t *testing.T) {
	for name, test := range map[string]struct {
		config cluster.Config
		want   []string // all of them
	}{
		"too many hosts":    {cluster.Config{Hosts: 201}, []string{"201 hosts: expected 0 to 200"}},
		"negative":          {cluster.Config{Hosts: -1}, []string{"expected 0 to 200"}},
		"relative share":    {cluster.Config{Share: []string{"x"}}, []string{`folder "x": expected an absolute path`}},
		"the whole machine": {cluster.Config{HeadShare: []string{"/"}}, []string{`folder "/": expected an absolute path below /`}},
		"root without home": {
			cluster.Config{Variants: []cluster.Variant{{Login: cluster.Root, NoHome: true}}},
			[]string{"node1: no home: expected the login of the ordinary user"},
		},
		"several at once": {
			cluster.Config{Variants: []cluster.Variant{
				{},
				{Login: "eve", Shell: "/nonexistent"},
				{NoExec: []string{"/usr"}, Size: map[string]int64{"/tmp": 0}},
			}},
			[]string{`node2: login "eve": expected gorun or root`, "shell: stat /nonexistent", `node3: noexec "/usr"`, `size 0 of "/tmp"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cluster.Start(t.Context(), test.config)
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestLoginByEveryName(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 4, Slots: 2})

	hostfile, err := os.ReadFile(c.Hostfile)
	require.NoError(t, err)
	require.Equal(t, "node1 slots=2\nnode2 slots=2\nnode3 slots=2\nnode4 slots=2\n", string(hostfile))

	for _, h := range append(c.Hosts, c.Head) {
		names := []string{h.Name, h.Addr.String()}
		if h.Addr6.IsValid() {
			names = append(names, h.Name+"-v6", h.Addr6.String())
		}
		for _, name := range names {
			if h == c.Head && name == h.Name {
				continue // its own name means the loopback, whose key ssh does not know by that address
			}
			out, err := c.Command(t.Context(), "ssh", "-F", c.SSHConfig, name, "hostname; id -un; pwd").CombinedOutput()
			require.NoError(t, err, "%s: %s", name, out)
			require.Equal(t, h.Name+"\ngorun\n/home/gorun\n", string(out))
		}
	}

	// The homes have what ssh needs, so it works without -F and between hosts too.
	out, err := c.Hosts[0].Run(t.Context(), cluster.User, "ssh", "node2", "ssh node3 hostname")
	require.NoError(t, err)
	require.Equal(t, "node3\n", out)
	out, err = c.Head.Run(t.Context(), cluster.Root, "ssh", "node4", "id -un")
	require.NoError(t, err)
	require.Equal(t, "gorun\n", out)
}

func TestLoginGetsTerminal(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 1})
	out, err := c.Command(t.Context(), "ssh", "-tt", "node1", "tty").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "/dev/pts/0")
}

func TestOwnNameIsLoopbackAndPeersAreNot(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 2})
	lookup := func(h *cluster.Host, name string) string {
		out, err := h.Run(t.Context(), cluster.User, "getent", "ahostsv4", name)
		require.NoError(t, err)
		return strings.Fields(out)[0]
	}
	require.Equal(t, "127.0.1.1", lookup(c.Hosts[0], "node1"))
	require.Equal(t, c.Hosts[1].Addr.String(), lookup(c.Hosts[0], "node2"))
	require.Equal(t, c.Head.Addr.String(), lookup(c.Hosts[0], "head"))
	require.Equal(t, c.Hosts[0].Addr.String(), lookup(c.Head, "node1"))
}

func TestHostsAreSeparate(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 2})
	a, b := c.Hosts[0], c.Hosts[1]

	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/home/gorun", "/home/gorun/.cache"} {
		t.Run("folder "+dir, func(t *testing.T) {
			name := filepath.Join(dir, "only-on-node1")
			_, err := a.Run(t.Context(), cluster.User, "sh", "-c", "mkdir -p "+dir+" && echo x >"+name)
			require.NoError(t, err)
			require.NoFileExists(t, name)
			files, err := b.Files(dir)
			require.NoError(t, err)
			require.NotContains(t, files, name)
			files, err = a.Files(dir)
			require.NoError(t, err)
			require.Contains(t, files, name)
		})
	}
	t.Run("interfaces", func(t *testing.T) {
		out, err := a.Run(t.Context(), cluster.User, "ls", "/sys/class/net")
		require.NoError(t, err)
		require.Equal(t, []string{"eth0", "lo"}, strings.Fields(out))
	})
	t.Run("shared memory of System V", func(t *testing.T) {
		_, err := a.Run(t.Context(), cluster.User, "ipcmk", "-M", "4096")
		require.NoError(t, err)
		lines := func(h *cluster.Host) int {
			data, err := h.Run(t.Context(), cluster.User, "cat", "/proc/sysvipc/shm")
			require.NoError(t, err)
			return strings.Count(data, "\n")
		}
		require.Equal(t, 2, lines(a))
		require.Equal(t, 1, lines(b))
	})
	t.Run("the machine is read-only to root", func(t *testing.T) {
		_, err := a.Run(t.Context(), cluster.Root, "touch", "/usr/only-on-node1")
		require.ErrorContains(t, err, "Read-only file system")
	})
}

func TestFoldersOfTheMachine(t *testing.T) {
	shared := t.TempDir()
	require.NoError(t, os.Chmod(shared, 0o777))
	c := cluster.New(t, cluster.Config{Hosts: 1, Share: []string{shared}})
	node := c.Hosts[0]

	_, err := node.Run(t.Context(), cluster.User, "sh", "-c", "echo from node1 >"+shared+"/x")
	require.NoError(t, err)
	out, err := c.Command(t.Context(), "cat", shared+"/x").Output()
	require.NoError(t, err)
	require.Equal(t, "from node1\n", string(out))
	require.FileExists(t, shared+"/x")

	require.NoError(t, os.WriteFile(c.Dir+"/program", []byte("#!/bin/sh\necho runs\n"), 0o755))
	out, err = c.Command(t.Context(), c.Dir+"/program").Output()
	require.NoError(t, err)
	require.Equal(t, "runs\n", string(out))
	_, err = node.Run(t.Context(), cluster.User, c.Dir+"/program")
	require.ErrorIs(t, err, os.ErrNotExist, "only the head sees the cluster's folder")

	for _, h := range []*cluster.Host{c.Head, node} {
		files, err := h.Files()
		require.NoError(t, err)
		require.Empty(t, files, "shared folders are not the host's own")
	}
}

func TestVariants(t *testing.T) {
	if _, err := os.Stat("/bin/tcsh"); err != nil {
		t.Skip(err)
	}
	variants := append(cluster.Varied(), cluster.Variant{
		Size: map[string]int64{"/dev/shm": 64 << 10},
		SSHD: "Banner /etc/hostname",
	})
	c := cluster.New(t, cluster.Config{Variants: variants})
	require.Len(t, c.Hosts, len(variants))
	asRoot, noHome, noExec, csh, small := c.Hosts[0], c.Hosts[1], c.Hosts[2], c.Hosts[3], c.Hosts[4]
	login := func(h *cluster.Host, command string) (string, error) {
		out, err := c.Command(t.Context(), "ssh", h.Name, command).CombinedOutput()
		return string(out), err
	}

	out, err := login(asRoot, "id -un; echo $HOME")
	require.NoError(t, err, out)
	require.Equal(t, "root\n/root\n", out)
	refusal, err := c.Command(t.Context(), "ssh", "-l", cluster.User, asRoot.Name, "true").CombinedOutput()
	require.Error(t, err, "only the login user is admitted")
	require.Contains(t, string(refusal), "Permission denied")

	out, err = login(noHome, "pwd; mkdir -p $HOME")
	require.Error(t, err)
	require.Contains(t, strings.Split(out, "\n"), "/")
	require.Contains(t, out, "cannot create directory")

	out, err = login(noExec, "cp /bin/true /tmp/x && /tmp/x")
	require.Error(t, err)
	require.Contains(t, out, "Permission denied")
	out, err = login(noExec, "cp /bin/true /dev/shm/x && /dev/shm/x")
	require.NoError(t, err, out)

	out, err = login(csh, "setenv A b; echo $A $shell")
	require.NoError(t, err, out)
	require.Equal(t, "b /bin/tcsh\n", out)

	out, err = login(small, "head -c 100000 /dev/zero >/dev/shm/x")
	require.Error(t, err)
	require.Contains(t, out, "No space left on device")
	require.Contains(t, out, "node5\n", "sshd shows the banner its configuration names")
}
