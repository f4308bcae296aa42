package launcher

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
)

func TestExitStatus(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		status int
		rank   int // that failed first; -1: none
	}{
		"all ranks succeed":                   {`exit 0`, 0, -1},
		"a rank's own status":                 {`test $GORUN_RANK = 1 || exec sleep 60; exit 3`, 3, 1},
		"a signal counts from 128":            {`test $GORUN_RANK = 1 || exec sleep 60; kill -SEGV $$`, 139, 1},
		"the first failure decides":           {`sleep 0.$GORUN_RANK; exit $((9 - GORUN_RANK))`, 9, 0},
		"a late success does not hide it":     {`trap "exit 0" TERM; test $GORUN_RANK = 2 && exit 7; sleep 60 & wait`, 7, 2},
		"TERM that we sent is not a failure":  {`test $GORUN_RANK = 0 && exit 5; exec sleep 60`, 5, 0},
		"processes left behind are no excuse": {`(setsid sleep 60 &) ; exit 0`, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, sh(3, c.script))
			require.Equal(t, c.status, o.Status, "error: %v, stderr: %s", o.err, o.stderr)
			require.Equal(t, c.status, ExitStatus(o.err))
			if c.rank < 0 {
				require.NoError(t, o.err)
				require.Nil(t, o.First)
				return
			}
			require.IsType(t, &ExitError{}, o.err)
			require.Equal(t, c.rank, o.First.Rank)
			require.Len(t, o.Ranks, 3)
		})
	}
}

func TestProgramsThatCannotStart(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plain"), []byte("#!/bin/sh\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orphan"), []byte("#!/no/such/interpreter\n"), 0o755))
	for name, c := range map[string]struct {
		app    App
		status int
		want   string
	}{
		"a path that does not exist":        {App{Args: []string{"/no/such/program"}}, StatusNotFound, "/no/such/program"},
		"a name that is not in PATH":        {App{Args: []string{"no-such-program"}}, StatusNotFound, "not found in PATH"},
		"a file that is not executable":     {App{Args: []string{"./plain"}, Dir: dir}, StatusNotExecutable, "not executable"},
		"a folder":                          {App{Args: []string{dir}}, StatusNotExecutable, "a folder"},
		"a file that is no program":         {App{Args: []string{text}}, StatusNotExecutable, "exec format error"},
		"a script without its interpreter":  {App{Args: []string{"./orphan"}, Dir: dir}, StatusNotFound, "no such file"},
		"a working folder that is not here": {App{Args: []string{"true"}, Dir: "/no/such/folder"}, StatusNotFound, "/no/such/folder"},
	} {
		t.Run(name, func(t *testing.T) {
			c.app.Ranks = 2
			o := run(t, &Job{Apps: []App{c.app}})
			require.ErrorContains(t, o.err, c.want)
			require.Equal(t, c.status, o.Status)
			var start *StartError
			require.ErrorAs(t, o.err, &start)
			require.NotEmpty(t, start.Host)
		})
	}
}

func TestABareNameInTheWorkingFolderIsHinted(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "train"), []byte("#!/bin/sh\n"), 0o755))
	o := run(t, &Job{Apps: []App{{Args: []string{"train"}, Dir: dir}}})
	var start *StartError
	require.ErrorAs(t, o.err, &start)
	require.Contains(t, start.Hint, "./train")
}

func TestJobsThatCannotBe(t *testing.T) {
	two := []hostfiles.Host{{Name: "localhost", Slots: 2}}
	for name, c := range map[string]struct {
		job  *Job
		want string
	}{
		"no program":                    {&Job{}, "no program"},
		"more ranks than slots":         {&Job{Apps: []App{{Args: []string{"true"}, Ranks: 3}}, Hosts: two}, "3 ranks"},
		"a tag that nobody knows":       {&Job{Apps: []App{{Args: []string{"true"}}}, Streams: Streams{Tag: "{who}"}}, "who"},
		"a variable of our own":         {&Job{Apps: []App{{Args: []string{"true"}}}, Env: Env{Set: []string{"RANK=3"}}}, "RANK"},
		"a file to stage":               {&Job{Apps: []App{{Args: []string{"true"}}}, Files: []string{"/no/such/file"}}, "/no/such/file"},
		"an early signal without limit": {&Job{Apps: []App{{Args: []string{"true"}}}, Limits: Limits{Early: EarlySignal{syscall.SIGUSR1, 1}}}, "--timeout"},
		"a signal before the start":     {&Job{Apps: []App{{Args: []string{"true"}}}, Limits: Limits{Run: 1, Early: EarlySignal{syscall.SIGUSR1, 2}}}, "--timeout"},
		"to go on and to start anew":    {&Job{Apps: []App{{Args: []string{"true"}}}, Continue: true, Restarts: 1}, "--on-failure continue"},
		"no host but spares":            {&Job{Apps: []App{{Args: []string{"true"}}}, Hosts: two, Spares: 1}, "--spares"},
		"what is not acted on":          {&Job{Apps: []App{{Args: []string{"true"}}}, Hosts: []hostfiles.Host{{Name: "a", Rack: "b", Pos: hostfiles.Pos{File: "hosts", Line: 3, Column: 5}}}}, "hosts:3:5: rack="},
		"an address that is no one":     {&Job{Apps: []App{{Args: []string{"true"}}}, Hosts: []hostfiles.Host{{Name: "a", Addr: "b"}}}, "addr="},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, c.job)
			require.ErrorContains(t, o.err, c.want)
			require.Equal(t, StatusUsage, o.Status)
		})
	}
}

func TestRanksKnowTheirPlace(t *testing.T) {
	job := sh(3, `echo $GORUN_RANK $GORUN_SIZE $RANK $WORLD_SIZE $LOCAL_RANK $OMPI_COMM_WORLD_RANK $MPI_LOCALRANKID $GORUN_NODES $PMI_RANK ${OUTER-none} $CHOSEN`)
	t.Setenv("PMI_RANK", "7")
	t.Setenv("OUTER", "inherited")
	job.Env.Set = []string{"CHOSEN=a=b c"}
	o := run(t, job)
	require.NoError(t, o.err)
	got := lines(o.stdout)
	slices.Sort(got)
	for r, line := range got {
		n := fmt.Sprint(r)
		require.Equal(t, strings.Join([]string{n, "3", n, "3", n, n, n, "1", n, "inherited", "a=b c"}, " "), line)
	}
}

func TestExportNoneKeepsTheEnvironmentOut(t *testing.T) {
	job := sh(1, `echo ${OUTER-none} $GIVEN ${HOME:+home} ${PATH:+path}`)
	t.Setenv("OUTER", "inherited")
	t.Setenv("GIVEN", "passed")
	job.Env = Env{Export: "none", Pass: []string{"GIV*"}}
	require.Equal(t, "none passed home path\n", run(t, job).stdout)
}

func TestTheFirstRankReadsStandardInputAndOthersSeeItsEnd(t *testing.T) {
	// More than all buffers on the way, read late and slowly at first.
	data := make([]byte, 10<<20)
	rand.Read(data)
	job := sh(2, `test $GORUN_RANK = 0 && sleep 0.3; sha256sum`)
	job.Streams.Stdin = bytes.NewReader(data)
	o := run(t, job)
	require.NoError(t, o.err)
	require.ElementsMatch(t, []string{
		fmt.Sprintf("%x  -", sha256.Sum256(data)),
		fmt.Sprintf("%x  -", sha256.Sum256(nil)),
	}, lines(o.stdout))
}

func TestARankThatDoesNotReadItsInputHoldsNothingUp(t *testing.T) {
	r, w, err := os.Pipe() // never ends by itself
	require.NoError(t, err)
	defer w.Close()
	defer r.Close()
	job := sh(2, `exec true`)
	job.Streams.Stdin = r
	require.NoError(t, run(t, job).err)
}

func TestPromptsAppearWithoutANewline(t *testing.T) {
	r, w := io.Pipe()
	var seen lockedBuffer
	job := sh(2, `test $GORUN_RANK = 1 && exec sleep 60; printf "N = "; read x; echo "got $x"; exit 4`)
	job.Streams.Stdin, job.Streams.Stdout = r, &seen
	done := start(t, t.Context(), job)
	require.Eventually(t, func() bool { return seen.String() == "N = " }, 10*time.Second, 5*time.Millisecond)
	io.WriteString(w, "5\n")
	o := <-done
	w.Close()
	require.Equal(t, 4, o.Status)
	require.Equal(t, "N = got 5\n", seen.String())
}

func TestLinesStayWhole(t *testing.T) {
	const n = 500
	job := sh(4, fmt.Sprintf(`i=0; while [ $i -lt %d ]; do printf "rank $GORUN_RANK"; printf " line $i"; printf "\n"; i=$((i+1)); done`, n))
	job.Streams.Tag = "{rank}| "
	o := run(t, job)
	require.NoError(t, o.err)
	got := lines(o.stdout)
	require.Len(t, got, 4*n)
	next := [4]int{}
	for _, line := range got {
		var tag, rank, i int
		_, err := fmt.Sscanf(line, "%d| rank %d line %d", &tag, &rank, &i)
		require.NoError(t, err, "damaged line %q", line)
		require.Equal(t, tag, rank)
		require.Equal(t, next[rank], i)
		next[rank]++
	}
}

func TestAllOutputComesBeforeTheEnd(t *testing.T) {
	o := run(t, sh(2, `head -c 3000000 /dev/zero; echo last words >&2; kill -9 $$`))
	require.Equal(t, 137, o.Status)
	require.GreaterOrEqual(t, len(o.stdout), 3000000)
	require.Equal(t, "last words\n", string(o.First.Tail))
}

func TestAStalledReaderSlowsTheRanksAndLosesNothing(t *testing.T) {
	r, w := io.Pipe()
	job := sh(2, `head -c 60000000 /dev/zero`)
	job.Streams.Stdout = w
	job.Limits.Node = time.Second // no lease may trip meanwhile
	done := start(t, t.Context(), job)
	buf := make([]byte, 1<<20)
	_, err := io.ReadFull(r, buf)
	require.NoError(t, err)
	select {
	case o := <-done:
		require.Fail(t, "the job ended before its output was read", "%v", o.err)
	case <-time.After(3 * time.Second):
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	require.Less(t, memory.HeapInuse, uint64(64<<20), "output is held in memory")
	total := int64(len(buf))
	counted := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, r)
		counted <- total + n
	}()
	o := <-done
	w.Close()
	require.NoError(t, o.err)
	require.Equal(t, int64(120000000), <-counted)
}

func TestAClosedOutputEndsTheJobQuietly(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	job := sh(2, `exec yes`)
	job.Streams.Stdout = w
	done := start(t, t.Context(), job)
	_, err = r.Read(make([]byte, 10))
	require.NoError(t, err)
	r.Close()
	o := <-done
	w.Close()
	require.Equal(t, 128+int(syscall.SIGPIPE), o.Status)
	requireGone(t, o.Job)
}

func TestLostOutputIsAFailure(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for range 10 { // the error may come before or after the rank's end
		job := sh(1, `echo lost`)
		job.Streams.Stdout = full
		o := run(t, job)
		require.ErrorIs(t, o.err, syscall.ENOSPC)
		require.Equal(t, StatusFailed, o.Status)
	}
}

func TestSignals(t *testing.T) {
	for name, c := range map[string]struct {
		signals []os.Signal
		script  string // writes "ready" when it may be signalled
		status  int
		want    string
	}{
		"INT ends the job as 130 though ranks exit 0": {[]os.Signal{syscall.SIGINT},
			`trap "echo saved; exit 0" INT; echo ready; sleep 60 & wait`, 130, "saved"},
		"TERM ends it as 143": {[]os.Signal{syscall.SIGTERM},
			`trap "echo saved; exit 0" TERM; echo ready; sleep 60 & wait`, 143, "saved"},
		"HUP ends it as 129": {[]os.Signal{syscall.SIGHUP},
			`echo ready; exec sleep 60`, 129, ""},
		"who ignores INT is sent TERM": {[]os.Signal{syscall.SIGINT},
			`trap "" INT; trap "echo terminated; exit 0" TERM; echo ready; while :; do sleep 0.05; done`, 130, "terminated"},
		"a second INT kills": {[]os.Signal{syscall.SIGINT, syscall.SIGINT},
			`trap "" INT TERM; echo ready; while :; do sleep 0.05; done`, 130, ""},
		"USR1 is passed on": {[]os.Signal{syscall.SIGUSR1},
			`trap "echo used; exit 6" USR1; echo ready; sleep 60 & wait`, 6, "used"},
	} {
		t.Run(name, func(t *testing.T) {
			var seen lockedBuffer
			signals := make(chan os.Signal, 2)
			job := sh(2, c.script)
			job.Streams.Stdout, job.Signals = &seen, signals
			job.Limits.Grace = 30 * time.Second
			done := start(t, t.Context(), job)
			require.Eventually(t, func() bool { return strings.Count(seen.String(), "ready") == 2 }, 10*time.Second, time.Millisecond)
			for _, s := range c.signals {
				signals <- s
			}
			o := <-done
			require.Equal(t, c.status, o.Status, "%v", o.err)
			require.Contains(t, seen.String(), c.want)
			requireGone(t, o.Job)
		})
	}
}

func TestLimits(t *testing.T) {
	t.Run("a job over its time is ended", func(t *testing.T) {
		job := sh(2, `trap "" TERM; while :; do sleep 0.05; done`)
		job.Limits = Limits{Run: 300 * time.Millisecond, Grace: 200 * time.Millisecond}
		o := run(t, job)
		require.ErrorIs(t, o.err, ErrTimeout)
		require.Equal(t, StatusTimeout, o.Status)
	})
	t.Run("the end of the context ends it", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		job := sh(2, `exec sleep 60`)
		job.Events = func(e Event) {
			if e.Kind == RankStarted {
				cancel(why)
			}
		}
		o := <-start(t, ctx, job)
		require.ErrorIs(t, o.err, why)
		requireGone(t, o.Job)
	})
	t.Run("a rank may use the grace to save its work", func(t *testing.T) {
		job := sh(2, `test $GORUN_RANK = 0 && { sleep 0.1; exit 1; }; trap "sleep 0.3; echo saved; exit 0" TERM; sleep 60 & wait`)
		job.Limits.Grace = 20 * time.Second
		o := run(t, job)
		require.Equal(t, 1, o.Status)
		require.Equal(t, "saved\n", o.stdout)
	})
}

func TestNothingIsLeftOfAJob(t *testing.T) {
	pids, await := pidFile(t)
	// A grandchild in a session of its own that ignores what can be ignored
	// and has erased its environment.
	script := fmt.Sprintf(`env -i setsid sh -c 'trap "" TERM HUP INT; echo $$ >> %s; while :; do sleep 0.1; done' & sleep 0.2; exit 3`, pids)
	job := sh(2, script)
	job.Limits.Grace = 200 * time.Millisecond
	o := run(t, job)
	require.Equal(t, 3, o.Status)
	for _, pid := range await(1) {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d lives", pid)
	}
}

func TestOrphansOfOrphansEndWithTheJob(t *testing.T) {
	pids, await := pidFile(t)
	dir := t.TempDir()
	// Each level leaves its parent, the session, the environment and the
	// signals that end processes behind.
	deep := filepath.Join(dir, "deep")
	script := fmt.Sprintf(`#!/bin/sh
trap "" TERM HUP INT QUIT
echo $$ >> %s
test $1 -gt 0 && (env -i setsid %s $(($1 - 1)) > /dev/null 2>&1 &)
while :; do sleep 0.1; done
`, pids, deep)
	require.NoError(t, os.WriteFile(deep, []byte(script), 0o755))
	job := sh(2, fmt.Sprintf(`(env -i setsid %s 3 &); while test $(wc -l < %s) -lt 8; do sleep 0.02; done; exit 3`, deep, pids))
	require.NoError(t, os.WriteFile(pids, nil, 0o644))
	job.Limits.Grace = 200 * time.Millisecond
	o := run(t, job)
	require.Equal(t, 3, o.Status, "%v", o.err)
	requireDead(t, await(8))
}

func TestAHostThatRunsOutOfFiles(t *testing.T) {
	agent, err := os.Executable()
	require.NoError(t, err)
	limited := filepath.Join(t.TempDir(), "gorun")
	script := fmt.Sprintf("#!/bin/sh\nulimit -n 48\nexec %s \"$@\"\n", agent)
	require.NoError(t, os.WriteFile(limited, []byte(script), 0o755))
	job := sh(40, `exec sleep 60`)
	job.Agent = limited
	o := run(t, job)
	require.Equal(t, StatusFailed, o.Status, "%v", o.err)
	var host *HostError
	require.ErrorAs(t, o.err, &host)
	require.Contains(t, host.Hint, "ulimit -n")
}

func TestStagedProgramIsFoundHere(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\necho $0\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), nil, 0o644))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for name, c := range map[string]struct {
		program string
		files   []string
		status  int
		want    string
	}{
		"by PATH":                {"tool", nil, 0, ""},
		"not in PATH":            {"no-such-tool", nil, StatusNotFound, "not found in PATH"},
		"a missing path":         {"./no-such-tool", nil, StatusNotFound, "no such file"},
		"a folder":               {dir, nil, StatusNotExecutable, "found a folder"},
		"not executable":         {filepath.Join(dir, "text"), nil, StatusNotExecutable, "not executable"},
		"a pipe":                 {filepath.Join(dir, "pipe"), nil, StatusNotExecutable, "named pipe"},
		"a pipe beside it":       {"tool", []string{filepath.Join(dir, "pipe")}, StatusUsage, "named pipe"},
		"a file beside it twice": {"tool", []string{filepath.Join(dir, "text"), filepath.Join(dir, "text")}, StatusUsage, "named twice"},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, &Job{Apps: []App{{Args: []string{c.program}, Ranks: 1}}, Stage: true, Files: c.files})
			require.Equal(t, c.status, o.Status, "%v", o.err)
			if c.want != "" {
				require.ErrorContains(t, o.err, c.want)
			}
		})
	}
}

func TestEntriesForThisHostAreOneHost(t *testing.T) {
	self, err := os.Hostname()
	require.NoError(t, err)
	job := sh(0, `echo $GORUN_NODES $GORUN_LOCAL_SIZE $GORUN_HOST`)
	job.Hosts = []hostfiles.Host{{Name: "localhost"}, {Name: self}, {Name: "127.0.0.1", Slots: 2}}
	o := run(t, job)
	require.NoError(t, o.err)
	require.Equal(t, strings.Repeat("1 4 localhost\n", 4), o.stdout)
}
