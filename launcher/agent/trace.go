//go:build linux

package agent

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/agent/proc"
)

// A process that has erased its environment, and lost its parents and the agent,
// still has what it inherited or was made of: the door to the job socket, which
// every rank gets and passes on to what it starts; a working folder in the
// agent's, where staged files are; a program from there. Each of these bears the
// agent's token. Who has closed the door too, and is elsewhere, is not known from
// any other process of the user, and is left alone.
//
// A shell of the user's may as well stand in such a folder, or an editor. So these
// count only of what has lost its parent, as what a lost job has left has, and a
// folder only where agents have theirs.

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

// traces is by what processes are known.
type traces struct {
	doors map[string]string // tokens of those that are open anywhere, by their inodes as links in /proc name them, "socket:[123]"
	bases []string          // where agents have their folders, without links
}

func readTraces() traces {
	t := traces{doors: doors()}
	for _, base := range basesOfAll() {
		if real, err := filepath.EvalSymlinks(base); err == nil {
			t.bases = append(t.bases, real)
		}
	}
	return t
}

// doors returns the tokens of the doors that are open, by their inodes.
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

// job returns the job of which an orphan has something, "" if of none. A job within
// another was started later, and its own processes have the doors of both.
func (t traces) job(pid int) string {
	parent, _, ok := proc.Parent(pid)
	if of, _ := agentOf(parent); !ok || of == "" && !isOrphan(pid, parent) {
		return ""
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	latest, when := "", int64(-1)
	see := func(token string) {
		if at := tokenTime(token); at > when {
			latest, when = token, at
		}
	}
	for _, link := range []string{"exe", "cwd"} {
		if target, err := os.Readlink(filepath.Join(dir, link)); err == nil {
			see(t.tokenIn(target, dir))
		}
	}
	fds, _ := os.ReadDir(filepath.Join(dir, "fd"))
	for _, fd := range fds {
		if target, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil {
			see(t.doors[target])
		}
	}
	return jobOf(latest)
}

// tokenIn returns the token of the agent in whose folder a path is, if the folder,
// where it is still there, is of the same user as a process's in /proc.
func (t traces) tokenIn(path, process string) string {
	for dir := strings.TrimSuffix(path, " (deleted)"); len(dir) > 1; dir = filepath.Dir(dir) {
		token := filepath.Base(dir)
		if jobOf(token) == "" || !slices.Contains(t.bases, filepath.Dir(dir)) {
			continue
		}
		var folder, user unix.Stat_t
		err := unix.Lstat(dir, &folder)
		if unix.Stat(process, &user) == nil && (err == unix.ENOENT || err == nil && folder.Uid == user.Uid) {
			return token
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
