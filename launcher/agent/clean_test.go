//go:build linux

package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/agent/proc"
	"github.com/gorun/gorun/launcher/wire"
)

func TestJobOfAToken(t *testing.T) {
	require.Equal(t, "a1b2", jobOf(newToken("a1b2")))
	require.Equal(t, "with-dashes", jobOf(newToken("with-dashes")))
	for _, name := range []string{"", "job-", "job-1", "job-1-2", "files", "gorun-0123"} {
		require.Empty(t, jobOf(name), "%q", name)
	}
}

// inJob starts a program with a GORUN_JOB_PATH.
func inJob(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), jobPathVar+"="+path)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

func TestCleanTellsLostJobsFromRunning(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	lost, running, child := newToken("lost"), newToken("running"), filepath.Join(t.TempDir(), "child")

	// The running job has an agent: this process holds its folder.
	held := &folders{token: newToken(running)}
	_, err := held.make(bases(), false)
	require.NoError(t, err)
	defer held.remove()
	left := &folders{token: newToken(lost)}
	folder, err := left.make(bases(), true)
	require.NoError(t, err)
	defer left.remove()
	for _, lock := range left.locks {
		require.NoError(t, lock.Close())
	}

	victims := []*exec.Cmd{
		inJob(t, lost+"/a", "sleep", "60"),
		inJob(t, "x/a:"+lost+"/a", "sleep", "60"),
		inJob(t, running+"/a:"+lost+"/a", "sleep", "60"),
		inJob(t, lost+"/a", "sh", "-c", "env -i sh -c 'echo $$ > "+child+"; while :; do sleep 0.1; done' & exec sleep 60"),
	}
	spared := []*exec.Cmd{
		inJob(t, running+"/a", "sleep", "60"),
		inJob(t, lost+"/a:"+running+"/a", "sleep", "60"),
	}
	var erased int
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(child)
		n, _ := fmt.Sscan(string(b), &erased)
		return err == nil && n == 1
	}, 10*time.Second, time.Millisecond)

	found := cleanHost(&wire.Clean{Jobs: []string{lost, running}, Dry: true})
	require.Len(t, found.Lost, 1)
	require.Equal(t, lost, found.Lost[0].Job)
	require.Equal(t, []string{folder}, found.Lost[0].Folders)
	require.Contains(t, found.Running, running)
	require.NotContains(t, found.Running, lost)
	pids := map[int]bool{}
	for _, p := range found.Lost[0].Processes {
		pids[p.PID] = true
	}
	for _, cmd := range victims {
		require.True(t, pids[cmd.Process.Pid], "%v", cmd)
	}
	require.True(t, pids[erased], "below a marked process, with an environment of its own")
	for _, cmd := range spared {
		require.False(t, pids[cmd.Process.Pid], "%v", cmd)
	}
	require.True(t, proc.Alive(erased), "it was only to look")
	require.DirExists(t, folder)

	found = cleanHost(&wire.Clean{Jobs: []string{lost, running}})
	require.Empty(t, found.Lost[0].Problems)
	for _, cmd := range victims {
		require.Error(t, cmd.Wait())
		require.Equal(t, syscall.SIGKILL, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	require.False(t, proc.Alive(erased))
	require.NoDirExists(t, folder)
	for _, cmd := range spared {
		require.True(t, proc.Alive(cmd.Process.Pid), "%v", cmd)
	}
	require.Empty(t, cleanHost(&wire.Clean{Jobs: []string{lost, running}}).Lost)
}

// What has erased its environment is known by what it has of the job, which is
// lost with its agent.
func TestCleanFindsWhatHasErasedItsEnvironment(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	job := newToken("lost")
	token := newToken(job)
	left := &folders{token: token}
	folder, err := left.make(bases(), true)
	require.NoError(t, err)
	defer left.remove()
	for _, lock := range left.locks {
		require.NoError(t, lock.Close())
	}
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	program, err := os.ReadFile(sleep)
	require.NoError(t, err)
	staged := filepath.Join(folder, "sleep")
	require.NoError(t, os.WriteFile(staged, program, 0o700))

	child := func(change func(*exec.Cmd)) int {
		cmd := exec.Command("sleep", "60")
		change(cmd)
		cmd.Env = []string{}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		return cmd.Process.Pid
	}
	orphan := func(change func(*exec.Cmd)) int {
		cmd := exec.Command(sleep)
		change(cmd)
		pid := startOrphan(t, cmd)
		if parent, _, _ := proc.Parent(pid); !isOrphan(pid, parent) {
			t.Skipf("orphans fall to process %d here", parent)
		}
		return pid
	}
	withDoor := func(token string) func(*exec.Cmd) {
		return func(cmd *exec.Cmd) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			require.NoError(t, err)
			unix.Close(pair[0]) // as when the agent is gone
			door := os.NewFile(uintptr(pair[1]), "door")
			t.Cleanup(func() { door.Close() })
			if token != "" {
				nameDoor(pair[1], token, 7)
			}
			cmd.ExtraFiles = []*os.File{door}
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "gorun", token)
	require.NoError(t, os.MkdirAll(elsewhere, 0o700))
	within := func(dir string) func(*exec.Cmd) { return func(cmd *exec.Cmd) { cmd.Dir = dir } }
	victims := map[string]int{
		"a door":           orphan(withDoor(token)),
		"a working folder": orphan(within(folder)),
		"a program":        orphan(func(cmd *exec.Cmd) { cmd.Path = staged }),
	}
	spared := map[string]int{
		"nothing":                     orphan(func(*exec.Cmd) {}),
		"an unnamed door":             orphan(withDoor("")),
		"another's, inside":           orphan(func(cmd *exec.Cmd) { cmd.Dir = folder; withDoor(newToken("inner"))(cmd) }),
		"a folder that only looks so": orphan(within(elsewhere)),
		"no orphan":                   child(within(folder)),
	}
	found := cleanHost(&wire.Clean{Jobs: []string{job}})
	require.Len(t, found.Lost, 1)
	require.Empty(t, found.Lost[0].Problems)
	require.Len(t, found.Lost[0].Processes, len(victims))
	for name, pid := range victims {
		require.False(t, proc.Alive(pid), name)
	}
	for name, pid := range spared {
		require.True(t, proc.Alive(pid), name)
	}
}

// startOrphan starts a program for a minute, as its one argument says, with an
// empty environment and without a parent, and returns its pid.
func startOrphan(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	program := cmd.Path
	cmd.Args = []string{"sh", "-c", `env -i "$0" 60 >/dev/null 2>&1 & echo $!`, program}
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	require.NoError(t, err)
	var pid int
	_, err = fmt.Sscan(string(out), &pid)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	require.Eventually(t, func() bool {
		words := proc.CommandLine(pid)
		return len(words) > 0 && words[0] == program
	}, 10*time.Second, time.Millisecond)
	return pid
}

func TestCleanLeavesAJobThatHasBegunAgain(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	job := newToken("lost")
	left := inJob(t, job+"/a", "sleep", "60")
	order := &wire.Clean{Jobs: []string{job}}
	s := surveyJobs(order.Jobs)
	require.Contains(t, s.lost(), job)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent"), []byte("read line"), 0o600))
	agent := exec.Command("sh", "agent", runVerb, newToken(job))
	agent.Dir = dir
	input, err := agent.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	found := s.clean(order)
	require.Empty(t, found.Lost)
	require.Contains(t, found.Running, job)
	require.True(t, proc.Alive(left.Process.Pid))
	require.True(t, proc.Alive(agent.Process.Pid))
	require.NoError(t, input.Close())
	agent.Wait()
}

func TestAnOrphanIsToldFromAChildOfInit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	sh := exec.Command("sh", "-c", "sleep 60 & echo $! > "+file)
	sh.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, sh.Run())
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var orphan int
	_, err = fmt.Sscan(string(b), &orphan)
	require.NoError(t, err)
	defer syscall.Kill(orphan, syscall.SIGKILL)
	init, _, ok := proc.Parent(orphan)
	require.True(t, ok)
	if comm := proc.CommandLine(init); init != 1 && filepath.Base(comm[0]) != "systemd" {
		t.Skipf("orphans fall to process %d here, %q", init, comm)
	}
	require.True(t, isOrphan(orphan, init))
	require.False(t, isOrphan(os.Getpid(), os.Getppid()), "a child of its parent")
	require.False(t, isOrphan(init, init), "what is in its session may be its child")
}

func TestHeldFolders(t *testing.T) {
	folder := func(lock string) string {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, lockName), []byte(lock), 0o600))
		return dir
	}
	for name, c := range map[string]struct {
		folder    string
		unchanged time.Duration
		want      bool
	}{
		"of this machine, not locked":            {folder(bootID()), 0, false},
		"of another machine, or before a reboot": {folder("another"), 0, true},
		"the same, unused for long":              {folder("another"), disused, false},
		"half removed":                           {t.TempDir(), 0, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, held(c.folder, c.unchanged)) })
	}
}

func TestDisusedFiles(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	base := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "gorun")
	require.NoError(t, os.MkdirAll(filepath.Join(base, "files"), 0o700))
	now := time.Now()
	put := func(name string, age time.Duration) {
		path := filepath.Join(base, name)
		require.NoError(t, os.WriteFile(path, []byte("12345"), 0o700))
		require.NoError(t, os.Chtimes(path, now.Add(-age), now.Add(-age)))
	}
	put("gorun-old", disused+time.Hour)
	put("gorun-new", disused-time.Hour)
	put(".part-old", disused+time.Hour)
	put("other", disused+time.Hour)
	put("files/old", disused+time.Hour)
	// An old file that was run lately.
	put("gorun-run", 0)
	require.NoError(t, os.Chtimes(filepath.Join(base, "gorun-run"), now, now.Add(-2*disused)))

	names := map[string]int64{}
	for _, f := range disusedFiles(now) {
		if name, err := filepath.Rel(base, f.path); err == nil && filepath.IsLocal(name) {
			names[name] = f.size
		}
	}
	require.Equal(t, map[string]int64{"gorun-old": 5, ".part-old": 5, "files/old": 5}, names)
}
