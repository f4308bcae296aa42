package launcher

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/stdio"
)

// filesOf returns the names and contents of a folder's files.
func filesOf(t *testing.T, dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(b)
	}
	return files
}

func TestFilesOfRanks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	job := sh(11, `printf "out $GORUN_RANK"; test $GORUN_RANK = 9 && echo err >&2; exit 0`)
	job.Streams.Dir, job.Streams.Tag = dir, "{rank}| "
	o := run(t, job)
	require.NoError(t, o.err)
	want := map[string]string{}
	for r := range 11 {
		want[fmt.Sprintf("rank.%02d.out", r)] = fmt.Sprintf("out %d", r)
		want[fmt.Sprintf("rank.%02d.err", r)] = ""
	}
	want["rank.09.err"] = "err\n"
	require.Equal(t, want, filesOf(t, dir))
	require.Contains(t, o.stdout, "10| out 10", "shown too")

	// Again: what was there is replaced, what is not ours stays.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes"), []byte("mine"), 0o600))
	job = sh(1, `echo one; echo two >&2; echo three`)
	job.Streams.Dir, job.Streams.Merge = dir, true
	require.NoError(t, run(t, job).err)
	want["notes"], want["rank.0.out"] = "mine", "one\ntwo\nthree\n"
	require.Equal(t, want, filesOf(t, dir))
}

func TestAttemptsShareTheirFiles(t *testing.T) {
	job := sh(1, `echo attempt $GORUN_ATTEMPT; exit $((1 - GORUN_ATTEMPT))`)
	job.Streams.Dir, job.Restarts = t.TempDir(), 1
	require.NoError(t, run(t, job).err)
	require.Equal(t, "attempt 0\nattempt 1\n", filesOf(t, job.Streams.Dir)["rank.0.out"])
}

func TestAFullDiskNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "rank.1.out")
	require.NoError(t, os.Symlink("/dev/full", full))
	job := sh(2, `echo some; test $GORUN_RANK = 1 && exit 0; exec sleep 60`)
	job.Streams.Dir = dir
	o := run(t, job)
	require.ErrorIs(t, o.err, syscall.ENOSPC)
	require.ErrorContains(t, o.err, full)
	require.Equal(t, StatusFailed, o.Status)
	require.Contains(t, o.stdout, "some\n", "the reader gets it all the same")
}

func TestAFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	job := sh(1, `echo started >&2`)
	job.Streams.Dir = file
	o := run(t, job)
	require.ErrorContains(t, o.err, file)
	require.Equal(t, StatusFailed, o.Status)
	require.Empty(t, o.stderr, "a rank was started")
}

func TestANamedPipeIsNoFileForOutput(t *testing.T) {
	for _, read := range []bool{false, true} {
		t.Run(fmt.Sprintf("read=%t", read), func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "rank.0.out")
			require.NoError(t, syscall.Mkfifo(pipe, 0o600))
			if read {
				reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
				require.NoError(t, err)
				defer reader.Close()
			}
			job := sh(1, `echo started >&2`)
			job.Streams.Dir = filepath.Dir(pipe)
			o := run(t, job)
			require.ErrorContains(t, o.err, pipe+": expected a regular file")
			require.Equal(t, StatusFailed, o.Status)
			require.Empty(t, o.stderr, "a rank was started")
		})
	}
}

func TestMoreFilesThanMayBeOpen(t *testing.T) {
	const ranks = maxOpenFiles
	dir := t.TempDir()
	f, err := createFiles(&Streams{Dir: dir}, ranks, false)
	require.NoError(t, err)
	for line := range 3 {
		for rank := range ranks {
			for _, s := range []stdio.Stream{stdio.Stdout, stdio.Stderr} {
				require.NoError(t, f.write(rank, s, fmt.Appendf(nil, "%v %d\n", s, line)))
				require.LessOrEqual(t, len(f.open), maxOpenFiles)
			}
		}
	}
	require.NoError(t, f.close())
	files := filesOf(t, dir)
	require.Len(t, files, 2*ranks)
	for name, text := range files {
		require.Equal(t, "std"+name[len("rank.000."):]+" 0", strings.SplitN(text, "\n", 2)[0], name)
		require.Equal(t, 3, strings.Count(text, "\n"), name)
	}
}

func TestOnlySomeRanksAreShown(t *testing.T) {
	job := sh(4, `echo out $GORUN_RANK; echo err $GORUN_RANK >&2; test $GORUN_RANK = 3 && sleep 0.1 && exit 3; exec sleep 60`)
	job.Streams.Show = []int{0, 2}
	o := run(t, job)
	require.ElementsMatch(t, []string{"out 0", "out 2"}, lines(o.stdout))
	require.ElementsMatch(t, []string{"err 0", "err 2"}, lines(o.stderr))
	require.Equal(t, "err 3\n", string(o.First.Tail), "the last words of a rank that is not shown")
}
