package launcher

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
)

// shellOf starts a host whose users have another login shell, by a job of one
// rank there.
func shellOf(t *testing.T, conf sshserver.Config) *Job {
	t.Helper()
	s := sshserver.Start(t, conf)
	job := sh(1, "")
	job.Hosts, job.Local = []hostfiles.Host{s.Entry()}, "never"
	job.SSH.Config = s.Config
	return job
}

// spy writes a program that prints its arguments and its environment as the
// kernel has them, and returns its path.
func spy(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\ncat /proc/$$/cmdline; printf '\\000'; cat /proc/$$/environ\n"), 0o755))
	return path
}

// No shell, whichever the host has and whatever its locale, has a part in what
// a program is given.
func TestWordsArriveUnchangedThroughEveryShell(t *testing.T) {
	args := []string{
		"1   2   3", "", "a\nb", `"q" '$HOME' * ; & | \ ~ ! #`, "`id` $(id) ${HOME} %s %n", "ünï", "\xff\x01",
		"-n", "--", ":", strings.Repeat("x", 100<<10),
	}
	variables := []string{
		`J={"a": "b"}`, "P=64(x2)", "N=l1\nl2\n", "E=", "Q=a=b", "X='\"$`\\",
		"BASH_FUNC_ml%%=() {  eval `modulecmd bash $*`\n}", "L=" + strings.Repeat("y", 100<<10),
	}
	for _, shell := range []string{"dash", "bash", "csh", "tcsh", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not installed", shell)
			}
			job := shellOf(t, sshserver.Config{Shell: path, Env: []string{"LC_ALL=C", "LANG=xx_XX.UTF-8"}})
			program := spy(t, filepath.Join(t.TempDir(), "a folder", `it's "ünï" $HOME;x`))
			job.Apps[0].Args = append([]string{program}, args...)
			job.Env.Set = variables
			o := run(t, job)
			require.NoError(t, o.err, o.stderr)
			words := strings.Split(o.stdout, "\x00")
			// The kernel puts the interpreter before the script.
			require.Equal(t, append([]string{"/bin/sh", program}, args...), words[:2+len(args)])
			require.Subset(t, words[2+len(args):], variables)
		})
	}
}

// More than the usual room for a program's words, of which the kernel lets
// them have a quarter of the stack.
func TestAnEnvironmentLargerThanTheUsualRoom(t *testing.T) {
	job, _ := hosts(t, []int{1}, "")
	job.Apps[0].Args = []string{spy(t, filepath.Join(t.TempDir(), "spy"))}
	for i := range 30 {
		job.Env.Set = append(job.Env.Set, fmt.Sprintf("LARGE%d=%s", i, strings.Repeat("z", 100<<10)))
	}
	o := run(t, job)
	require.NoError(t, o.err, o.stderr)
	require.Subset(t, strings.Split(o.stdout, "\x00"), job.Env.Set)
}
