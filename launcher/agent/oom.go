//go:build linux

package agent

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// oomCounter tells whether the kernel's out-of-memory killer was at work in
// the agent's cgroup (version 2, whose processes are its ranks too).
type oomCounter struct {
	file string
	last int
}

func (o *oomCounter) begin() {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		if group, ok := strings.CutPrefix(line, "0::"); ok {
			o.file = filepath.Join("/sys/fs/cgroup", strings.TrimSpace(group), "memory.events")
		}
	}
	o.last = o.read()
}

func (o *oomCounter) read() int {
	b, err := os.ReadFile(o.file)
	if err != nil {
		return 0
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "oom_kill "); ok {
			count, _ := strconv.Atoi(n)
			return count
		}
	}
	return 0
}

// grew reports whether there were kills since the last look. It is called by
// one goroutine at a time.
func (o *oomCounter) grew() bool {
	now := o.read()
	grew := now > o.last
	o.last = now
	return grew
}
