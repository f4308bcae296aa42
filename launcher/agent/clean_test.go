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
	require.True(t, alive(erased), "it was only to look")
	require.DirExists(t, folder)

	found = cleanHost(&wire.Clean{Jobs: []string{lost, running}})
	require.Empty(t, found.Lost[0].Problems)
	for _, cmd := range victims {
		require.Error(t, cmd.Wait())
		require.Equal(t, syscall.SIGKILL, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	require.False(t, alive(erased))
	require.NoDirExists(t, folder)
	for _, cmd := range spared {
		require.True(t, alive(cmd.Process.Pid), "%v", cmd)
	}
	require.Empty(t, cleanHost(&wire.Clean{Jobs: []string{lost, running}}).Lost)
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

func TestShortCommand(t *testing.T) {
	require.Equal(t, "sh -c a b?", shortCommand([]string{"sh", "-c", "a\nb\xff"}))
	require.Len(t, []rune(shortCommand([]string{string(make([]byte, 4096))})), 101)
}
