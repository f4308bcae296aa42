package remote

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireRoot skips a test of the full tier where it cannot run.
func requireRoot(t testing.TB) {
	t.Helper()
	if os.Getenv("GORUN_TEST_FULL") != "1" {
		t.Skip("mounts in a namespace of its own: set GORUN_TEST_FULL=1")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace: %v: %s", err, out)
	}
}

// inNamespace is a way to run that starts the login shell in a mount
// namespace, after some mounts.
func (l *login) inNamespace(mounts string) func(string, io.Writer) (Stream, error) {
	return func(command string, stderr io.Writer) (Stream, error) {
		script := mounts + ` && exec env -i "$@"`
		words := append([]string{"/usr/bin/unshare", "--mount", "sh", "-c", script, "sh"}, l.env...)
		return StartLocal(append(words, l.shell, "-c", command), stderr)
	}
}

func TestFolderThatCannotExecute(t *testing.T) {
	requireRoot(t)
	for _, sh := range []string{"dash", "bash", "busybox"} {
		t.Run(sh, func(t *testing.T) {
			tools := t.TempDir()
			require.NoError(t, os.Symlink(lookPath(t, sh), tools+"/sh"))
			spare := t.TempDir()
			l := newLogin(t, "/bin/sh", "SPARE="+spare)
			run := l.inNamespace("mount -t tmpfs -o noexec,mode=700 none " + l.home() + " && mount --bind " + tools + "/sh /bin/sh")
			p := newFakeAgent(t)
			p.folders = `"$HOME/.cache/gorun" "$SPARE/gorun"`
			s, err := p.Start(t.Context(), "node1", Start{Args: []string{"a"}}, run)
			require.NoError(t, err)
			require.Equal(t, "<a>", finish(t, s))
			requireCached(t, p, spare+"/gorun")

			p.folders = `"$HOME/.cache/gorun"`
			_, err = p.Start(t.Context(), "node1", Start{}, run)
			require.ErrorContains(t, err, "/.cache/gorun is mounted noexec")
		})
	}
}

func TestFullFolder(t *testing.T) {
	requireRoot(t)
	l := newLogin(t, "/bin/sh")
	run := l.inNamespace("mount -t tmpfs -o size=64k,mode=700 none " + l.home())
	_, err := newFakeAgent(t).Start(t.Context(), "node1", Start{}, run)
	require.ErrorContains(t, err, "/.cache/gorun has no room: stored ")
}

func TestReadOnlyFolder(t *testing.T) {
	requireRoot(t)
	l := newLogin(t, "/bin/sh")
	require.NoError(t, os.MkdirAll(l.home()+"/.cache/gorun", 0o700))
	run := l.inNamespace("mount --bind -o ro " + l.home() + " " + l.home())
	_, err := newFakeAgent(t).Start(t.Context(), "node1", Start{}, run)
	require.ErrorContains(t, err, "/.cache/gorun cannot be written")
}

// A folder of somebody else is not ours, whatever its mode.
func TestFolderOfSomebodyElse(t *testing.T) {
	requireRoot(t)
	l := newLogin(t, "/bin/sh")
	require.NoError(t, os.MkdirAll(l.home()+"/.cache/gorun", 0o700))
	require.NoError(t, os.Chown(l.home()+"/.cache/gorun", 65534, 65534))
	_, err := newFakeAgent(t).Start(t.Context(), "node1", Start{}, l.run)
	require.ErrorContains(t, err, "/.cache/gorun belongs to somebody else")
}

func TestHostWithoutGzip(t *testing.T) {
	requireRoot(t)
	l := newLogin(t, "/bin/sh")
	empty := t.TempDir()
	gzip, err := exec.LookPath("gzip")
	require.NoError(t, err)
	sum, err := exec.LookPath("sha256sum")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(empty+"/none", nil, 0o644))
	run := l.inNamespace("mount --bind " + empty + "/none " + gzip + " && mount --bind " + empty + "/none " + sum)
	p := newFakeAgent(t)
	s, err := p.Start(t.Context(), "node1", Start{Args: []string{"a"}}, run)
	require.NoError(t, err)
	require.Equal(t, "<a>", finish(t, s))
	requireCached(t, p, l.home()+"/.cache/gorun")
}
