package launcher

import (
	"fmt"
	"math"
	"syscall"
)

// What this process needs of open files: for itself; for each host, while its
// agent is started; and for each rank of this host, whose output it reads.
const (
	ownFiles  = 20
	hostFiles = 4
	pipeFiles = 2
)

// openFileLimit is how many files this process may open. The runtime has raised
// the soft limit as far as it goes; ranks have what the user set.
func openFileLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}

// checkOpenFiles refuses so many hosts if this process may not open enough
// files for them.
func checkOpenFiles(hosts int) error {
	limit, need := openFileLimit(), ownFiles+hostFiles*hosts
	if limit >= need {
		return nil
	}
	return fmt.Errorf("%s: expected a limit of at least %d open files, found %d: raise it by ulimit -n %d", plural(hosts, "host"), need, limit, need)
}

// The agent of this host has the same limit and needs this much of it (package
// agent, refuseFiles), if each rank is MPI's.
const (
	agentFiles     = 50
	agentRankFiles = 4
)

// checkPipes refuses the ranks of this host if this process may not open enough
// files to read all their output. What it asks for is enough for the agent too:
// nobody is to raise a limit twice.
func (l *layout) checkPipes() error {
	limit, need := openFileLimit(), ownFiles+hostFiles*len(l.hosts)
	for _, h := range l.hosts {
		if !h.local {
			continue
		}
		ranks := len(l.plan.Hosts[h.node].Seats)
		if need += pipeFiles * ranks; limit >= need {
			continue
		}
		need = max(need, agentFiles+agentRankFiles*ranks)
		return &HostError{
			Host: h.name, Step: "start",
			Err:  fmt.Errorf("%s there: expected a limit of at least %d open files for gorun, found %d", plural(ranks, "rank"), need, limit),
			Hint: fmt.Sprintf("raise the limit here, by ulimit -n %d or /etc/security/limits.conf, or run fewer ranks on this host", need),
		}
	}
	return nil
}
