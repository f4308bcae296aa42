//go:build linux

package endtoend

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

// python is Debian's, for which python3-torch is made, whatever PATH has before it.
const python = "/usr/bin/python3"

// needTorch skips the test where there is no torch.
func needTorch(t *testing.T) {
	t.Helper()
	find := `import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)`
	if out, err := exec.Command(python, "-c", find).CombinedOutput(); err != nil {
		t.Skipf("%s has no torch (Debian's python3-torch): %v %s", python, err, out)
	}
}

// scripts is a folder that all hosts see, with the examples' script and others.
func scripts(t *testing.T, others map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	b, err := os.ReadFile("../../examples/torch/train.py")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "torch"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "torch/train.py"), b, 0o755))
	for name, text := range others {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// What a rank says and where the traceback of another goes. Those that live
// wait longer than the test.
const failing = `import os, sys, time
import torch
import torch.distributed as dist

def fail():
    raise ValueError("of one rank")

dist.init_process_group("gloo")
total = torch.tensor([10 ** dist.get_rank()])
dist.all_reduce(total)
print(dist.get_rank(), os.environ["MASTER_ADDR"], total.item())
dist.barrier()
if dist.get_rank() == 3:
    fail()
time.sleep(600)
`

// Programs of torch run unchanged: they meet at what the environment says, over
// addresses at which the hosts reach each other, though each of these hosts
// takes itself for 127.0.1.1.
func TestTorch(t *testing.T) {
	needTorch(t)
	dir := scripts(t, map[string]string{"fail.py": failing})
	c := stage(t, cluster.Config{Hosts: 2, Slots: 2, Share: []string{dir}})

	t.Run("a model has one result, on one process and on four", func(t *testing.T) {
		alone, err := exec.Command(python, "../../examples/torch/train.py").Output()
		require.NoError(t, err)
		want := results(t, string(alone), 1)
		// The program's path is relative to the folder that -wd names.
		got := results(t, run(t, c, "-wd", dir, "torch/train.py"), 4)
		require.InDeltaSlice(t, want, got, 1e-9)
	})

	t.Run("a rank that raises", func(t *testing.T) {
		j := gorun(c, "-wd", dir, "python3", "fail.py", marker)
		require.NoError(t, j.Start())
		require.Equal(t, 1, j.status(t), "%s", &j.stderr)
		for _, got := range words(t, j.stdout.String(), 4) {
			require.Equal(t, []string{c.Hosts[0].Addr.String(), "1111"}, got, "MASTER_ADDR and what was reduced")
		}
		require.Regexp(t, `Traceback \(most recent call last\):
  File "`+regexp.QuoteMeta(filepath.Join(dir, "fail.py"))+`", line \d+, in <module>
    fail\(\)
  File ".*", line \d+, in fail
    raise ValueError\("of one rank"\)
ValueError: of one rank
`, j.stderr.String())
		require.Contains(t, j.stderr.String(), "gorun: error: rank 3 on node2 exited with status 1 (ValueError: of one rank)\n")
		requireClean(t, c)
	})
}

// results reads the numbers that the example prints.
func results(t *testing.T, stdout string, ranks int) []float64 {
	t.Helper()
	found := regexp.MustCompile(fmt.Sprintf(`^%d ranks?: loss ([0-9.]+), weights ([0-9.]+)\n$`, ranks)).FindStringSubmatch(stdout)
	require.NotNil(t, found, "%q", stdout)
	var numbers []float64
	for _, s := range found[1:] {
		x, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		numbers = append(numbers, x)
	}
	return numbers
}
