// Package agent is what runs on a host of a job: it starts the host's ranks,
// watches them, forwards their streams and ends them. [Main] is the whole of
// it; the launcher speaks to it through package wire.
//
// # Processes
//
//	guardian ── agent ── rank 0, rank 1, …
//
// The agent is two processes of the same program. The guardian is a child
// sub-reaper: when the agent dies, by whatever hand, all that the agent has
// started falls to the guardian, which kills until nothing is left. The agent
// is a sub-reaper too, so that a rank's grandchildren that make sessions of
// their own, or lose their parents, stay below it and can be found.
//
// Where the host delegates a control group, the ranks get one below it, which
// the kernel kills as a whole: see package cgroup.
//
// Ranks are started by a few locked threads that live as long as the agent,
// because the kernel's parent-death signal follows the thread that forked, not
// the process (golang/go#27505).
//
// # Where to look
//
// [Main] is four programs, and each has files of its own:
//
//	the agent       agent.go acts on the launcher's messages, one after the other
//	  asked first   facts, examine, probe, ports, store: what this host is and has
//	  starts        prepare, program, env, seat, mpi, argroom say what a rank is;
//	                rank, pipes, pty start it, in the nursery and its jobgroup
//	  serves        services, notice: the job socket, and the member of the cluster
//	  carries       output, lookout, input, stream
//	  ends          stop, pause, dying, vanished, oom, stack, lease
//	the guardian    guardian.go
//	what was left   sweep ends one job, lost finds all that are lost, clean
//	                answers gorun clean, trace knows processes without environment,
//	                cache finds what nothing uses any more
//	before a rank   exec.go
//
// What an agent leaves in the file system and in environments, by which the
// others find it, is in folder.go and jobpath.go. What the kernel tells of
// processes is package proc.
//
// # Life and death
//
// The stream to the launcher is the agent's lease on life. Its end, or silence
// for the node time-out, means that the launcher is gone: TERM goes to every
// rank, then KILL after at most two seconds, then the agent leaves. Whatever
// the reason for the end, the agent does not report Done while a process of
// the job is left that it can kill.
//
// # Flow of output
//
// One goroutine for each stream of a rank reads when there is something to
// read, takes credit from the launcher's window and hands the bytes to the
// connection. A stalled reader far away therefore stops that goroutine, then
// fills the pipe, then blocks the rank; the agent itself never waits.
package agent
