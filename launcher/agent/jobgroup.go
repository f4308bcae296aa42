//go:build linux

package agent

import (
	"sync/atomic"
	"syscall"

	"github.com/gorun/gorun/launcher/agent/cgroup"
	"github.com/gorun/gorun/launcher/agent/proc"
)

// jobGroup is the control group of the ranks of one agent and of all that they
// start. Most hosts let us make none, which the zero value stands for: then
// the ways to find processes that package proc has must do.
type jobGroup struct {
	group *cgroup.Group
	shut  atomic.Bool // the kernel did not let a process in
}

// groupName is the name of an agent's group, whose token it has.
func groupName(token string) string { return groupPrefix + token }

const groupPrefix = "gorun-"

// open makes the group, if that can be.
func (j *jobGroup) open(parent, token string) {
	j.group, _ = cgroup.New(parent, groupName(token))
}

// start forks and executes a program within the group. The group may be why
// that fails, for instance where a filter of system calls does not know clone3;
// then the program, and all that follow, do without.
func (j *jobGroup) start(path string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	if j.group == nil || j.shut.Load() {
		return syscall.ForkExec(path, args, attr)
	}
	within, sys := *attr, syscall.SysProcAttr{}
	if attr.Sys != nil {
		sys = *attr.Sys
	}
	sys.UseCgroupFD, sys.CgroupFD = true, j.group.FD()
	within.Sys = &sys
	if pid, err = syscall.ForkExec(path, args, &within); err == nil {
		return pid, nil
	}
	if pid, err = syscall.ForkExec(path, args, attr); err == nil {
		j.shut.Store(true)
	}
	return pid, err
}

// kill kills what is in the group.
func (j *jobGroup) kill() {
	if j.group != nil {
		j.group.Kill()
	}
}

// close removes the group. One that is not empty is left to a later sweep.
func (j *jobGroup) close() {
	if j.group != nil {
		j.group.Remove()
	}
}

// sweepGroups kills and removes the groups of all agents whose tokens have a
// prefix, and returns their processes that did not go.
func sweepGroups(prefix string) (left []int) {
	for _, g := range cgroup.Find(groupName(prefix)) {
		left = append(left, proc.Kill(func() []int {
			pids := g.Processes()
			if len(pids) > 0 {
				g.Kill()
			}
			return pids
		}, timeNow().Add(proc.Patience))...)
		g.Remove()
	}
	return left
}
