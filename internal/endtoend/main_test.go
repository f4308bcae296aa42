//go:build linux

package endtoend

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// The test binary is also the rank program of tests that need one: staged to
// the hosts and called with the name of a role.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		if role := roles[os.Args[1]]; role != nil {
			if err := role(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	m.Run()
	os.RemoveAll(built.dir)
}

// built is where the programs under test are, built once as they ship.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func build(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "endtoend-"); built.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-tags=urfave_cli_no_docs", "-o", built.dir, "./cmd/gorun", "./examples/...")
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	require.NoError(t, built.err)
	return built.dir
}

// stage makes a cluster whose head has the programs in its folder.
func stage(t *testing.T, conf cluster.Config) *cluster.Cluster {
	t.Helper()
	c := cluster.New(t, conf)
	equip(t, c)
	return c
}

// equip puts the programs into the folder of a cluster's head.
func equip(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, name := range []string{"gorun", "hello", "allreduce", "mnist"} {
		b, err := os.ReadFile(filepath.Join(build(t), name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(c.Dir, name), b, 0o755))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	b, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "role"), b, 0o755))
}

// job is a gorun on the head of a cluster.
type job struct {
	*cluster.Cmd
	stdout, stderr bytes.Buffer
}

// gorun prepares a job on all hosts of the cluster.
func gorun(c *cluster.Cluster, args ...string) *job {
	j := &job{}
	args = append([]string{"-hostfile", c.Hostfile, "-F", c.SSHConfig}, args...)
	j.Cmd = c.Command(context.Background(), filepath.Join(c.Dir, "gorun"), args...)
	j.Cmd.Dir = c.Dir
	j.Cmd.Stdout, j.Cmd.Stderr = &j.stdout, &j.stderr
	return j
}

// run runs a job that must succeed and returns what it printed.
func run(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	j := gorun(c, args...)
	require.NoError(t, j.Run(), "stdout: %s\nstderr: %s", &j.stdout, &j.stderr)
	requireClean(t, c)
	return j.stdout.String()
}

// status runs out a started job and returns its exit status.
func (j *job) status(t *testing.T) int {
	t.Helper()
	j.Wait()
	require.NotNil(t, j.ProcessState)
	return j.ProcessState.ExitCode()
}

// requireClean waits, as long as the bar of five seconds allows, for every
// host to be rid of the job.
func requireClean(t *testing.T, c *cluster.Cluster, except ...*cluster.Host) {
	t.Helper()
	var left []string
	clean := func() bool {
		left = nil
		for _, h := range append([]*cluster.Host{c.Head}, c.Hosts...) {
			processes, err := h.Processes()
			require.NoError(t, err)
			for _, p := range processes {
				if s := p.String(); strings.Contains(s, "gorun") && strings.Contains(s, "agent") || strings.Contains(s, marker) {
					left = append(left, h.Name+": "+s)
				}
			}
			files, err := h.Files()
			require.NoError(t, err)
			for _, f := range files {
				if strings.Contains(f, "/job-") {
					left = append(left, h.Name+": "+f)
				}
			}
		}
		return len(left) == 0
	}
	require.Eventually(t, clean, 5*time.Second, 50*time.Millisecond, "left behind: %v", &left)
}

// marker is in the command line of programs that tests let run for long.
const marker = "31415926"
