package launcher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/envvar"
	"github.com/gorun/gorun/rankenv"
)

func TestAMasterPortThatIsTakenIsToldBeforeRanksStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	require.NoError(t, err)
	defer l.Close()
	job, _ := hosts(t, []int{1, 1}, `exit 0`)
	job.MasterPort = l.Addr().(*net.TCPAddr).Port
	o := run(t, job)
	require.Equal(t, StatusFailed, o.Status)
	require.ErrorContains(t, o.err, fmt.Sprintf("%v is in use there (--master-port)", l.Addr()))
	var host *HostError
	require.ErrorAs(t, o.err, &host)
	require.Equal(t, "127.0.0.2", host.Host)
	require.Zero(t, countOf(o.events, RankStarted))

	l.Close()
	o = run(t, job)
	require.NoError(t, o.err)
}

// Rank 0 of the first job has not come to listen when the second looks.
func TestAMasterPortOfAnotherJobIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := make(chan struct{})
	first := sh(1, `exec sleep 60`)
	first.MasterPort = port
	first.Events = func(e Event) {
		if e.Kind == RankStarted {
			close(started)
		}
	}
	ended := start(t, ctx, first)
	<-started
	second := sh(1, `exit 0`)
	second.MasterPort = port
	require.ErrorContains(t, run(t, second).err, fmt.Sprintf("127.0.0.1:%d is in use there (--master-port)", port))
	cancel()
	<-ended
	require.NoError(t, run(t, second).err)
}

func TestJobsAtOnceMeetAtDifferentPorts(t *testing.T) {
	ports := map[string]bool{}
	var running []<-chan outcome
	for range 3 {
		running = append(running, start(t, t.Context(), sh(1, `echo $MASTER_PORT`)))
	}
	for _, done := range running {
		o := <-done
		require.NoError(t, o.err)
		ports[o.stdout] = true
	}
	require.Len(t, ports, 3)
}

func TestNCCLMeetsAtRank0AndAnswersOnEachHost(t *testing.T) {
	dir := t.TempDir()
	job, _ := hosts(t, []int{1, 2}, fmt.Sprintf(`cat /proc/self/environ > %s/$GORUN_RANK`, dir))
	job.Env.CommID = true
	require.NoError(t, run(t, job).err)
	ranks := blocks(t, dir, 3)
	id, err := netip.ParseAddrPort(ranks[0]["NCCL_COMM_ID"])
	require.NoError(t, err)
	require.Equal(t, ranks[0]["MASTER_ADDR"], id.Addr().String(), "where the others reach rank 0")
	require.NotEqual(t, ranks[0]["GORUN_MASTER"], id.String())
	for _, block := range ranks[1:] {
		require.Equal(t, id.String(), block["NCCL_COMM_ID"])
	}
	require.Equal(t, ranks[1]["NCCL_RAS_ADDR"], ranks[2]["NCCL_RAS_ADDR"], "one service for a host")
	// Both agents are on this machine, so their ports are different ones.
	require.NotEqual(t, ranks[0]["NCCL_RAS_ADDR"], ranks[1]["NCCL_RAS_ADDR"])
	require.Regexp(t, `^localhost:\d+$`, ranks[0]["NCCL_RAS_ADDR"])
}

func TestTheJobKeepsToItsPorts(t *testing.T) {
	job, _ := hosts(t, []int{1, 1}, `sed 1d /proc/net/tcp; echo $MASTER_PORT $GORUN_PORTS`)
	first := 12000 + 100*rand.IntN(180) // unlike that of another run of this test
	job.Ports = fmt.Sprintf("%d-%d", first, first+99)
	within := func(port int) bool { return port >= first && port <= first+99 }
	o := run(t, job)
	require.NoError(t, o.err)
	members := map[string]bool{} // hosts that listen in the range
	for _, line := range lines(o.stdout) {
		words := strings.Fields(line)
		var port int
		if len(words) == 2 {
			fmt.Sscan(words[0], &port)
			require.True(t, within(port), "MASTER_PORT=%d of %s", port, job.Ports)
			require.Equal(t, job.Ports, words[1])
			continue
		}
		host, hex, _ := strings.Cut(words[1], ":")
		fmt.Sscanf(hex, "%X", &port)
		const listening = "0A"
		if words[3] == listening && within(port) {
			members[host] = true
		}
	}
	require.Equal(t, map[string]bool{"0200007F": true, "0300007F": true}, members, "127.0.0.2 and .3, as the kernel writes them")
}

func TestAHostWithoutTheNetworkIsNamed(t *testing.T) {
	job, _ := hosts(t, []int{1, 1}, `exit 0`)
	job.Hosts[1].Iface = "nosuch0"
	o := run(t, job)
	require.Equal(t, StatusUsage, o.Status)
	require.ErrorContains(t, o.err, "127.0.0.3 has no interface nosuch0 (iface=); it has ")
	require.Zero(t, countOf(o.events, RankStarted))
}

// blocks returns the environments that ranks wrote, one to a file, by rank.
func blocks(t *testing.T, dir string, ranks int) []map[string]string {
	t.Helper()
	all := make([]map[string]string, ranks)
	for r := range all {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(r)))
		require.NoError(t, err)
		all[r] = map[string]string{}
		for entry := range strings.SplitSeq(strings.TrimSuffix(string(b), "\x00"), "\x00") {
			name, value, ok := strings.Cut(entry, "=")
			require.True(t, ok, "%q", entry)
			require.NotContains(t, all[r], name, "twice")
			all[r][name] = value
		}
	}
	return all
}

// openMPINames lead Open MPI to what the agent of a host has for it.
var openMPINames = []string{"FLUX_JOB_ID", "FLUX_PMI_LIBRARY_PATH", "OMPI_MCA_orte_tmpdir_base", "OMPI_MCA_btl_vader_backing_directory"}

func TestEnvironIsWhatARankGets(t *testing.T) {
	dir := t.TempDir()
	job, _ := hosts(t, []int{1, 2}, fmt.Sprintf(`cat /proc/self/environ > %s/$GORUN_RANK`, dir))
	job.Templates = true
	job.Env = Env{Set: []string{"OUT={rank}.log"}, CommID: true}
	require.NoError(t, run(t, job).err)
	got := blocks(t, dir, 3)[2]

	var events []Event
	job.Events = func(e Event) { events = append(events, e) }
	shown, err := Environ(t.Context(), job, 2)
	require.NoError(t, err)
	require.Zero(t, countOf(events, RankStarted))
	// What leads to files that the agent would make is not shown.
	require.Len(t, shown, len(got)-len(append([]string{"OMPI_MCA_btl_tcp_if_include"}, openMPINames...)))
	// Made anew for each run: the job's id, and ports that are free.
	anew := []string{"GORUN_JOB", "GORUN_JOB_PATH", "GORUN_SOCKET", "GORUN_MASTER", "MASTER_PORT",
		"JAX_COORDINATOR_ADDRESS", "OMPI_MCA_orte_hnp_uri", "PMI_PORT", "NCCL_RAS_ADDR", "NCCL_COMM_ID"}
	for _, entry := range shown {
		name, value, _ := strings.Cut(entry, "=")
		require.Contains(t, got, name)
		if !slices.Contains(anew, name) {
			require.Equal(t, got[name], value, name)
		}
	}
	require.Contains(t, shown, "OUT=2.log")
	require.NotContains(t, strings.Join(shown, "\n"), "KEY_FILE")

	_, err = Environ(t.Context(), job, 3)
	require.ErrorContains(t, err, "expected a rank from 0 to 2, found 3")
	require.Equal(t, StatusUsage, ExitStatus(err))
}

func TestRanksHereAndElsewhereGetTheSameBlock(t *testing.T) {
	// What a service manager starts may have no login at all.
	for _, name := range []string{"SHELL", "USER", "LOGNAME"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("SSH_TTY", "/dev/pts/7")
	t.Setenv("LIBS", "/launcher")
	t.Setenv("FORWARDED", "l1\nl2=\"'$x\xff")
	dir := t.TempDir()
	job, _ := hosts(t, []int{2}, fmt.Sprintf(`cat /proc/self/environ > %s/$GORUN_RANK`, dir))
	job.Hosts = slices.Insert(job.Hosts, 0, local(2))
	job.Env = Env{
		Set: []string{"J={\"a\": \"b\"}", "E=", "Q=a=b"}, Prepend: []string{"LIBS=/first"},
		Compat: allCompat,
	}
	o := run(t, job)
	require.NoError(t, o.err)
	ranks := blocks(t, dir, 4)

	// These differ from rank to rank, or are the host's.
	differ := []string{"GORUN_SOCKET", "GORUN_JOB_PATH", "GORUN_ADDR", "NCCL_RAS_ADDR", "PATH", "HOME", "USER", "LOGNAME", "SHELL"}
	for _, entry := range (rankenv.World{Rank: 1, Size: 4, LocalRank: 1, LocalSize: 2, Nodes: 2, Host: "h"}).Environ(append(slices.Clone(allCompat), rankenv.Gorun)...) {
		differ = append(differ, envvar.Name(entry))
	}
	differ = append(append(differ, "MV2_COMM_WORLD_LOCAL_RANK", "PMI_PORT", "PMI_ID"), openMPINames...)
	for r, block := range ranks[1:] {
		var here, there []string
		for name := range ranks[0] {
			here = append(here, name)
		}
		for name := range block {
			there = append(there, name)
		}
		require.ElementsMatch(t, here, there, "rank %d", r+1)
		for name, value := range block {
			if !slices.Contains(differ, name) {
				require.Equal(t, ranks[0][name], value, "%s of rank %d", name, r+1)
			}
		}
	}
	require.Equal(t, "l1\nl2=\"'$x\xff", ranks[3]["FORWARDED"])
	require.Equal(t, "/first:/launcher", ranks[3]["LIBS"])
	require.NotContains(t, ranks[0], "SSH_TTY")
	require.NotEmpty(t, ranks[0]["SHELL"])
	require.NotEmpty(t, ranks[0]["USER"])
	for r, block := range ranks {
		for _, name := range []string{
			"GORUN_LOCAL_RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
			"MV2_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK", "SLURM_LOCALID",
		} {
			require.Equal(t, fmt.Sprint(r%2), block[name], "%s of rank %d", name, r)
		}
		addr, err := netip.ParseAddr(block["MASTER_ADDR"])
		require.NoError(t, err, "an address, not a name")
		require.Equal(t, netip.MustParseAddrPort(block["GORUN_MASTER"]).Addr(), addr)
	}
}
