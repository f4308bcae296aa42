//go:build linux

package agent

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// What the agent needs of open files.
const (
	rankFiles = 3 // for each rank: two pipes and a door
	pmiFiles  = 1 // for each that inherits a connection for PMI, in addition
	forkFiles = 8 // for each that is being started, in addition
	farLimit  = 2 // how many times what ranks need is enough without counting
)

// refuseFiles says that this host's ranks take more open files than this process
// may have, before the first is started; nil if they do not. The runtime has
// raised the soft limit to the hard one, and gives ranks the one that was.
func (a *agent) refuseFiles(programs []*program) *wire.NotStarted {
	if len(programs) == 0 {
		return nil
	}
	var limit unix.Rlimit
	ranks := len(programs)
	need := uint64(rankFiles*ranks + forkFiles*forkers())
	for _, p := range programs {
		if a.services.pmi != nil && p.inheritsPMI {
			need += pmiFiles
		}
	}
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= farLimit*need {
		return nil
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	if need += uint64(len(open)); need <= limit.Cur {
		return nil
	}
	return &wire.NotStarted{
		Rank: a.host().Ranks[0], Exhausted: true,
		Error: fmt.Sprintf("%d ranks take %d open files of their agent, whose limit is %d", ranks, need, limit.Cur),
		Hint:  fmt.Sprintf("raise the limit on the host, by ulimit -n %d or /etc/security/limits.conf, or run fewer ranks there", need),
	}
}
