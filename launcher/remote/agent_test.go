package remote

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newFakeAgent returns a program that says what it was started with, then
// echoes its input. It is a script, padded to the size of a small program.
func newFakeAgent(t testing.TB) *Program {
	t.Helper()
	text := "#!/bin/sh\nprintf '<%s>' \"$@\"\nprintf '\\n--\\n'\necho oops >&2\nexec cat\n"
	text += "#" + strings.Repeat("padding", 1<<17) + "\n"
	p, err := NewProgram(writeFile(t, "agent", text, 0o755))
	require.NoError(t, err)
	p.folders = `"$HOME/.cache/gorun"`
	return p
}

// login is a way to this host that needs no server: a login shell with an
// environment.
type login struct {
	shell string
	env   []string
	wrap  func(Stream) Stream // nil: as it is
}

func newLogin(t testing.TB, shell string, env ...string) *login {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	return &login{shell: shell, env: append([]string{"HOME=" + home, "PATH=/usr/bin:/bin"}, env...)}
}

func (l *login) home() string { return strings.TrimPrefix(l.env[0], "HOME=") }

func (l *login) run(command string, stderr io.Writer) (Stream, error) {
	words := slices.Concat([]string{"/usr/bin/env", "-i"}, l.env, []string{l.shell, "-c", command})
	s, err := StartLocal(words, stderr)
	if err != nil || l.wrap == nil {
		return s, err
	}
	return l.wrap(s), nil
}

// start starts p and fails the test if that fails.
func (l *login) start(t testing.TB, p *Program, start Start) Stream {
	t.Helper()
	s, err := p.Start(t.Context(), "node1", start, l.run)
	require.NoError(t, err)
	return s
}

// finish talks to an agent that newFakeAgent made, and returns what it
// greets with.
func finish(t testing.TB, s Stream) string {
	t.Helper()
	binary := make([]byte, 256)
	for i := range binary {
		binary[i] = byte(i)
	}
	_, err := s.Write(binary)
	require.NoError(t, err)
	require.NoError(t, s.CloseWrite())
	out, err := io.ReadAll(s)
	require.NoError(t, err)
	require.NoError(t, s.Wait())
	require.NoError(t, s.Close())
	greeting, rest, _ := strings.Cut(string(out), "\n--\n")
	require.Equal(t, string(binary), rest, "the stream belongs to the agent from its first byte")
	return greeting
}

// counter counts uploads.
type counter struct {
	mu             sync.Mutex
	begun, running int
}

func (c *counter) uploading() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	c.running++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running--
	}
}

func requireCached(t testing.TB, p *Program, folder string) {
	t.Helper()
	d, err := p.own.digest()
	require.NoError(t, err)
	want, err := os.ReadFile(p.Path())
	require.NoError(t, err)
	name := filepath.Join(folder, "gorun-"+d.hash)
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "the stored program differs")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 2, "the program and the folder's id, nothing half done: %v", entries)
}

func TestStartUnderEveryShell(t *testing.T) {
	args := []string{"agent", "1   2   3", "", `"q" $HOME * ; & | ! \ \n`, "a\nb", "it's", "ünï", "%s%n", `\0101\c`, "\t", strings.Repeat("x", 100_000)}
	for _, shell := range []string{"dash", "bash", "tcsh", "csh", "fish", "zsh", "ksh", "mksh"} {
		t.Run(shell, func(t *testing.T) {
			path := lookPath(t, shell)
			l := newLogin(t, path)
			p := newFakeAgent(t)
			for round, uploads := range []int{1, 0} {
				var count counter
				var stderr bytes.Buffer
				s := l.start(t, p, Start{Args: args, Stderr: &stderr, Uploading: count.uploading})
				require.Equal(t, "<"+strings.Join(args, "><")+">", finish(t, s))
				require.Equal(t, uploads, count.begun, "uploads in round %d", round)
				require.Zero(t, count.running)
				require.Equal(t, "oops\n", stderr.String())
				requireCached(t, p, l.home()+"/.cache/gorun")
			}
		})
	}
}

// The script runs in /bin/sh, which is another program on each system. With
// BusyBox come its own tools, whose head reads ahead.
func TestScriptUnderEveryPOSIXShell(t *testing.T) {
	for _, sh := range []string{"dash", "bash", "ksh", "mksh", "busybox"} {
		t.Run(sh, func(t *testing.T) {
			path := lookPath(t, sh)
			tools := t.TempDir()
			require.NoError(t, os.Symlink(path, tools+"/sh"))
			if sh == "busybox" {
				for _, tool := range []string{"cat", "chmod", "gzip", "head", "id", "ls", "mkdir", "mv", "rm", "sha256sum", "uname", "wc"} {
					require.NoError(t, os.Symlink(path, tools+"/"+tool))
				}
			}
			l := newLogin(t, "/bin/sh")
			l.env[1] = "PATH=" + tools + ":/usr/bin:/bin"
			run := func(command string, stderr io.Writer) (Stream, error) {
				return l.run(strings.Replace(command, "/bin/sh", tools+"/sh", 1), stderr)
			}
			p := newFakeAgent(t)
			for range 2 {
				s, err := p.Start(t.Context(), "node1", Start{Args: []string{"a"}}, run)
				require.NoError(t, err)
				require.Equal(t, "<a>", finish(t, s))
				requireCached(t, p, l.home()+"/.cache/gorun")
			}
		})
	}
}

func TestStartRefusesZeroBytes(t *testing.T) {
	_, err := newFakeAgent(t).Start(t.Context(), "node1", Start{Args: []string{"a\x00b"}}, newLogin(t, "/bin/sh").run)
	require.ErrorContains(t, err, "zero byte")
}

// A shell's start files print, linger, and do not end with a newline.
func TestNoiseIsNotTheAgents(t *testing.T) {
	rc := writeFile(t, "rc", "echo 'Welcome to node1'; printf 'gorun-'; yes banner | head -c 10240; echo trouble >&2; printf 'node1> '\n", 0o644)
	l := newLogin(t, lookPath(t, "bash"), "BASH_ENV="+rc)
	var stderr bytes.Buffer
	s := l.start(t, newFakeAgent(t), Start{Args: []string{"a"}, Stderr: &stderr})
	require.Equal(t, "<a>", finish(t, s))
	require.Equal(t, "oops\n", stderr.String())
}

func TestEndlessNoiseIsRefused(t *testing.T) {
	rc := writeFile(t, "rc", "yes", 0o644)
	l := newLogin(t, lookPath(t, "bash"), "BASH_ENV="+rc)
	_, err := newFakeAgent(t).Start(t.Context(), "node1", Start{}, l.run)
	require.ErrorContains(t, err, `more than 1048576 bytes and did not run the command; it printed "y"`)
}

func TestShellThatEndsEarly(t *testing.T) {
	rc := writeFile(t, "rc", "echo 'This account is not available.'; echo 'quota exceeded' >&2; exit 3", 0o644)
	l := newLogin(t, lookPath(t, "bash"), "BASH_ENV="+rc)
	_, err := newFakeAgent(t).Start(t.Context(), "node1", Start{}, l.run)
	var at *Error
	require.ErrorAs(t, err, &at)
	require.Equal(t, "node1", at.Host)
	require.Equal(t, StepAgent, at.Step)
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.Status)
	require.ErrorContains(t, err, `it printed "This account is not available."`)
	require.ErrorContains(t, err, `it printed "quota exceeded"`)
}

func TestStartEndsWithItsContext(t *testing.T) {
	rc := writeFile(t, "rc", "echo waiting; read x", 0o644) // takes the script
	l := newLogin(t, lookPath(t, "bash"), "BASH_ENV="+rc)
	cause := io.ErrNoProgress
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, cause)
	defer cancel()
	_, err := newFakeAgent(t).Start(ctx, "node1", Start{}, l.run)
	require.ErrorIs(t, err, cause)
}

func TestFolders(t *testing.T) {
	const folders = `"${XDG_CACHE_HOME:+$XDG_CACHE_HOME/gorun}" "$HOME/.cache/gorun" "$SPARE/gorun"`
	tests := []struct {
		name    string
		prepare func(t *testing.T, home string) // what is wrong with home
		env     func(home string) []string
		want    string // "home", "spare", "xdg", or a part of the error
	}{
		{"plain home", func(*testing.T, string) {}, nil, "home"},
		{"cache folder is there", func(t *testing.T, home string) {
			require.NoError(t, os.MkdirAll(home+"/.cache/gorun", 0o700))
		}, nil, "home"},
		{"no home", func(t *testing.T, home string) { require.NoError(t, os.Remove(home)) }, nil, "spare"},
		{"home is a file", func(t *testing.T, home string) {
			require.NoError(t, os.Remove(home))
			require.NoError(t, os.WriteFile(home, nil, 0o600))
		}, nil, "spare"},
		{"symbolic link", func(t *testing.T, home string) {
			require.NoError(t, os.Mkdir(home+"/.cache", 0o700))
			require.NoError(t, os.Mkdir(home+"/elsewhere", 0o700))
			require.NoError(t, os.Symlink(home+"/elsewhere", home+"/.cache/gorun"))
		}, nil, "spare"},
		{"open to others", func(t *testing.T, home string) {
			require.NoError(t, os.MkdirAll(home+"/.cache/gorun", 0o755))
			require.NoError(t, os.Chmod(home+"/.cache/gorun", 0o755))
		}, nil, "spare"},
		{"XDG_CACHE_HOME", func(*testing.T, string) {}, func(home string) []string { return []string{"XDG_CACHE_HOME=" + home + "/xdg"} }, "xdg"},
		{"relative XDG_CACHE_HOME", func(*testing.T, string) {}, func(string) []string { return []string{"XDG_CACHE_HOME=xdg"} }, "home"},
		{"none is left", func(t *testing.T, home string) {
			require.NoError(t, os.MkdirAll(home+"/.cache/gorun", 0o755))
			require.NoError(t, os.Chmod(home+"/.cache/gorun", 0o755))
		}, func(string) []string { return []string{"SPARE=/dev/null/a"} },
			"/.cache/gorun has mode drwxr-xr-x, expected drwx------; /dev/null/a/gorun cannot be made"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spare := t.TempDir()
			l := newLogin(t, "/bin/sh", "SPARE="+spare)
			if tt.env != nil {
				l.env = append(l.env, tt.env(l.home())...)
			}
			tt.prepare(t, l.home())
			p := newFakeAgent(t)
			p.folders = folders
			s, err := p.Start(t.Context(), "node1", Start{Args: []string{"a"}}, l.run)
			places := map[string]string{"home": l.home() + "/.cache/gorun", "spare": spare + "/gorun", "xdg": l.home() + "/xdg/gorun"}
			folder, ok := places[tt.want]
			if !ok {
				require.ErrorContains(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "<a>", finish(t, s))
			requireCached(t, p, folder)
		})
	}
}

// A stored program that was damaged is replaced, not run.
func TestTruncatedProgramIsSentAgain(t *testing.T) {
	l := newLogin(t, "/bin/sh")
	p := newFakeAgent(t)
	finish(t, l.start(t, p, Start{}))
	d, err := p.own.digest()
	require.NoError(t, err)
	require.NoError(t, os.Truncate(l.home()+"/.cache/gorun/gorun-"+d.hash, 100))

	p2, err := NewProgram(p.Path()) // another job
	require.NoError(t, err)
	p2.folders = p.folders
	finish(t, l.start(t, p2, Start{}))
	requireCached(t, p, l.home()+"/.cache/gorun")
}

// damagedStream flips a bit of what is uploaded.
type damagedStream struct {
	Stream
	written int
}

func (s *damagedStream) Write(p []byte) (int, error) {
	q := bytes.Clone(p)
	if len(q) > 4096 && s.written > 1000 { // neither the script nor the size
		q[len(q)/2] ^= 1
	}
	s.written += len(p)
	return s.Stream.Write(q)
}

func TestDamagedUploadIsNotStored(t *testing.T) {
	spare := t.TempDir()
	l := newLogin(t, "/bin/sh", "SPARE="+spare)
	l.wrap = func(s Stream) Stream { return &damagedStream{Stream: s} }
	p := newFakeAgent(t)
	p.folders = `"$HOME/.cache/gorun" "$SPARE/gorun"`
	_, err := p.Start(t.Context(), "node1", Start{}, l.run)
	require.ErrorContains(t, err, "no folder of the host can keep the program")
	for _, folder := range []string{l.home() + "/.cache/gorun", spare + "/gorun"} {
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing but the folder's id: %v", entries)
	}
}

// brokenStream ends in the middle of an upload.
type brokenStream struct{ Stream }

func (s *brokenStream) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("\x1f\x8b")) { // gzip's magic number
		s.Stream.Write(p[:len(p)/2])
		s.Stream.Close()
		return 0, io.ErrClosedPipe
	}
	return s.Stream.Write(p)
}

func TestBrokenUploadLeavesNothing(t *testing.T) {
	l := newLogin(t, "/bin/sh")
	l.wrap = func(s Stream) Stream { return &brokenStream{s} }
	_, err := newFakeAgent(t).Start(t.Context(), "node1", Start{}, l.run)
	require.Error(t, err)
	entries, err := os.ReadDir(l.home() + "/.cache/gorun")
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing but the folder's id: %v", entries)
}

// Hosts that share a home start at once: it is filled once, and all run the
// program.
func TestSharedHomeIsFilledOnce(t *testing.T) {
	l := newLogin(t, "/bin/sh")
	p := newFakeAgent(t)
	var sent counter
	l.wrap = func(s Stream) Stream { return &countedStream{Stream: s, big: &sent} }
	var count counter
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := p.Start(t.Context(), "node1", Start{Args: []string{"a"}, Uploading: count.uploading}, l.run)
			if err != nil {
				t.Error(err)
				return
			}
			if got := finish(t, s); got != "<a>" {
				t.Errorf("agent said %q", got)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, sent.begun, "uploads")
	require.Zero(t, count.running)
	requireCached(t, p, l.home()+"/.cache/gorun")
}

// countedStream counts writes after the script, but for short answers.
type countedStream struct {
	Stream
	big    *counter
	script bool
}

func (s *countedStream) Write(p []byte) (int, error) {
	if s.script && len(p) > 1000 {
		s.big.uploading()()
	}
	s.script = true
	return s.Stream.Write(p)
}

// Folders that have one id because a disk was copied are filled each.
func TestCopiedFoldersAreFilledEach(t *testing.T) {
	p := newFakeAgent(t)
	for range 2 {
		l := newLogin(t, "/bin/sh")
		require.NoError(t, os.MkdirAll(l.home()+"/.cache/gorun", 0o700))
		require.NoError(t, os.WriteFile(l.home()+"/.cache/gorun/id", []byte("copied\n"), 0o600))
		finish(t, l.start(t, p, Start{}))
		requireCached(t, p, l.home()+"/.cache/gorun")
	}
}

func TestOtherSystems(t *testing.T) {
	tools := t.TempDir()
	require.NoError(t, os.WriteFile(tools+"/uname", []byte("#!/bin/sh\necho Linux riscv64\n"), 0o755))
	l := newLogin(t, "/bin/sh", "PATH="+tools+":/usr/bin:/bin")
	p := newFakeAgent(t)
	_, err := p.Start(t.Context(), "node1", Start{}, l.run)
	require.ErrorContains(t, err, "GOOS=linux GOARCH=riscv64 CGO_ENABLED=0 go build -o "+filepath.Dir(p.Path())+"/gorun-linux-riscv64 ./cmd/gorun")

	text, err := os.ReadFile(p.Path())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Dir(p.Path())+"/gorun-linux-riscv64", append(text, "# riscv\n"...), 0o755))
	require.Equal(t, "<a>", finish(t, l.start(t, p, Start{Args: []string{"a"}})))

	require.NoError(t, os.WriteFile(tools+"/uname", []byte("#!/bin/sh\necho Plan9 mips\n"), 0o755))
	_, err = p.Start(t.Context(), "node1", Start{}, l.run)
	require.ErrorContains(t, err, `"Plan9 mips"`)
}

func TestGoSystem(t *testing.T) {
	for system, want := range map[string]string{
		"Linux x86_64": "linux/amd64", "Linux aarch64": "linux/arm64", "Linux i686": "linux/386", "Linux armv7l": "linux/arm",
		"Darwin arm64": "darwin/arm64", "Linux": "", "SunOS sun4v": "",
	} {
		goos, goarch, ok := goSystem(system)
		require.Equal(t, want != "", ok, system)
		if ok {
			require.Equal(t, want, goos+"/"+goarch)
		}
	}
}

func TestBootCommandIsPlainInEveryShell(t *testing.T) {
	inner := strings.TrimSuffix(strings.TrimPrefix(bootCommand, "exec /bin/sh -c '"), "'")
	require.NotEqual(t, bootCommand, inner)
	require.False(t, strings.ContainsAny(inner, "'!\\\n"), "csh and fish read these inside quotes")
}

// What a power loss leaves has its name and its size.
func TestADamagedProgramIsSentAgain(t *testing.T) {
	for name, damage := range map[string]func(program []byte) []byte{
		"zeroed":            func(program []byte) []byte { return make([]byte, len(program)) },
		"zeroed at its end": func(program []byte) []byte { return append(program[:4096:4096], make([]byte, len(program)-4096)...) },
		"cut off":           func(program []byte) []byte { return program[:len(program)/2] },
		"empty":             func([]byte) []byte { return nil },
		"another":           func(program []byte) []byte { return append([]byte("#!/bin/false\n"), program[13:]...) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLogin(t, "/bin/sh")
			p := newFakeAgent(t)
			finish(t, l.start(t, p, Start{}))
			d, err := p.own.digest()
			require.NoError(t, err)
			program, err := os.ReadFile(p.Path())
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(l.home()+"/.cache/gorun/gorun-"+d.hash, damage(program), 0o700))
			later, err := NewProgram(p.Path())
			require.NoError(t, err)
			later.folders = p.folders
			for round, uploads := range []int{1, 0} {
				var count counter
				s := l.start(t, later, Start{Args: []string{"a"}, Doubt: true, Uploading: count.uploading})
				require.Equal(t, "<a>", finish(t, s))
				require.Equal(t, uploads, count.begun, "uploads in round %d", round)
				requireCached(t, p, l.home()+"/.cache/gorun")
			}
		})
	}
}
