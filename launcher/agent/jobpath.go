//go:build linux

package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// jobPathVar tells a process the jobs it belongs to, outermost first.
const jobPathVar = "GORUN_JOB_PATH"

// jobPathOf returns the GORUN_JOB_PATH of a process, "" if it has none.
func jobPathOf(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		if path, found := bytes.CutPrefix(entry, []byte(jobPathVar+"=")); found {
			return string(path)
		}
	}
	return ""
}

// innermost returns the last job of a GORUN_JOB_PATH.
func innermost(path string) string {
	step := path[strings.LastIndexByte(path, ':')+1:]
	job, _, _ := strings.Cut(step, "/")
	return job
}

// onPath says whether a GORUN_JOB_PATH, "outer/host:inner/host", goes through
// job. A sweep of the outer job finds the inner one, never the reverse.
func onPath(path, job string) bool {
	return slices.ContainsFunc(strings.Split(path, ":"), func(step string) bool {
		id, _, _ := strings.Cut(step, "/")
		return id == job
	})
}
