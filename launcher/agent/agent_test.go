//go:build linux

package agent

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gorun/gorun/internal/envvar"
	"github.com/gorun/gorun/launcher/agent/proc"
	"github.com/gorun/gorun/launcher/wire"
)

// The test binary is also an agent, whose clock jumps.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		timeNow = jumping(os.Getenv(jumpFile))
		os.Exit(Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

func TestOnPath(t *testing.T) {
	for path, want := range map[string]bool{
		"a/host":              true,
		"a/host:b/host":       true, // a job inside ours
		"x/host:a/host":       true, // ours inside another
		"b/host":              false,
		"ab/host":             false,
		"b/a":                 false, // a host's name is not a job
		"":                    false,
		"b/host:c/a:d/host.a": false,
	} {
		require.Equal(t, want, onPath(path, "a"), "%q", path)
	}
}

func TestFindProgram(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"bin/tool": 0o755, "bin/notes": 0o644, "other/tool": 0o755, "own": 0o755} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, mode))
	}
	path := filepath.Join(dir, "missing") + ":" + filepath.Join(dir, "bin") + ":" + filepath.Join(dir, "other")
	for name, c := range map[string]struct{ name, path, want, err string }{
		"the first in PATH":                  {"tool", path, "bin/tool", ""},
		"a relative path, from the folder":   {"bin/tool", path, "bin/tool", ""},
		"an absolute path":                   {filepath.Join(dir, "own"), "", "own", ""},
		"the current folder is not searched": {"own", path, "", "not found in PATH"},
		"unless PATH says so":                {"own", path + ":", "own", ""},
		"found, but not executable":          {"notes", path, "", "not executable"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := findProgram(c.name, dir, c.path)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, filepath.Join(dir, c.want), got)
		})
	}
}

func TestGlooListensWhereOtherHostsReachThisOne(t *testing.T) {
	two := []wire.Host{{Name: "a", Addr: "10.0.0.1"}, {Name: "b", Addr: "fd00::2"}}
	a := &agent{interfaces: []wire.Interface{
		{Name: "lo", Addrs: []string{"127.0.0.1/8", "::1/128"}},
		{Name: "eth0", Addrs: []string{"10.0.0.10/24"}},
		{Name: "ib0", Addrs: []string{"10.0.0.1/24", "fd00::2/64"}},
	}}
	for name, c := range map[string]struct {
		node  int
		start wire.Start
		want  string
	}{
		"the interface with the address": {0, wire.Start{Hosts: two}, "ib0"},
		"of IPv6 too":                    {1, wire.Start{Hosts: two}, "ib0"},
		"of all loopback addresses":      {1, wire.Start{Hosts: []wire.Host{{Addr: "127.0.0.2"}, {Addr: "127.0.0.3"}}}, "lo"},
		"not an address of another's":    {0, wire.Start{Hosts: []wire.Host{{Addr: "192.0.2.1"}, {}}}, ""},
		"not in a job of one host":       {0, wire.Start{Hosts: two[:1]}, ""},
		"not where one was chosen":       {0, wire.Start{Hosts: []wire.Host{{Addr: "10.0.0.1", Iface: "eth0"}, {}}}, "eth0"},
		"not where it was inherited":     {0, wire.Start{Hosts: two, Env: []string{"GLOO_SOCKET_IFNAME=own"}}, "own"},
		"not where it is to be unset":    {0, wire.Start{Hosts: two, Unset: []string{"GLOO_*"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a.start = &share{Start: &c.start, Begin: wire.Begin{Node: -1}}
			require.NoError(t, a.settle(&wire.Begin{Node: c.node}))
			env := composeEnv(a.start, wire.App{}, nil, "/")
			require.Equal(t, c.want, lookupEnv(env, "GLOO_SOCKET_IFNAME"))
		})
	}
}

func TestComposeEnv(t *testing.T) {
	host := map[string]string{"HOME": "/host", "USER": "u", "PATH": "/bin:/usr/bin", "LIB": "/host/lib"}
	hosts := []wire.Host{{Name: "a", Ranks: []int{0, 1}}}
	for name, c := range map[string]struct {
		start wire.Start
		app   wire.App
		want  []string // "NAME=value", or "NAME" for one that is not there
	}{
		"what is the host's": {
			wire.Start{Job: "inner", Path: "outer/h", PathEnv: "/launcher/bin:/bin", Env: []string{"KEPT=1"}},
			wire.App{},
			[]string{"HOME=/host", "USER=u", "KEPT=1", "PWD=/work", "PYTHONUNBUFFERED=1",
				"PATH=/launcher/bin:/bin:/usr/bin", "GORUN_JOB_PATH=outer/h:inner/a"},
		},
		"what the user sets counts": {
			wire.Start{Env: []string{"HOME=/mine", "PATH=/mine/bin", "OMP_NUM_THREADS=7", "PYTHONUNBUFFERED="}},
			wire.App{},
			[]string{"HOME=/mine", "PATH=/mine/bin", "OMP_NUM_THREADS=7", "PYTHONUNBUFFERED="},
		},
		"an app's own come over the job's": {
			wire.Start{Env: []string{"A=job", "B=job"}},
			wire.App{Env: []string{"A=app", "C=app"}},
			[]string{"A=app", "B=job", "C=app"},
		},
		"nothing that is unset": {
			wire.Start{Env: []string{"PYTHONPATH=/set"}, Unset: []string{"OMP_*", "PYTHON*", "USER"}},
			wire.App{},
			[]string{"OMP_NUM_THREADS", "PYTHONUNBUFFERED", "USER", "HOME=/host", "PYTHONPATH=/set"},
		},
		"joined to what is inherited": {
			wire.Start{Env: []string{"LIB=/launcher/lib"}},
			wire.App{Prepend: []string{"LIB=/first"}, Append: []string{"LIB=/last"}},
			[]string{"LIB=/first:/launcher/lib:/last"},
		},
		"joined to what the host has": {
			wire.Start{},
			wire.App{Prepend: []string{"LIB=/first", "PATH=/first"}},
			[]string{"LIB=/first:/host/lib", "PATH=/first:/bin:/usr/bin"},
		},
		"joined to nothing": {
			wire.Start{},
			wire.App{Prepend: []string{"NEW=/first"}, Append: []string{"NEW=/last", "OTHER=/last"}},
			[]string{"NEW=/first:/last", "OTHER=/last"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.start.Hosts = hosts
			env := composeEnv(&share{Start: &c.start}, c.app, host, "/work")
			names := map[string]bool{}
			for _, entry := range env {
				require.False(t, names[envvar.Name(entry)], "%s twice", entry)
				names[envvar.Name(entry)] = true
			}
			for _, want := range c.want {
				if !strings.Contains(want, "=") {
					require.False(t, names[want], "%s is there", want)
					continue
				}
				require.Contains(t, env, want)
			}
		})
	}
}

func TestPrivateFolders(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	require.NoError(t, os.Mkdir(open, 0o755))
	require.ErrorContains(t, makePrivate(open), "mode 0700")

	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	require.NoError(t, os.Mkdir(target, 0o700))
	require.NoError(t, os.Symlink(target, link))
	require.ErrorContains(t, makePrivate(link), "expected a folder")

	f := &folders{token: "job-1"}
	defer f.remove()
	for range 2 { // the second time it is there
		folder, err := f.make([]string{open, filepath.Join(dir, "new")}, true)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, "new/job-1"), folder)
		require.FileExists(t, filepath.Join(folder, lockName))
	}
	_, err := f.make([]string{open, link}, false)
	require.ErrorContains(t, err, open)
	require.ErrorContains(t, err, link)
}

// newStore returns a store that keeps everything below a test's folder.
func newStore(t *testing.T) *store {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s := &store{folders: &folders{token: newToken("test")}}
	t.Cleanup(func() {
		s.close()
		s.folders.remove()
	})
	return s
}

func announcement(name string, content []byte) *wire.File {
	return &wire.File{Name: name, Hash: fmt.Sprintf("%x", sha256.Sum256(content)), Size: int64(len(content)), Mode: 0o755}
}

func TestStoreKeepsWhatItAnnounced(t *testing.T) {
	s := newStore(t)
	content := []byte("#!/bin/sh\n")
	require.Equal(t, &wire.FileWanted{Name: "p", Wanted: true}, s.announce(announcement("p", content)))
	answer, err := s.write(content[:3])
	require.NoError(t, err)
	require.Nil(t, answer)
	answer, err = s.write(content[3:])
	require.NoError(t, err)
	require.Equal(t, &wire.FileWanted{Name: "p"}, answer)
	got, err := os.ReadFile(s.path("p"))
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.NoError(t, executable(s.path("p")))

	require.Equal(t, &wire.FileWanted{Name: "again"}, s.announce(announcement("again", content)), "the content is there")
	require.NotEmpty(t, s.path("again"))
	require.Contains(t, s.announce(announcement("p", content)).Error, "two staged files")
}

func TestStoreRefusesWhatIsNotAsAnnounced(t *testing.T) {
	s := newStore(t)
	require.True(t, s.announce(announcement("p", []byte("right"))).Wanted)
	answer, err := s.write([]byte("wrong"))
	require.NoError(t, err)
	require.Contains(t, answer.Error, "hash")
	require.Empty(t, s.path("p"))
	_, err = s.write([]byte("more"))
	require.Error(t, err, "nobody asked")
	for _, name := range []string{"", ".", "..", "a/b", "/"} {
		require.NotEmpty(t, s.announce(announcement(name, nil)).Error, "%q", name)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(s.folder), "files", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestSweepEndsTheJobAndNothingElse(t *testing.T) {
	start := func(path string) *exec.Cmd {
		cmd := exec.Command("sleep", "60")
		cmd.Env = append(os.Environ(), jobPathVar+"="+path)
		require.NoError(t, cmd.Start())
		return cmd
	}
	job := newToken("sweep")
	ours, inner, other := start(job+"/a"), start("x/a:"+job+"/a:y/a"), start("other/a")
	defer func() {
		other.Process.Kill()
		other.Wait()
	}()
	require.NoError(t, sweepJob(job))
	for _, cmd := range []*exec.Cmd{ours, inner} {
		require.Error(t, cmd.Wait())
		require.Equal(t, syscall.SIGKILL, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	require.Empty(t, marked(job))
	require.Equal(t, []int{other.Process.Pid}, marked("other"))
	require.Error(t, sweepJob(""))
}

func TestSweepEndsAHungAgent(t *testing.T) {
	job, folder := newToken("hung"), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "agent"), []byte("kill -STOP $$"), 0o600))
	start := func(job string) *exec.Cmd {
		cmd := exec.Command("sh", "agent", runVerb, newToken(job))
		cmd.Dir = folder
		require.NoError(t, cmd.Start())
		return cmd
	}
	ours, other := start(job), start(job+"x")
	defer func() {
		other.Process.Kill()
		other.Wait()
	}()
	require.NoError(t, sweepJob(job))
	require.Error(t, ours.Wait())
	require.Equal(t, syscall.SIGKILL, ours.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.True(t, proc.Alive(other.Process.Pid))
}

func TestNurseryReapsWhateverItStarts(t *testing.T) {
	n := newNursery()
	const count = 200
	ended := make(chan int, count)
	n.Each(count, func(i int) bool {
		_, err := n.Start("/bin/sh", []string{"sh", "-c", "exit " + strconv.Itoa(i%7)}, &syscall.ProcAttr{}, nil, func(s syscall.WaitStatus) {
			ended <- s.ExitStatus() - i%7
		})
		return err == nil
	})
	for range count {
		require.Zero(t, <-ended)
	}
	_, err := n.Start("/no/such/program", []string{"p"}, &syscall.ProcAttr{}, nil, nil)
	require.ErrorIs(t, err, syscall.ENOENT)
	n.Close()
}
