// Package host is the engine for CPU memory: collectives as plans on a ring,
// executed by step machines over links. [Join] forms a communicator of several
// processes, [Local] one inside a process.
//
// # Layers
//
//	bootstrap  brings ranks together: unique id, handshakes, ring, records
//	control    tells every rank how the communicator ended
//	fabric     carries bytes between ranks: pipes, TCP
//	sched      plans: which chunk crosses which link
//	reduce     element kernels
//	host       machine: runs a plan as far as it goes without waiting
//	           stream:  queues of calls and functions, and who drives them
//	           Comm:    whose turn it is, failure, the checks of all calls
//
// # How a call runs
//
// [Comm.Submit] numbers the call and puts it on its stream. Calls of one
// communicator run in the order of their numbers, one at a time, since they
// share its links; a stream whose head is not next waits to be poked. Whoever
// drives a stream drives the communicator's machine when its turn has come, and
// gives the turn on when the machine is done (stream.go has the rules).
//
// # Failure
//
// Only the first failure counts. It ends every call, wherever it is, and the
// machine stops before the call's buffers are given back. A broken link by
// itself is no failure yet: control says why it broke, at the same moment, or
// after a second the neighbours are called lost.
package host
