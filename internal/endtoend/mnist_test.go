//go:build linux

package endtoend

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// trained reads the last lines of the training.
func trained(t *testing.T, stdout string) (accuracy float64, weights string) {
	t.Helper()
	found := regexp.MustCompile(`test accuracy ([0-9.]+)%`).FindAllStringSubmatch(stdout, -1)
	require.NotEmpty(t, found, "%s", stdout)
	accuracy, err := strconv.ParseFloat(found[len(found)-1][1], 64)
	require.NoError(t, err)
	sum := regexp.MustCompile(`[0-9a-f]{16,}`).FindString(stdout)
	require.NotEmpty(t, sum, "%s", stdout)
	return accuracy, sum
}

// The acceptance of the whole: the example reaches 97 % on one host and on
// four, and for one world size the weights are the same to the bit wherever
// the ranks were.
func TestMNIST(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 4, Slots: 2})
	files := []string{"--stage"}
	for _, f := range mnistData(t) {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		here := filepath.Join(c.Dir, filepath.Base(f)) // the head sees no more of the machine
		require.NoError(t, os.WriteFile(here, b, 0o644))
		files = append(files, "--stage-file", here)
	}
	over := func(program []string, args ...string) (float64, string) {
		args = append(append(args, files...), "./mnist")
		return trained(t, run(t, c, append(args, program...)...))
	}
	here := func(args ...string) (float64, string) {
		args = append([]string{"-np", "4", filepath.Join(build(t), "mnist"), "-data", filepath.Dir(mnistData(t)[0])}, args...)
		out, err := exec.Command(filepath.Join(build(t), "gorun"), args...).Output()
		require.NoError(t, err)
		return trained(t, string(out))
	}
	accuracy, _ := here()
	require.GreaterOrEqual(t, accuracy, 97.0)
	accuracy, _ = over(nil, "-np", "8")
	require.GreaterOrEqual(t, accuracy, 97.0)

	short := []string{"-epochs", "1"}
	_, local := here(short...)
	_, twoHosts := over(short, "-np", "4")
	_, fourHosts := over(short, "-np", "4", "--map-by", "node")
	require.Equal(t, local, twoHosts)
	require.Equal(t, local, fourHosts)
}
