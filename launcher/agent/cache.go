//go:build linux

package agent

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// disused is how long a program in the cache is kept that nothing runs. Agents
// are stored under their content, so that every build of gorun adds one.
const disused = 4 * 7 * 24 * time.Hour

// cached is a file of the cache.
type cached struct {
	path string
	size int64
}

// disusedFiles lists the agents and staged files in the user's folders that
// were neither run nor written for long, and what broken uploads have left.
func disusedFiles(now time.Time) (old []cached) {
	self, _ := os.Executable()
	for _, base := range cacheBases() {
		for _, pattern := range []string{"gorun-*", ".part-*", ".probe-*", "files/*"} {
			paths, _ := filepath.Glob(filepath.Join(base, pattern))
			for _, path := range paths {
				info, err := os.Lstat(path)
				if err == nil && path != self && info.Mode().IsRegular() && ownFile(info) && now.Sub(lastUse(info)) > disused {
					old = append(old, cached{path, info.Size()})
				}
			}
		}
	}
	return old
}

// cacheBases lists the folders in which agents are stored, see package remote.
func cacheBases() []string {
	list := bases()
	if home, err := os.UserHomeDir(); err == nil {
		list = append(list, filepath.Join(home, ".cache", "gorun"))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// lastUse is when a file was read, run or written last. Where the file system
// does not note reading, it is sent again when it is needed.
func lastUse(info fs.FileInfo) time.Time {
	stat := info.Sys().(*syscall.Stat_t)
	read := time.Unix(stat.Atim.Unix())
	if read.After(info.ModTime()) {
		return read
	}
	return info.ModTime()
}
