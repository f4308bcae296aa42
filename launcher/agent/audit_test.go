//go:build linux

package agent

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/wire"
)

// put writes a file below a folder and returns its path.
func put(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, content, 0o644))
	return path
}

func TestDigestTellsBuildsApart(t *testing.T) {
	dir := t.TempDir()
	large := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	changed := func(at int) []byte {
		b := bytes.Clone(large)
		b[at]++
		return b
	}
	seen := map[string]string{}
	for name, content := range map[string][]byte{
		"empty": nil, "script": []byte("a"), "another script": []byte("b"),
		"large": large, "longer": append(bytes.Clone(large), 0),
		"another at the beginning": changed(1000), "another at the end": changed(len(large) - 1000),
	} {
		d := digest(put(t, dir, name, content))
		require.Len(t, d, 8)
		require.NotContains(t, seen, d, "%s is like %s", name, seen[d])
		seen[d] = name
		require.Equal(t, d, digest(put(t, dir, "again", content)))
	}
	require.Empty(t, digest(filepath.Join(dir, "missing")))
	require.Empty(t, digest(dir))
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o700))
	require.Empty(t, digest(pipe))
	require.Empty(t, readConf(pipe))
	require.ErrorContains(t, executable(pipe), "regular file")
}

// So what is sampled of a large program tells its builds apart, wherever they
// differ.
func TestBuildIDsAreWithinWhatIsSampled(t *testing.T) {
	for path, section := range map[string]string{"/proc/self/exe": ".note.go.buildid", "/bin/sh": ".note.gnu.build-id"} {
		f, err := elf.Open(path)
		require.NoError(t, err)
		defer f.Close()
		if id := f.Section(section); id != nil { // a distribution may have none
			require.LessOrEqual(t, id.Offset+id.FileSize, uint64(sampled))
		}
	}
}

func TestProgramsOfTheSystemAreNotCompared(t *testing.T) {
	dir := t.TempDir()
	own := put(t, dir, "train", []byte("own"))
	link := filepath.Join(dir, "sh")
	require.NoError(t, os.Symlink("/bin/sh", link))
	script := put(t, dir, "run.sh", []byte("echo"))
	for name, c := range map[string]struct {
		path string
		args []string
		want []string
	}{
		"a program of the user's":           {own, []string{"./train"}, []string{"program ./train"}},
		"one of the system's":               {"/bin/sh", []string{"sh", "-c", "true"}, nil},
		"a link to one of the system's":     {link, []string{"./sh"}, nil},
		"an interpreter, with what it runs": {"/bin/sh", []string{"sh", script}, []string{"program sh", "script " + script}},
	} {
		t.Run(name, func(t *testing.T) {
			start := &wire.Start{Hosts: []wire.Host{{Ranks: []int{0}}}, Apps: []wire.App{{Args: c.args, Ranks: []int{0}}}}
			a := &agent{start: &share{Start: start}}
			var told []string
			for _, f := range a.facts([]*program{{path: c.path, dir: dir}}) {
				if strings.HasPrefix(f.What, "program ") || strings.HasPrefix(f.What, "script ") {
					told = append(told, f.What)
				}
			}
			require.Equal(t, c.want, told)
		})
	}
}

// Programs of the same name are not compared with each other, nor their libraries.
func TestProgramsAreComparedEachWithItself(t *testing.T) {
	dir := t.TempDir()
	var programs []*program
	start := &wire.Start{Hosts: []wire.Host{{Ranks: []int{0, 1}}}}
	for i, content := range []string{"one", "two"} {
		folder := filepath.Join(dir, content)
		put(t, folder, "libnccl.so.2", nil)
		programs = append(programs, &program{path: put(t, folder, "train", []byte(content)), dir: folder, env: []string{"LD_LIBRARY_PATH=" + folder}})
		start.Apps = append(start.Apps, wire.App{Args: []string{"./train"}, Ranks: []int{i}})
	}
	where := map[string]string{}
	for _, f := range (&agent{start: &share{Start: start}}).facts(programs) {
		require.NotContains(t, where, f.What)
		where[f.What] = f.Where
	}
	for i, p := range programs {
		require.Equal(t, p.path, where[fmt.Sprintf("program %d, ./train", i+1)])
		require.Equal(t, filepath.Join(p.dir, "libnccl.so.2"), where[fmt.Sprintf("libnccl.so.2 of program %d, ./train", i+1)])
	}
}

func TestScriptIsWhatAnInterpreterRuns(t *testing.T) {
	dir := t.TempDir()
	train := put(t, dir, "src/train.py", nil)
	put(t, dir, "data.csv", nil)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"by a relative path":           {[]string{"python3", "src/train.py", "data.csv"}, train},
		"by an absolute path":          {[]string{"/usr/bin/python3.11", train}, train},
		"behind flags and their words": {[]string{"python", "-u", "-W", "ignore", "src/train.py"}, train},
		"not one that is not there":    {[]string{"python3", "src/other.py"}, ""},
		"not what a module reads":      {[]string{"python3", "-m", "csvtool", "data.csv"}, ""},
		"not what a command reads":     {[]string{"sh", "-c", "cat data.csv", "data.csv"}, ""},
		"not what a program reads":     {[]string{"./train", "data.csv"}, ""},
		"not without a name":           {[]string{"3", "data.csv"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, file := script(&program{dir: dir}, c.args)
			require.Equal(t, c.want, file)
		})
	}
}

func TestSettingsOfNCCLAreTheEnvironmentsThenTheFiles(t *testing.T) {
	home := t.TempDir()
	put(t, home, ".nccl.conf", []byte("NCCL_DEBUG=WARN\r\nNCCL_IB_HCA=mlx5_0\n# NCCL_ALGO=Ring\nNCCL_X\nOTHER=1\nNCCL_SOCKET_IFNAME=eth0"))
	system := put(t, home, "system.conf", []byte("NCCL_IB_HCA=mlx5_9\nNCCL_IB_TC=106\n"))
	env := []string{"HOME=" + home, "NCCL_DEBUG=INFO", "NCCL_RAS_ADDR=localhost:1", "PATH=/bin"}
	require.Equal(t, []string{"NCCL_DEBUG=INFO", "NCCL_IB_HCA=mlx5_0", "NCCL_IB_TC=106"}, ncclSettings(env, system))

	named := put(t, home, "other.conf", []byte("NCCL_IB_HCA=mlx5_1\n"))
	require.Equal(t, []string{"NCCL_CONF_FILE=" + named, "NCCL_IB_HCA=mlx5_1", "NCCL_IB_TC=106"}, ncclSettings([]string{"HOME=" + home, "NCCL_CONF_FILE=" + named}, system))
	require.Empty(t, ncclSettings([]string{"HOME=" + home, "NCCL_CONF_FILE=" + home + "/missing"}, home)[1:])
}

func TestLibrariesTellTheirVersions(t *testing.T) {
	dir := t.TempDir()
	file := put(t, dir, "libnccl.so.2.27.3", nil)
	require.NoError(t, os.Symlink("libnccl.so.2.27.3", filepath.Join(dir, "libnccl.so.2")))
	require.Equal(t, file, findLibrary("libnccl.so.2", "/missing:"+dir))
	require.Empty(t, findLibrary("libnosuch.so.7", dir))
}

func TestDriverVersion(t *testing.T) {
	dir := t.TempDir()
	for content, want := range map[string]string{
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n": "535.104.05",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build  (dvs-builder@U16-I3)\n":                                       "560.35.03",
		"GCC version:\n": "",
	} {
		require.Equal(t, want, driverVersion(put(t, dir, "version", []byte(content))))
	}
	require.Empty(t, driverVersion(filepath.Join(dir, "missing")))
}
