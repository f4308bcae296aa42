//go:build linux

package agent

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/agent/cgroup"
	"github.com/gorun/gorun/launcher/agent/proc"
)

// A job is lost on a host when none of its agents there lives, for an agent
// never ends before its ranks and all that these have started. That it lives
// is seen by either of two signs: its process, or the lock that it holds in its
// folder. What then still bears the job's mark was left behind.
//
// An agent whose launcher is gone ends by itself within seconds, unless it hangs
// or was stopped. So it counts as what is left of a job; and one that is stopped
// does also while its launcher lives, if the user names the job: a pause stops
// ranks, not agents.
//
// A process belongs to the innermost job of its GORUN_JOB_PATH: what a lost
// job inside a running one has left is lost, and what runs in a job whose outer
// one is lost is the inner one's to end.

// survey is what a host has of the user's jobs.
type survey struct {
	self   map[int]bool    // this process and those above, which are not touched
	hung   map[int]bool    // agents and guardians that count as left
	agents map[string]bool // tokens of agents that live
	jobs   map[string]bool // whose agents they are

	processes map[string][]int // of lost jobs, by job
	folders   map[string][]string
	groups    map[string][]*cgroup.Group
}

// surveyJobs looks around, for the user who has named some jobs. Marks are read
// before agents are: of a process with a mark, the agent was there first, so that
// who is not seen has ended.
func surveyJobs(named []string) *survey {
	s := &survey{
		hung: hungAgents(named),
		self: ancestry(), agents: map[string]bool{}, jobs: map[string]bool{},
		processes: map[string][]int{}, folders: map[string][]string{}, groups: map[string][]*cgroup.Group{},
	}
	marks := jobMarks(s.self)
	groups := cgroup.Find(groupName(tokenStart))
	free := s.readFolders()
	s.readAgents()
	for pid := range s.hung {
		marks[pid], _ = agentOf(pid)
	}
	for pid, job := range marks {
		if job != "" && !s.jobs[job] {
			s.processes[job] = append(s.processes[job], pid)
		}
	}
	for _, folder := range free {
		token := strings.TrimPrefix(filepath.Base(folder), unborn)
		if !s.agents[token] {
			s.folders[jobOf(token)] = append(s.folders[jobOf(token)], folder)
		}
	}
	for _, g := range groups {
		job := jobOf(strings.TrimPrefix(filepath.Base(g.Path()), groupPrefix))
		if owner, err := g.Owner(); err == nil && (owner == os.Getuid() || os.Getuid() == 0) && job != "" && !s.jobs[job] {
			s.groups[job] = append(s.groups[job], g)
		}
	}
	return s
}

// lost lists the jobs that have left something.
func (s *survey) lost() (jobs []string) {
	for job := range s.processes {
		jobs = append(jobs, job)
	}
	for job := range s.folders {
		jobs = append(jobs, job)
	}
	for job := range s.groups {
		jobs = append(jobs, job)
	}
	slices.Sort(jobs)
	return slices.Compact(jobs)
}

// ancestry returns this process and those above it.
func ancestry() map[int]bool {
	above := map[int]bool{}
	for pid, ok := os.Getpid(), true; ok && pid > 0 && !above[pid]; pid, _, ok = proc.Parent(pid) {
		above[pid] = true
	}
	return above
}

// jobMarks returns the innermost job of every process of this user that has
// one: by its own environment or, where that was erased, by what it has of the
// job, or an ancestor's. Left out are those in self, and agents: of a job within a
// lost one they end when their launcher is killed, and clean up after it.
func jobMarks(self map[int]bool) map[int]string {
	jobs, parents := map[int]string{}, map[int]int{}
	traces := readTraces()
	for _, pid := range proc.Own() {
		ppid, state, ok := proc.Parent(pid)
		if !ok || state == 'Z' || state == 'X' {
			continue
		}
		jobs[pid], parents[pid] = innermost(jobPathOf(pid)), ppid
		if jobs[pid] == "" {
			jobs[pid] = traces.job(pid)
		}
	}
	marks := map[int]string{}
	for pid := range jobs {
		if job, _ := agentOf(pid); job != "" || self[pid] {
			continue
		}
		// What is below one of self is not a leftover by that.
		at := pid
		for range parents {
			if jobs[at] != "" || self[at] {
				break
			}
			at = parents[at]
		}
		if jobs[at] != "" && (at == pid || !self[at]) {
			marks[pid] = jobs[at]
		}
	}
	return marks
}

// readAgents notes the agents and guardians among the processes.
func (s *survey) readAgents() {
	for _, pid := range proc.Own() {
		if job, token := agentOf(pid); job != "" && !s.hung[pid] {
			s.jobs[job] = true
			s.agents[token] = true
		}
	}
}

// hungAgents returns agents that end nothing any more, and their guardians: whose
// launcher is gone and, of the jobs that were named, those that are stopped.
func hungAgents(named []string) map[int]bool {
	hung := map[int]bool{}
	for _, pid := range proc.Own() {
		job, token := agentOf(pid)
		guardian, state, ok := proc.Parent(pid)
		if token == "" || !ok {
			continue
		}
		above, guardianState := guardian, state
		if of, none := agentOf(guardian); of == job && none == "" {
			above, guardianState, _ = proc.Parent(guardian)
		}
		stopped := state == 'T' || guardianState == 'T'
		if stopped && slices.Contains(named, job) || isOrphan(pid, above) {
			hung[pid] = true
			hung[guardian] = above != guardian
		}
	}
	delete(hung, os.Getpid())
	maps.DeleteFunc(hung, func(_ int, is bool) bool { return !is })
	return hung
}

// isOrphan says whether a process whose parent is init was taken in by it: that is
// a system's first process, or a user's service manager. Where it may as well be
// the launcher, as in a container, it shares its session with what it starts.
func isOrphan(pid, init int) bool {
	words := proc.CommandLine(init)
	if init != 1 && (len(words) == 0 || filepath.Base(words[0]) != "systemd") {
		return false
	}
	own, err := unix.Getsid(pid)
	other, err2 := unix.Getsid(init)
	return err == nil && err2 == nil && own != other
}

// agentOf returns the job whose agent or guardian a process is, and the token,
// which only the agent knows; "" if it is neither.
func agentOf(pid int) (job, token string) {
	words := proc.CommandLine(pid)
	switch {
	case len(words) != 4 || words[1] != "agent":
		return "", ""
	case words[2] == jobFlag:
		return words[3], ""
	case words[2] == runVerb:
		return jobOf(words[3]), words[3]
	}
	return "", ""
}

func (s *survey) noteAgent(token string) {
	s.agents[token] = true
	s.jobs[jobOf(token)] = true
}

// readFolders returns the agents' folders that nobody holds, and notes the
// agents of the others.
func (s *survey) readFolders() (free []string) {
	for _, base := range basesOfAll() {
		entries, _ := os.ReadDir(base)
		for _, e := range entries {
			token := strings.TrimPrefix(e.Name(), unborn)
			if jobOf(token) == "" {
				continue
			}
			path := filepath.Join(base, e.Name())
			info, err := e.Info()
			switch {
			case err != nil: // gone
			case token != e.Name() && time.Since(info.ModTime()) < birth:
			case !s.hangs(token) && held(path, time.Since(info.ModTime())):
				s.noteAgent(token)
			default:
				free = append(free, path)
			}
		}
	}
	return free
}

// owner names the user of a lost job, by what it has left.
func (s *survey) owner(job string) string {
	paths := slices.Clone(s.folders[job])
	for _, pid := range s.processes[job] {
		paths = append(paths, filepath.Join("/proc", strconv.Itoa(pid)))
	}
	for _, g := range s.groups[job] {
		paths = append(paths, g.Path())
	}
	for _, path := range paths {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) != nil {
			continue
		}
		id := strconv.Itoa(int(stat.Uid))
		if u, err := user.LookupId(id); err == nil {
			return u.Username
		}
		return id
	}
	return ""
}

// hangs says whether the agent with a token does.
func (s *survey) hangs(token string) bool {
	for pid := range s.hung {
		if _, of := agentOf(pid); of == token {
			return true
		}
	}
	return false
}

// birth is longer than an agent takes from making a folder to holding it.
const birth = time.Minute

// held says whether an agent may hold a folder, which was last changed so long
// ago.
func held(folder string, unchanged time.Duration) bool {
	// Another user's may be anything.
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // it goes last but for its folder
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return true // or nobody can tell
	}
	// In a home that hosts share, its lock may be another's, which the file
	// system does not tell us of.
	boot := make([]byte, 64)
	n, _ := lock.Read(boot)
	return string(boot[:n]) != bootID() && unchanged < disused
}

// killLost kills the processes of a lost job, and returns those that did not
// go. Every round looks again who they are: a number may be another's by then.
func killLost(job string) (left []int) {
	self := ancestry()
	return proc.Kill(func() (pids []int) {
		for pid, of := range jobMarks(self) {
			if of == job {
				pids = append(pids, pid)
			}
		}
		return pids
	}, timeNow().Add(proc.Patience))
}

// ownFile says whether a file is this user's.
func ownFile(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
