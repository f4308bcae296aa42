package launcher

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestARankWithATerminal(t *testing.T) {
	job, _ := hosts(t, []int{1, 1}, `
		test $GORUN_RANK = 1 || { test -t 0 || test -t 1 || echo none; exit; }
		test -t 0 && test -t 1 && test -t 2 && stty size && read x && echo "got $x"
		trap "echo interrupted; exit 0" INT; kill -INT 0; sleep 10`)
	job.Streams.PTY, job.Streams.StdinTo = []int{1}, 1
	job.Streams.Stdin = strings.NewReader("five\n")
	o := run(t, job)
	require.NoError(t, o.err)
	require.ElementsMatch(t, []string{"none", "five\r", "24 80\r", "got five\r", "interrupted\r"}, lines(o.stdout))
}

func TestATerminalSeesTheEndOfItsInput(t *testing.T) {
	for name, stdin := range map[string]io.Reader{
		"at the beginning of a line": strings.NewReader("a\nb\n"),
		"within one":                 strings.NewReader("a\nb"),
		"at once":                    strings.NewReader(""),
		"without one":                nil,
	} {
		t.Run(name, func(t *testing.T) {
			want := 0
			if r, ok := stdin.(*strings.Reader); ok {
				want = r.Len()
			}
			job := sh(1, `stty -echo; echo ready; sleep 0.1; wc -c`)
			job.Streams.PTY, job.Streams.Stdin = []int{0}, stdin
			o := run(t, job)
			require.NoError(t, o.err)
			require.Contains(t, o.stdout, fmt.Sprintf("ready\r\n%d\r\n", want))
		})
	}
}

func TestARankThatEditsLinesItselfSeesTheEndOfItsInput(t *testing.T) {
	for name, stdin := range map[string]io.Reader{"after some": strings.NewReader("a\n"), "at once": nil} {
		t.Run(name, func(t *testing.T) {
			job := sh(1, `sleep 0.1; stty -icanon -echo; echo ready
				until test "$c" = 04; do c=$(dd bs=1 count=1 2>/dev/null | od -An -tx1 | tr -d " "); done`)
			job.Streams.PTY, job.Streams.Stdin = []int{0}, stdin
			job.Limits.Run = 20 * time.Second
			require.NoError(t, run(t, job).err)
		})
	}
}

func TestATerminalOutlastsTheStreamsOfItsRank(t *testing.T) {
	for name, stdin := range map[string]io.Reader{"that has read its input": strings.NewReader(""), "that has none": nil} {
		t.Run(name, func(t *testing.T) {
			job := sh(1, `exec >&- 2>&- <&-; sleep 0.2; exit 0`)
			job.Streams.PTY, job.Streams.Stdin = []int{0}, stdin
			require.NoError(t, run(t, job).err)
		})
	}
}

// newTerminal returns both sides of a pseudo-terminal of 30 lines.
func newTerminal(t *testing.T) (ours, users *os.File) {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { ours.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	resize(t, ours, 30)
	users, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { users.Close() })
	return ours, users
}

func resize(t *testing.T, tty *os.File, rows uint16) {
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: 100}))
}

func modes(t *testing.T, tty *os.File) unix.Termios {
	termios, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return *termios
}

func TestTheUsersTerminalIsTheRanks(t *testing.T) {
	person, terminal := newTerminal(t)
	before := modes(t, terminal)
	seen := &lockedBuffer{}
	go io.Copy(seen, person)
	sees := func(text string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(seen.String(), text) }, 10*time.Second, 5*time.Millisecond, "%q", seen)
	}

	job := sh(2, `
		test $GORUN_RANK = 1 && { until test -e `+t.TempDir()+`/never; do echo other; sleep 0.1; done; }
		stty size; trap "echo interrupted" INT; trap "stty size" WINCH
		printf "name? "; read name; echo "hello $name"
		until read line; do :; done; echo "then $line"; exit 7`)
	job.Streams = Streams{Stdin: terminal, Stdout: terminal, PTY: []int{0}, Tag: "{rank}| "}
	signals := make(chan os.Signal, 1)
	job.Signals = signals
	done := start(t, t.Context(), job)
	sees("30 100\r\n")
	sees("name? ")
	require.Zero(t, modes(t, terminal).Lflag&unix.ISIG, "the terminal is not raw")
	person.WriteString("x\x7fAda\r") // typed over
	sees("hello Ada\r\n")
	person.WriteString("\x03")
	sees("interrupted\r\n")
	resize(t, person, 40)
	signals <- syscall.SIGWINCH
	sees("40 100\r\n")
	person.WriteString("end\r")
	o := <-done
	require.Equal(t, 7, o.Status, "%v", o.err)
	sees("then end\r\n")
	sees("1| other\r\n")
	require.NotContains(t, seen.String(), "0| ", "a terminal's bytes pass as they come")
	require.Equal(t, before, modes(t, terminal), "the terminal was not restored")
}

func TestTheTerminalIsRestoredWhateverEndsTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		limit  time.Duration
	}{
		"a rank's failure":  {`exit 3`, 0},
		"another rank's":    {`test $GORUN_RANK = 1 && exit 3; exec sleep 60`, 0},
		"the time limit":    {`exec sleep 60`, 300 * time.Millisecond},
		"a lost agent":      {`test $GORUN_RANK = 1 && kill -KILL $PPID; exec sleep 60`, 0},
		"no program at all": {``, 0},
	} {
		t.Run(name, func(t *testing.T) {
			person, terminal := newTerminal(t)
			go io.Copy(io.Discard, person)
			before := modes(t, terminal)
			job := sh(2, c.script)
			if c.script == "" {
				job.Apps[0].Args = []string{"/no/such/program"}
			}
			job.Streams = Streams{Stdin: terminal, Stdout: io.Discard, PTY: []int{0}}
			job.Limits.Run = c.limit
			o := run(t, job)
			require.Error(t, o.err)
			require.Equal(t, before, modes(t, terminal))
		})
	}
}

func TestProgressBarsAreRewrittenOnATerminalOnly(t *testing.T) {
	const script = `for i in 1 2 3 4 5 6 7 8 9; do printf "\r${i}0 %%"; done; printf "\r100 %%\n"`
	o := run(t, sh(1, script))
	require.Equal(t, "\r10 %\r20 %\r30 %\r40 %\r50 %\r60 %\r70 %\r80 %\r90 %\r100 %\n", o.stdout)

	person, terminal := newTerminal(t)
	seen := &lockedBuffer{}
	go io.Copy(seen, person)
	job := sh(4, script)
	job.Streams = Streams{Stdout: terminal, Tag: "{rank}| "}
	require.NoError(t, run(t, job).err)
	require.Eventually(t, func() bool { return strings.Count(seen.String(), "| 100 %\r\n") == 4 }, 10*time.Second, 5*time.Millisecond)
	require.Less(t, strings.Count(seen.String(), "%"), 4*10)
}
