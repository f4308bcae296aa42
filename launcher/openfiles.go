package launcher

import (
	"fmt"
	"syscall"
)

// What this process needs of open files: for itself, and for each host, while
// its agent is started.
const (
	ownFiles  = 20
	hostFiles = 4
)

// checkOpenFiles refuses so many hosts if this process may not open enough
// files for them. The runtime has raised the limit as far as it goes; ranks
// have what the user set.
func checkOpenFiles(hosts int) error {
	var limit syscall.Rlimit
	need := uint64(ownFiles + hostFiles*hosts)
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) >= need {
		return nil
	}
	noun := "hosts"
	if hosts == 1 {
		noun = "host"
	}
	return fmt.Errorf("%d %s: expected a limit of at least %d open files, found %d: raise it by ulimit -n %d", hosts, noun, need, limit.Cur, need)
}
