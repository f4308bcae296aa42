//go:build linux

package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gorun/gorun/launcher/agent/proc"
)

// marked lists the processes whose environment says that they belong to job, or,
// where it was erased, what they have of it. A program can get rid of both, so
// this is the last way to find it.
func marked(job string) []int {
	traces := readTraces()
	return slices.DeleteFunc(proc.All(), func(pid int) bool {
		path := jobPathOf(pid)
		return pid == os.Getpid() || !onPath(path, job) && (path != "" || traces.job(pid) != job)
	})
}

// sweepJob kills the processes of a job by their control group and by their
// environment, then its agents, one of which may hang, and removes its folders.
func sweepJob(job string) error {
	if job == "" {
		return errors.New("--sweep: expected a job id, found an empty one")
	}
	defer sweepFolders(job)
	left := sweepGroups(tokenPrefix(job))
	left = append(left, proc.Kill(func() []int { return marked(job) }, timeNow().Add(proc.Patience))...)
	left = append(left, killAgents(job)...)
	if len(left) > 0 {
		return fmt.Errorf("processes %v of job %s could not be killed", left, job)
	}
	return nil
}

// killAgents kills the agents of a job and gives their guardians time to clean
// up behind them. It returns those that did not go.
func killAgents(job string) (left []int) {
	left = proc.Kill(func() []int {
		return slices.DeleteFunc(proc.Own(), func(pid int) bool {
			of, token := agentOf(pid)
			return of != job || token == "" || !proc.Alive(pid)
		})
	}, timeNow().Add(proc.Patience))
	guardians := func() []int {
		return slices.DeleteFunc(proc.Own(), func(pid int) bool {
			of, token := agentOf(pid)
			return of != job || token != "" || !proc.Alive(pid)
		})
	}
	proc.Await(guardians(), timeNow().Add(proc.Patience))
	return append(left, proc.Kill(guardians, timeNow().Add(proc.Patience))...) // one that is stopped cleans up nothing
}
