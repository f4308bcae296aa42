package launcher

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// remoteFirst is a job whose rank 0 is on another host, and with several hosts.
func remoteFirst(t *testing.T, script string) *Job {
	job, _ := hosts(t, []int{1, 1}, script)
	return job
}

func TestStandardInputArrivesWhole(t *testing.T) {
	for name, c := range map[string]struct {
		size   int
		script string // of rank 0
	}{
		"57 kB":                         {57_000, `sha256sum`},
		"a pipe's capacity":             {65_536, `sha256sum`},
		"one byte more":                 {65_537, `sha256sum`},
		"104929 bytes":                  {104_929, `sha256sum`},
		"a reader that starts late":     {10 << 20, `sleep 0.5; sha256sum`},
		"a reader of single bytes":      {57_000, `dd bs=1 status=none | sha256sum`},
		"a late reader of single bytes": {104_929, `sleep 0.3; dd bs=1 status=none | sha256sum`},
		"200 MB":                        {200_000_000, `sha256sum`},
	} {
		t.Run(name, func(t *testing.T) {
			hash := sha256.New()
			job := remoteFirst(t, `test $GORUN_RANK = 0 || exec cat; `+c.script)
			job.Streams.Stdin = io.TeeReader(io.LimitReader(rand.Reader, int64(c.size)), hash)
			o := run(t, job)
			require.NoError(t, o.err, o.stderr)
			require.Equal(t, fmt.Sprintf("%x  -\n", hash.Sum(nil)), o.stdout)
		})
	}
}

func TestWhoReadsStandardInput(t *testing.T) {
	const text = "one\ntwo\n"
	for name, c := range map[string]struct {
		stdin io.Reader
		to    int
		want  []string // a line for each rank
	}{
		"rank 0":      {strings.NewReader(text), 0, []string{"0 8", "1 0", "2 0"}},
		"another one": {strings.NewReader(text), 2, []string{"0 0", "1 0", "2 8"}},
		"all":         {strings.NewReader(text), AllRanks, []string{"0 8", "1 8", "2 8"}},
		"none":        {nil, 0, []string{"0 0", "1 0", "2 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			job, _ := hosts(t, []int{1, 2}, `echo $GORUN_RANK $(wc -c)`)
			job.Streams.Stdin, job.Streams.StdinTo = c.stdin, c.to
			o := run(t, job)
			require.NoError(t, o.err, o.stderr)
			require.ElementsMatch(t, c.want, lines(o.stdout))
		})
	}
}

func TestTheSlowestReaderSetsThePace(t *testing.T) {
	var sent countingReader
	gate := t.TempDir() + "/gate"
	// Rank 1 reads nothing before the gate opens, rank 2 stops reading for good.
	job, _ := hosts(t, []int{2, 1}, fmt.Sprintf(
		`case $GORUN_RANK in 1) until test -e %s; do sleep 0.05; done;; 2) exec true;; esac; exec wc -c`, gate))
	job.Streams.Stdin, job.Streams.StdinTo = io.LimitReader(&sent, 20<<20), AllRanks
	job.Events = func(e Event) {
		if e.Kind == RankExited && e.Rank == 2 {
			time.AfterFunc(300*time.Millisecond, func() {
				sent.at.Store(sent.total.Load())
				os.WriteFile(gate, nil, 0o600)
			})
		}
	}
	o := run(t, job)
	require.NoError(t, o.err, o.stderr)
	require.Equal(t, "20971520\n20971520\n", o.stdout)
	require.Less(t, sent.at.Load(), int64(2<<20), "read ahead of a rank that did not read")
}

func TestRanksThatAreNot(t *testing.T) {
	for name, c := range map[string]struct {
		streams Streams
		want    string
	}{
		"stdin": {Streams{Stdin: strings.NewReader(""), StdinTo: 2}, "--stdin: expected a rank from 0 to 1, found 2"},
		"show":  {Streams{Show: []int{0, 5}}, "--show-ranks: expected a rank from 0 to 1, found 5"},
		"pty":   {Streams{PTY: []int{-3}}, "--pty: expected a rank from 0 to 1, found -3"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ranks := range []int{2, 0} { // said, or known by the hosts' slots
				job := sh(ranks, "exit 0")
				job.Hosts = append(job.Hosts, local(2))
				c.streams.Stdout, c.streams.Stderr = io.Discard, io.Discard
				job.Streams = c.streams
				o := run(t, job)
				require.ErrorContains(t, o.err, c.want)
				require.Equal(t, StatusUsage, o.Status)
			}
		})
	}
}

func TestMergedStreamsKeepTheirOrder(t *testing.T) {
	job := sh(1, `for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done; exit 3`)
	job.Streams.Merge = true
	o := run(t, job)
	var want strings.Builder
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	require.Equal(t, want.String(), o.stdout)
	require.Empty(t, o.stderr)
	require.Equal(t, want.String(), string(o.First.Tail))
}

// countingReader gives zeros and counts them.
type countingReader struct{ total, at atomic.Int64 }

func (c *countingReader) Read(p []byte) (int, error) {
	clear(p)
	c.total.Add(int64(len(p)))
	return len(p), nil
}

func TestWhoInsistsDoesNotWaitForAStalledReader(t *testing.T) {
	r, w := io.Pipe()
	job := sh(2, `exec yes`)
	job.Streams.Stdout = w
	signals := make(chan os.Signal, 3)
	job.Signals = signals
	done := start(t, t.Context(), job)
	_, err := r.Read(make([]byte, 1))
	require.NoError(t, err)
	for range 3 {
		signals <- syscall.SIGINT
	}
	o := <-done
	require.Equal(t, 130, o.Status)
	requireGone(t, o.Job)
	r.Close() // ends the printer's last write
}

// A reader that stalls may hold the job up, but not its end.
func TestAStalledReaderDoesNotOutlastTheEndOfTheJob(t *testing.T) {
	type ending struct {
		job    *Job
		cancel bool
		status int
	}
	there := func(script string) *Job {
		job, _ := hosts(t, []int{1}, script)
		return job
	}
	endings := map[string]ending{
		"the time limit, of ranks that write on":        {sh(1, `exec yes`), false, StatusTimeout},
		"the time limit, of ranks on another host":      {there(`exec yes`), false, StatusTimeout},
		"the time limit, when ranks have ended":         {sh(1, `head -c 300000 /dev/zero`), false, StatusTimeout},
		"the time limit, when those there have":         {there(`head -c 8000000 /dev/zero`), false, StatusTimeout},
		"the time limit, when one has failed before it": {sh(1, `head -c 300000 /dev/zero; exit 3`), false, 3},
		"the context's": {sh(1, `exec yes`), true, StatusFailed},
	}
	running := map[string]<-chan outcome{}
	for name, c := range endings { // all at once, since each takes the patience with readers
		r, w := io.Pipe()
		defer r.Close() // ends the printer's last write
		c.job.Streams.Stdout, c.job.Limits.Grace = w, 100*time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if !c.cancel {
			c.job.Limits.Run = 2 * time.Second
		}
		running[name] = start(t, ctx, c.job)
		if c.cancel {
			_, err := r.Read(make([]byte, 1))
			require.NoError(t, err)
			cancel()
		}
	}
	for name, done := range running {
		t.Run(name, func(t *testing.T) {
			o := <-done
			require.Equal(t, endings[name].status, o.Status, "%v", o.err)
			require.Contains(t, fmt.Sprint(o.events), "output that nobody reads is dropped")
			requireGone(t, o.Job)
		})
	}
}

func TestBytesPassUnharmed(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for name, c := range map[string]struct {
		tag, script string
		want        []byte
	}{
		"every byte":     {"", `printf "` + octal(all) + `"`, all},
		"no valid UTF-8": {"", `printf "\377\376\300\200\n\377"`, []byte("\xff\xfe\xc0\x80\n\xff")},
		"a line of 5 MB": {"", `head -c 5000000 /dev/zero; echo`, append(make([]byte, 5_000_000), '\n')},
		"behind a tag":   {"{host}:{rank}: ", `printf "\000\377\n"`, []byte("localhost:0: \x00\xff\n")},
		"2 × 100 MB":     {"", `head -c 100000000 /dev/zero; head -c 100000000 /dev/zero`, make([]byte, 200_000_000)},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			job := sh(1, c.script)
			job.Hosts = append(job.Hosts, local(1))
			job.Streams.Stdout, job.Streams.Tag = &got, c.tag
			require.NoError(t, run(t, job).err)
			require.True(t, bytes.Equal(c.want, got.Bytes()))
		})
	}
}

// octal writes bytes as printf(1) takes them.
func octal(b []byte) (s string) {
	for _, c := range b {
		s += fmt.Sprintf(`\%03o`, c)
	}
	return s
}

func TestWhatARankWroteBeforeItDiedArrivesFirst(t *testing.T) {
	for name, streams := range map[string]Streams{
		"on another host": {},
		"plain":           {},
		"tagged":          {Tag: "{host}:{rank}| "},
		"timed":           {Tag: "{time} {rank}| "},
		"raw":             {Raw: true},
		"merged":          {Merge: true},
		"tagged raw":      {Tag: "{rank}| ", Raw: true},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			const script = `head -c 1000000 /dev/zero | tr "\000" x; echo last words >&2; kill -SEGV $$`
			job := sh(1, script)
			if name == "on another host" {
				job, _ = hosts(t, []int{1}, script)
			}
			job.Streams = streams
			job.Streams.Stdout = &got
			job.Events = func(e Event) {
				if e.Kind == Ended {
					require.Equal(t, 1_000_000, strings.Count(got.String(), "x"), "the end was told of before")
				}
			}
			o := run(t, job)
			require.Equal(t, 128+int(syscall.SIGSEGV), o.Status)
			require.True(t, strings.HasSuffix(string(o.First.Tail), "last words\n"))
		})
	}
}

func TestLinesInPiecesStayWhole(t *testing.T) {
	const n = 300
	job, _ := hosts(t, []int{2, 2}, fmt.Sprintf(`
		i=0; while [ $i -lt %d ]; do printf "rank $GORUN_RANK"; test $((i %% 50)) = 0 && sleep 0.001; printf " line $i"; printf "\n"; i=$((i+1)); done; printf "end $GORUN_RANK"`, n))
	job.Streams.Tag = "{host}:{rank}: "
	o := run(t, job)
	require.NoError(t, o.err)
	got := lines(o.stdout)
	require.Len(t, got, 4*(n+1))
	for _, line := range got {
		require.Regexp(t, `^127\.0\.0\.[23]:(\d): (rank \d line \d+|end \d)$`, line)
	}
}
