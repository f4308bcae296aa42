package main

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/gorun/gorun/"

// fences are the imports that must not be, and why. The command stands here
// for the module, since all of it ends up in the command.
var fences = []struct {
	name   string
	reason string
	within string   // a folder of the module whose packages it is about; "": all
	but    []string // folders below that it is not about
	banned []string // what those packages must not import, nor anything below it
	spared []string // what lies below that and may be imported
}{
	{
		name:   "launcher knows no collectives",
		reason: "a job may be of any program, and a program may be of any launcher",
		within: "launcher", banned: []string{module + "nccl"},
		spared: []string{module + "nccl/topo"}, // the hardware is the same for both
	},
	{
		name:   "nccl knows no launcher",
		reason: "its ranks may have been started by others; rendezvous is all that it asks for",
		within: "nccl", banned: []string{module + "launcher", module + "rendezvous/gossip"},
	},
	{
		name:   "one package speaks SSH",
		reason: "whoever reviews how hosts are trusted has one package to read",
		but:    []string{"launcher/remote", "internal/testhost"}, // the latter serves
		banned: []string{"golang.org/x/crypto/ssh"},
	},
	{
		name:   "no cgo",
		reason: "gorun ships as one static binary that copies itself to any host",
		banned: []string{"C"},
	},
	{
		name:   "the hardware is told by the standard library alone",
		reason: "who reads an agent's first message, or a graph, links nothing else for it",
		within: "nccl/topo", banned: []string{"github.com", "golang.org"},
	},
	{
		name:   "placement only computes",
		reason: "a plan is a function of values, which tests can go through exhaustively",
		within: "launcher/placement", banned: []string{"os", "net", "time", "context"},
	},
	{
		name:   "the verdict only computes",
		reason: "who is to blame is a function of facts, whose order tests can change",
		within: "launcher/verdict", banned: []string{"os", "net", "context", module + "launcher"},
	},
	{
		name:   "stdio neither reads nor writes files",
		reason: "the merger is a function of values",
		within: "launcher/stdio", banned: []string{"os", "net", "context"},
	},
	{
		name:   "examples use what users can",
		reason: "they are to be copied",
		within: "examples", banned: []string{module + "internal", module + "launcher/agent", module + "launcher/wire"},
	},
	{
		name:   "test hosts are for tests",
		reason: "nothing that ships may make namespaces or SSH servers",
		but:    []string{"internal/testhost"}, banned: []string{module + "internal/testhost"},
	},
	{
		name:   "garbage is for tests",
		reason: "nothing that ships makes any",
		banned: []string{module + "internal/garbage"},
	},
}

func TestFences(t *testing.T) {
	packages := packagesOfModule(t)
	for _, fence := range fences {
		t.Run(fence.name, func(t *testing.T) {
			seen := 0
			for dir, imports := range packages {
				if !below(dir, fence.within) || slices.ContainsFunc(fence.but, func(b string) bool { return below(dir, b) }) {
					continue
				}
				seen++
				for _, path := range imports {
					for _, banned := range fence.banned {
						require.False(t, below(path, banned) && !slices.Contains(fence.spared, path), "%s imports %s: %s", dir, path, fence.reason)
					}
				}
			}
			require.NotZero(t, seen, "the fence surrounds nothing")
		})
	}
}

// below reports whether path is folder or lies below it; everything is below "".
func below(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}

// packagesOfModule returns what each package of the module imports outside its
// tests, on any system that gorun is built for, by folder.
func packagesOfModule(t *testing.T) map[string][]string {
	root := filepath.Join("..", "..")
	packages := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || name != ".." && strings.HasPrefix(name, ".") {
			return filepath.SkipDir
		}
		for _, system := range []string{"linux", "darwin"} {
			conf := build.Default
			conf.GOOS, conf.CgoEnabled = system, true
			pkg, err := conf.ImportDir(path, 0)
			if err != nil {
				continue // no Go files for that system
			}
			dir, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			dir = filepath.ToSlash(dir)
			packages[dir] = append(packages[dir], pkg.Imports...)
		}
		return nil
	})
	require.NoError(t, err)
	return packages
}
