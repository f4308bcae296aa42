//go:build linux

package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorun/gorun/launcher/agent/proc"
	"github.com/gorun/gorun/launcher/wire"
)

// clean finds and ends what lost jobs have left on this host, as the launcher
// asks for on standard input.
func clean() error {
	stream, err := takeStream()
	if err != nil {
		return err
	}
	conn := wire.NewConn(stream)
	defer conn.Close()
	if err := conn.Send(&wire.Hello{Magic: wire.Magic, Table: wire.TableHash(), Version: version()}); err != nil {
		return err
	}
	m, err := conn.Receive()
	if err != nil {
		return err
	}
	order, ok := m.(*wire.Clean)
	if !ok {
		return fmt.Errorf("unexpected message %T from the launcher", m)
	}
	err = conn.Send(cleanHost(order))
	conn.Drain()
	return err
}

// cleanHost does what it is ordered to and tells what it has found.
func cleanHost(order *wire.Clean) *wire.Cleaned {
	return surveyJobs(order.Jobs).clean(order)
}

// clean does so with what the survey has found. A job of which an agent was started
// since runs.
func (s *survey) clean(order *wire.Clean) *wire.Cleaned {
	answer := &wire.Cleaned{}
	for _, job := range s.lost() {
		if len(order.Jobs) > 0 && !slices.Contains(order.Jobs, job) {
			continue
		}
		if s.readAgents(); s.jobs[job] {
			continue
		}
		answer.Lost = append(answer.Lost, s.cleanJob(job, order.Dry))
	}
	for job := range s.jobs {
		answer.Running = append(answer.Running, job)
	}
	slices.Sort(answer.Running)
	for _, f := range disusedFiles(timeNow()) {
		answer.Disused++
		answer.DisusedBytes += f.size
		if order.Cache && !order.Dry {
			if err := os.Remove(f.path); err != nil {
				answer.Problems = append(answer.Problems, err.Error())
			}
		}
	}
	return answer
}

// maxListed bounds how many processes of a job are listed.
const maxListed = 1000

// cleanJob ends what is left of a job, unless it only shall look.
func (s *survey) cleanJob(job string, dry bool) wire.LostJob {
	lost := wire.LostJob{Job: job, User: s.owner(job), Folders: s.folders[job]}
	pids := s.processes[job]
	for _, g := range s.groups[job] {
		lost.Groups = append(lost.Groups, g.Path())
		pids = append(pids, g.Processes()...)
	}
	slices.Sort(pids)
	pids = slices.DeleteFunc(slices.Compact(pids), func(pid int) bool { return s.self[pid] || !proc.Alive(pid) })
	for _, pid := range pids[:min(len(pids), maxListed)] {
		lost.Processes = append(lost.Processes, wire.LostProcess{PID: pid, Command: proc.ShortCommand(proc.CommandLine(pid))})
	}
	if dry {
		return lost
	}
	left := killAgents(job)
	left = append(left, sweepGroups(tokenPrefix(job))...)
	left = append(left, killLost(job)...)
	slices.Sort(left)
	for _, pid := range slices.Compact(left) {
		lost.Problems = append(lost.Problems, fmt.Sprintf("process %d could not be killed", pid))
	}
	for _, folder := range lost.Folders {
		if err := removeLeft(folder); err != nil {
			lost.Problems = append(lost.Problems, err.Error())
		}
	}
	return lost
}

// removeLeft removes the folder of an agent. The one that it is in may be another
// user's, who could have put a symbolic link in its place meanwhile.
func removeLeft(folder string) error {
	base, err := os.OpenRoot(filepath.Dir(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the guardian was quicker
	}
	if err != nil {
		return err
	}
	defer base.Close()
	named, err := os.Lstat(filepath.Dir(folder))
	if err != nil {
		return err
	}
	if opened, err := base.Stat("."); err != nil || !os.SameFile(named, opened) {
		return fmt.Errorf("%s: expected a folder, found a link", filepath.Dir(folder))
	}
	return base.RemoveAll(filepath.Base(folder))
}
