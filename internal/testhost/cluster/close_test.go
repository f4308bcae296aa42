//go:build linux

package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorun/gorun/internal/testhost/cluster"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A trace is what a cluster could leave on the machine.
type trace struct {
	interfaces []string
	mounts     string
	children   []int
	held       []string // namespaces that this process holds open
}

func traces(t *testing.T) trace {
	var found trace
	interfaces, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range interfaces {
		found.interfaces = append(found.interfaces, i.Name)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	found.mounts = string(mounts)
	found.children = children(t, os.Getpid())
	files, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.Contains(target, ":[") && !strings.HasPrefix(target, "pipe:") && !strings.HasPrefix(target, "socket:") {
			found.held = append(found.held, target)
		}
	}
	return found
}

// children returns the children of a process.
func children(t *testing.T, pid int) []int {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	var all []int
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if os.IsNotExist(err) {
			continue // a thread that ended meanwhile
		}
		require.NoError(t, err)
		for _, field := range strings.Fields(string(data)) {
			child, err := strconv.Atoi(field)
			require.NoError(t, err)
			all = append(all, child)
		}
	}
	return all
}

// membersOf returns the processes of the machine that are in the namespaces,
// given as links of /proc/PID/ns.
func membersOf(t *testing.T, namespaces []string) []string {
	links, err := filepath.Glob("/proc/[0-9]*/ns/*")
	require.NoError(t, err)
	var members []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && slices.Contains(namespaces, target) {
			members = append(members, link)
		}
	}
	return members
}

func TestCloseLeavesNothing(t *testing.T) {
	cluster.New(t, cluster.Config{}) // skips where there are no test hosts, and stays meanwhile
	before := traces(t)

	c, err := cluster.Start(t.Context(), cluster.Config{Hosts: 4})
	require.NoError(t, err)
	var namespaces []string
	for _, h := range c.Hosts {
		out, err := h.Run(t.Context(), cluster.User, "sh", "-c", "for n in net uts ipc pid mnt; do readlink /proc/self/ns/$n; done")
		require.NoError(t, err)
		namespaces = append(namespaces, strings.Fields(out)...)
	}
	require.NotEmpty(t, membersOf(t, namespaces))

	// Whatever state it is in: orphans, commands nobody waits for, a delayed link,
	// a host that is off.
	out, err := c.Command(t.Context(), "ssh", "node1", "trap '' TERM HUP; setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo started").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := c.Hosts[1].Command(context.Background(), cluster.Root, "sleep", "1000")
	require.NoError(t, cmd.Start())
	if cluster.Delaying.Err() == nil {
		require.NoError(t, c.Hosts[2].Delay(time.Millisecond))
	}
	require.NoError(t, c.Hosts[3].PowerOff())

	during := traces(t)
	require.Equal(t, before.interfaces, during.interfaces, "the machine sees nothing of a cluster")
	require.Equal(t, before.mounts, during.mounts, "the machine sees nothing of a cluster")

	require.NoError(t, c.Close())
	require.ErrorContains(t, cmd.Wait(), "signal: killed")
	require.Equal(t, before, traces(t))
	require.Empty(t, membersOf(t, namespaces))
	require.NoDirExists(t, c.Dir)
}

// hold makes a cluster, says so, and keeps it until it is killed.
func hold() int {
	c, err := cluster.Start(context.Background(), cluster.Config{Hosts: 2, Dir: os.Getenv(holdVariable)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("holding")
	io.Copy(io.Discard, os.Stdin)
	c.Close()
	return 0
}

func TestKilledProcessLeavesNothing(t *testing.T) {
	cluster.New(t, cluster.Config{}) // skips where there are no test hosts
	holder := exec.CommandContext(t.Context(), "/proc/self/exe")
	holder.Env = append(os.Environ(), holdVariable+"="+t.TempDir())
	holder.Stderr = os.Stderr
	stdin, err := holder.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "holding\n", line)

	hosts := children(t, holder.Process.Pid)
	require.Len(t, hosts, 3)
	var ends []unix.PollFd
	for _, pid := range hosts {
		fd, err := unix.PidfdOpen(pid, 0)
		require.NoError(t, err)
		defer unix.Close(fd)
		ends = append(ends, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	require.NoError(t, holder.Process.Signal(syscall.SIGKILL))
	require.ErrorContains(t, holder.Wait(), "signal: killed")
	for i := range ends { // a pidfd is readable when its process has ended
		require.Eventually(t, func() bool {
			n, err := unix.Poll(ends[i:i+1], 0)
			return err == nil && n == 1
		}, patience, 10*time.Millisecond)
	}
}

func TestPowerOff(t *testing.T) {
	c := cluster.New(t, cluster.Config{Hosts: 2})
	a, b := c.Hosts[0], c.Hosts[1]
	listener, err := a.Listen(t.Context(), "tcp", netip.AddrPortFrom(a.Addr, 0).String())
	require.NoError(t, err)
	defer listener.Close()
	out, err := c.Command(t.Context(), "ssh", "node1", "true").CombinedOutput()
	require.NoError(t, err, "%s", out)

	require.NoError(t, a.PowerOff())
	_, err = a.Run(t.Context(), cluster.User, "true")
	require.ErrorContains(t, err, "the host is off")
	require.Error(t, c.Command(t.Context(), "ssh", "-o", "ConnectTimeout=1", "node1", "true").Run())
	_, err = b.Run(t.Context(), cluster.User, "true")
	require.NoError(t, err)
}
