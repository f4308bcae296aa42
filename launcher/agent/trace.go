//go:build linux

package agent

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A process that has erased its environment, and lost its parents and the agent,
// still has what it inherited or was made of: the door to the job socket, which
// every rank gets and passes on to what it starts; a working folder in the
// agent's, where staged files are; a program from there. Each of these bears the
// agent's token. Who has closed the door too, and is elsewhere, is not known from
// any other process of the user, and is left alone.

// nameDoor gives a rank's end of its door a name with the agent's token, which
// the kernel lists for as long as a process has it. It is an abstract one
// (unix(7)), which leaves no file behind; nobody can connect to it, since that
// end listens to nothing. Where the name cannot be given, one sign is missing.
func nameDoor(door int, token string, rank int) {
	unix.Bind(door, &unix.SockaddrUnix{Name: doorName(token, rank)})
}

func doorName(token string, rank int) string {
	return fmt.Sprintf("@%s%s/%d", groupPrefix, token, rank)
}

// doors returns the tokens of the doors that are open anywhere, by their inodes
// as links in /proc name them, "socket:[123]".
func doors() map[string]string {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	found := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// Num RefCount Protocol Flags Type St Inode Path (proc_net(5)); "@" stands
		// for the zero byte that an abstract name begins with.
		fields := bytes.Fields(lines.Bytes())
		if len(fields) != 8 {
			continue
		}
		name, ok := strings.CutPrefix(string(fields[7]), "@"+groupPrefix)
		if token, _, numbered := strings.Cut(name, "/"); ok && numbered && jobOf(token) != "" {
			found["socket:["+string(fields[6])+"]"] = token
		}
	}
	return found
}

// traced returns the job of which a process has something, "" if of none. A job
// within another was started later, and its own processes have the doors of both.
func traced(pid int, doors map[string]string) string {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	latest, when := "", int64(-1)
	see := func(token string) {
		if at := tokenTime(token); at > when {
			latest, when = token, at
		}
	}
	for _, link := range []string{"exe", "cwd"} {
		if target, err := os.Readlink(filepath.Join(proc, link)); err == nil {
			see(tokenIn(target))
		}
	}
	fds, _ := os.ReadDir(filepath.Join(proc, "fd"))
	for _, fd := range fds {
		if target, err := os.Readlink(filepath.Join(proc, "fd", fd.Name())); err == nil {
			see(doors[target])
		}
	}
	return jobOf(latest)
}

// tokenIn returns the token of the agent in whose folder a path is.
func tokenIn(path string) string {
	for dir := strings.TrimSuffix(path, " (deleted)"); len(dir) > 1; dir = filepath.Dir(dir) {
		base := filepath.Base(filepath.Dir(dir))
		if (strings.HasPrefix(base, "gorun-") || base == "gorun") && jobOf(filepath.Base(dir)) != "" {
			return filepath.Base(dir)
		}
	}
	return ""
}

// tokenTime is when a token was made, -1 for what is none.
func tokenTime(token string) int64 {
	if jobOf(token) == "" {
		return -1
	}
	at, err := strconv.ParseInt(token[strings.LastIndexByte(token, '-')+1:], 16, 64)
	if err != nil {
		return -1
	}
	return at
}
