// Package launcher runs a job: it reaches hosts, starts an agent on each,
// places, starts and watches the ranks, and says how it all ended. [Run] is
// the whole of it, [Plan] its first half, and [Job] what both are given.
//
// # Flow
//
// A job is checked once and then attempted, with new agents each time, until an
// attempt succeeds or none is left. Five files hold what one step gives to the
// next, and attempt.go the phases in between:
//
//	job.go         Job               what to run
//	plan.go        placement.Plan    which rank on which host, in a layout
//	assignment.go  wire.Start, Begin what each agent is told of it
//	event.go       Event             what happens then
//	result.go      Result            how it ended
//
// What can be refused without a host is refused by prepare, before any login;
// what depends on facts of the hosts is refused by place, before any rank. Which
// hosts an attempt may use is the roster's to say: it holds spares back and
// remembers who was lost.
//
// # Goroutines
//
// Run's own goroutine supervises: it alone decides, and owns the state of the
// job. One goroutine a host reads its agent; it answers heartbeats, relays
// what members of the cluster send one another, hands output to the printer
// and posts the rest to the supervisor's mailbox. It never waits for anyone,
// so that no lease is lost behind a slow consumer. The printer's goroutine
// writes output, and gives agents credit for what it wrote; the input's reads
// standard input while the rank that reads it has room. Run waits for all of
// them. Two it cannot wait for: one that is inside a Read or Write of the
// caller's that does not return.
//
// # Failure
//
// The first failure decides. Ranks' exits are ordered by their agents' clocks,
// related to ours by half a round trip. Then every agent is told to stop: TERM,
// grace, KILL, and its word that nothing is left. Exits after our TERM do not
// count. With Job.Continue only the order is kept and nobody is stopped. A host
// whose stream ends, or that is silent for Limits.Node, is lost:
// its own agent ends what runs there, by the same rule seen from its side, and
// the launcher logs in once more to look.
//
// # Security
//
// The job key and the environment travel to an agent over its authenticated
// stream, never in an argument or a variable of a process. An agent can speak
// only of its own ranks.
package launcher
