package launcher

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
)

func TestRanksOnSeveralHosts(t *testing.T) {
	job, _ := hosts(t, []int{2, 3}, `echo $GORUN_RANK $GORUN_LOCAL_RANK $GORUN_LOCAL_SIZE $GORUN_NODE $GORUN_NODES $GORUN_HOST $GORUN_ADDR ${GORUN_MASTER%:*} $MASTER_ADDR`)
	o := run(t, job)
	require.NoError(t, o.err, o.stderr)
	got := lines(o.stdout)
	slices.Sort(got)
	require.Equal(t, []string{
		"0 0 2 0 2 127.0.0.2 127.0.0.2 127.0.0.2 127.0.0.2",
		"1 1 2 0 2 127.0.0.2 127.0.0.2 127.0.0.2 127.0.0.2",
		"2 0 3 1 2 127.0.0.3 127.0.0.3 127.0.0.2 127.0.0.2",
		"3 1 3 1 2 127.0.0.3 127.0.0.3 127.0.0.2 127.0.0.2",
		"4 2 3 1 2 127.0.0.3 127.0.0.3 127.0.0.2 127.0.0.2",
	}, got)
}

func TestHostsWithoutRanksAreNotLoggedInTo(t *testing.T) {
	job, servers := hosts(t, []int{2, 2}, `exit 0`)
	job.Apps[0].Ranks = 2
	require.NoError(t, run(t, job).err)
	require.Equal(t, 1, servers[0].Logins())
	require.Zero(t, servers[1].Logins())
}

func TestLocalAndRemoteRanksInOneJob(t *testing.T) {
	job, _ := hosts(t, []int{1}, `echo $GORUN_RANK $GORUN_HOST`)
	job.Hosts = append(job.Hosts, local(1))
	o := run(t, job)
	require.NoError(t, o.err)
	require.ElementsMatch(t, []string{"0 127.0.0.2", "1 localhost"}, lines(o.stdout))
}

func TestLocalNeverLogsInEvenHere(t *testing.T) {
	job, servers := hosts(t, []int{1}, `echo $HOME`)
	job.Local = "never"
	o := run(t, job)
	require.NoError(t, o.err)
	require.Equal(t, servers[0].Home+"\n", o.stdout)
}

// Two servers at one address, such as two containers on one machine, are two
// hosts: each has its port, user and key. One is behind a jump host.
func TestTwoHostsAtOneAddress(t *testing.T) {
	job, servers := hosts(t, []int{1}, `echo $HOME`)
	bastion := servers[0]
	var homes []string
	job.Hosts = nil
	config, err := os.ReadFile(job.SSH.Config)
	require.NoError(t, err)
	for i := range 2 {
		s := sshserver.Start(t, sshserver.Config{Addr: netip.MustParseAddr("127.0.0.3")})
		entry := s.Entry()
		entry.Slots = 1
		if i == 1 {
			entry.Jump = fmt.Sprintf("%s@127.0.0.2:%d", bastion.User, bastion.Addr.Port())
		}
		job.Hosts = append(job.Hosts, entry)
		homes = append(homes, s.Home)
		config = fmt.Appendf(config, "Match originalhost 127.0.0.3\n  UserKnownHostsFile %s/known\n", t.TempDir())
	}
	config = fmt.Appendf(config, "Host 127.0.0.2\n  IdentityFile %s\n", bastion.Key)
	require.NoError(t, os.WriteFile(job.SSH.Config, config, 0o600))
	job.SSH.AcceptNewHostKeys = true
	o := run(t, job)
	require.NoError(t, o.err, o.stderr)
	require.ElementsMatch(t, homes, lines(o.stdout))
	require.Equal(t, 1, bastion.Logins())
	require.Equal(t, 1, bastion.Forwards())
}

func TestAKeyThatCannotBeUsedIsAWarning(t *testing.T) {
	job, _ := hosts(t, []int{1, 1}, `exit 0`)
	job.SSH.Key = filepath.Join(t.TempDir(), "absent")
	var warnings []string
	job.Events = func(e Event) {
		if e.Kind == Warning {
			warnings = append(warnings, e.Message)
		}
	}
	require.NoError(t, run(t, job).err)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "the key "+job.SSH.Key+" is not used: ")
	require.Contains(t, warnings[0], "no such file")
}

func TestStagedProgramFindsItsFilesBesideIt(t *testing.T) {
	dir := t.TempDir()
	program, data := filepath.Join(dir, "program"), filepath.Join(dir, "data.bin")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nwc -c < $(dirname $0)/data.bin; cat $(dirname $0)/empty\n"), 0o755))
	require.NoError(t, os.WriteFile(data, make([]byte, 300_000), 0o644))
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	job, _ := hosts(t, []int{1, 1}, "")
	job.Apps[0].Args = []string{program}
	job.Stage, job.Files = true, []string{data, empty}
	for range 2 { // the second time from what the first has left in the cache
		o := run(t, job)
		require.NoError(t, o.err, o.stderr)
		require.Equal(t, "300000\n300000\n", o.stdout)
		job.Streams.Stdout = nil
	}
	left, err := filepath.Glob(filepath.Join(sshserver.Cache, "gorun/job-*"))
	require.NoError(t, err)
	require.Empty(t, left)
	for _, path := range []string{program, data, empty} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		kept, err := filepath.Glob(filepath.Join(sshserver.Cache, "gorun/files", fmt.Sprintf("%x-*", sha256.Sum256(content))))
		require.NoError(t, err)
		require.Len(t, kept, 1)
	}
}

func TestAMissingFolderNamesHostAndPath(t *testing.T) {
	dir := t.TempDir()
	job, _ := hosts(t, []int{1, 1}, `pwd`)
	job.Apps[0].Dir = filepath.Join(dir, "gone")
	o := run(t, job)
	require.ErrorContains(t, o.err, "127.0.0.")
	require.ErrorContains(t, o.err, job.Apps[0].Dir)

	// The launcher's own folder is only a proposal.
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	job, servers := hosts(t, []int{1}, `pwd`)
	require.NoError(t, os.Remove(here))
	o = run(t, job)
	require.NoError(t, o.err, o.stderr)
	require.Equal(t, servers[0].Home+"\n", o.stdout)
}

func TestHostsThatCannotBeReached(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(*Job, *sshserver.Server)
		step   string
		want   string
	}{
		"nobody listens": {func(j *Job, s *sshserver.Server) { s.Close() }, "dial", "refused"},
		"an unknown host key": {func(j *Job, s *sshserver.Server) { s.ForgetKnownHosts() },
			"login", "--accept-new-host-keys"},
		"a changed host key": {func(j *Job, s *sshserver.Server) { s.ForgeKnownHosts() }, "login", "changed"},
		"a key that is not let in": {func(j *Job, s *sshserver.Server) { s.Set(sshserver.Faults{RejectKeys: true}) },
			"login", "not let in"},
		"a server that says nothing": {func(j *Job, s *sshserver.Server) {
			s.Set(sshserver.Faults{Silent: true})
			j.Limits.Start = 3 * time.Second
		}, "login", "--start-timeout"},
		"no commands": {func(j *Job, s *sshserver.Server) { s.Set(sshserver.Faults{RefuseExec: true}) }, "agent", "command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait for a server to come back, or for a time limit
			job, servers := hosts(t, []int{1, 1, 1}, `exit 0`)
			c.break_(job, servers[1])
			o := run(t, job)
			require.Equal(t, StatusFailed, o.Status)
			var host *HostError
			require.ErrorAs(t, o.err, &host)
			require.Equal(t, "127.0.0.3", host.Host)
			require.Equal(t, c.step, host.Step, "%v", host)
			require.ErrorContains(t, o.err, c.want)
			require.Empty(t, o.Ranks, "nothing was started")
		})
	}
}

func TestAnAgentOfAnotherVersionIsRefused(t *testing.T) {
	old := filepath.Join(t.TempDir(), "gorun")
	// Its hello has the magic and another table: type, length, "gorun-wire",
	// "0123456789abcdef", then the other fields empty.
	script := `#!/bin/sh
printf '\000\000\000\000\040\012gorun-wire\0200123456789abcdef\000\000\000\000'
cat > /dev/null
`
	require.NoError(t, os.WriteFile(old, []byte(script), 0o755))
	job := sh(1, `exit 0`)
	job.Agent = old
	o := run(t, job)
	require.ErrorContains(t, o.err, "another version")
	require.Equal(t, StatusFailed, o.Status)
}

// What must be gone after somebody was killed: a rank's shell and the program
// below it.
const tree = `sh -c 'echo $$ >> %[1]s; while :; do sleep 0.1; done' & echo $$ >> %[1]s; wait`

func requireDead(t *testing.T, pids []int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(pids, alive)
	}, 5*time.Second, 5*time.Millisecond, "of %v", pids)
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func parentOf(t *testing.T, pid int) (parent int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(b), ") ")
	_, err = fmt.Sscanf(rest[2:], "%d", &parent)
	require.NoError(t, err)
	return parent
}

// agentsOf lists the processes of a job's agents and guardians, by their role.
func agentsOf(t *testing.T, job string) (guardians, agents []int) {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		args := strings.Split(string(b), "\x00")
		var pid int
		if _, scanned := fmt.Sscanf(path, "/proc/%d/cmdline", &pid); err != nil || scanned != nil || len(args) < 4 || args[1] != "agent" {
			continue
		}
		switch {
		case args[2] == "--job" && args[3] == job:
			guardians = append(guardians, pid)
		case args[2] == "run" && strings.HasPrefix(args[3], "job-"+job+"-"):
			agents = append(agents, pid)
		}
	}
	return guardians, agents
}

func TestKill(t *testing.T) {
	for name, c := range map[string]struct {
		kill func(t *testing.T, job string, pids []int, servers []*sshserver.Server)
		want func(t *testing.T, o outcome)
	}{
		"an agent": {func(t *testing.T, job string, _ []int, _ []*sshserver.Server) {
			_, agents := agentsOf(t, job)
			require.Len(t, agents, 2)
			require.NoError(t, syscall.Kill(agents[1], syscall.SIGKILL))
		}, wantHostLost},
		"an agent and its guardian": {func(t *testing.T, job string, _ []int, _ []*sshserver.Server) {
			guardians, agents := agentsOf(t, job)
			require.Len(t, guardians, 2)
			for _, pid := range slices.Concat(guardians, agents) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}, wantHostLost},
		"a guardian": {func(t *testing.T, job string, _ []int, _ []*sshserver.Server) {
			guardians, _ := agentsOf(t, job)
			require.NoError(t, syscall.Kill(guardians[0], syscall.SIGKILL))
		}, wantHostLost},
		"an SSH connection": {func(t *testing.T, _ string, _ []int, servers []*sshserver.Server) {
			servers[1].Cut()
		}, wantHostLost},
		"a rank": {func(t *testing.T, _ string, pids []int, _ []*sshserver.Server) {
			ranks := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return slices.Contains(pids, parentOf(t, pid)) })
			require.Len(t, ranks, 4)
			require.NoError(t, syscall.Kill(ranks[0], syscall.SIGKILL))
		}, func(t *testing.T, o outcome) {
			require.Equal(t, 137, o.Status)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			file, await := pidFile(t)
			job, servers := hosts(t, []int{2, 2}, fmt.Sprintf(tree, file))
			job.Limits.Grace = 2 * time.Second
			done := start(t, t.Context(), job)
			pids := await(8)
			c.kill(t, jobOf(t, pids[0]), pids, servers)
			o := <-done
			c.want(t, o)
			requireDead(t, pids)
			requireGone(t, o.Job)
		})
	}
}

// jobOf reads the job that a process belongs to.
func jobOf(t *testing.T, pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	require.NoError(t, err)
	_, rest, found := strings.Cut("\x00"+string(b), "\x00GORUN_JOB=")
	require.True(t, found)
	id, _, _ := strings.Cut(rest, "\x00")
	return id
}

func wantHostLost(t *testing.T, o outcome) {
	require.Equal(t, StatusFailed, o.Status, "%v", o.err)
	var host *HostError
	require.ErrorAs(t, o.err, &host)
	require.Equal(t, "run", host.Step)
}

// A cached agent that does not start, or ends before it says hello, is looked at
// and sent again.
func TestADamagedAgentIsSentAgain(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string, size int64){
		"zeroed": func(t *testing.T, path string, size int64) {
			require.NoError(t, os.Truncate(path, 0))
			require.NoError(t, os.Truncate(path, size))
		},
		"zeroed but for its beginning": func(t *testing.T, path string, size int64) {
			require.NoError(t, os.Truncate(path, 8<<10))
			require.NoError(t, os.Truncate(path, size))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			server := sshserver.Start(t, sshserver.Config{Env: []string{"XDG_CACHE_HOME=" + cache}})
			job := sh(1, "true")
			job.Hosts, job.SSH.Config = []hostfiles.Host{server.Entry()}, server.Config
			require.NoError(t, run(t, job).err)
			stored, err := filepath.Glob(cache + "/gorun/gorun-*")
			require.NoError(t, err)
			require.Len(t, stored, 1)
			info, err := os.Stat(stored[0])
			require.NoError(t, err)
			damage(t, stored[0], info.Size())
			require.NoError(t, run(t, job).err)
		})
	}
}
