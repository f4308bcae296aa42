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
