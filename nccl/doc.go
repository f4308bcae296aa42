// Package nccl gives communicators and collective operations among the ranks of
// a job, with the names of NCCL and in Go's manner. Start with [Init], [Of] or
// [Make], [AllReduce] and [Comm.Wait].
//
// # Model
//
// A communicator ([Comm]) is a set of ranks that make the same calls in the
// same order. A call says what to send and where it lies by a [Buffer], whose
// Go type is the datatype and whose length is the count. It enqueues on a
// [Stream] and returns; what it does is done after a Wait that covers it. Until
// then the elements belong to the call: do not touch them.
//
// What varies from call to call travels in the handle: [Comm.On] gives one
// whose calls go to another stream, [Comm.Group] one whose calls are submitted
// together.
//
// This build has one engine, the host engine. It moves CPU memory over TCP
// between processes ([Init], [InitRank]) and through memory inside one
// ([InitAll]). The environment variable GORUN_ENGINE may say "host"; asked for
// "nccl", Init answers with an [*UnsupportedError].
//
// # Contexts
//
// Calls that wait for other ranks take a context; calls that enqueue take none.
// One rank cannot take a collective back, so the end of [Comm.Wait]'s context
// aborts the communicator, on every rank. That of [Stream.Wait] and
// [Event.Wait] only stops the waiting. Init's counts until it returns; to tie a
// communicator to one for life:
//
//	context.AfterFunc(ctx, func() { comm.Abort(context.Cause(ctx)) })
//
// # Errors
//
// Lengths, roots, overlaps and states are checked before anything is sent. A
// refused call returns an [*Error], and the communicator refuses what follows
// until a Wait has reported it: a loop may check once, at Wait, as with a
// bufio.Writer. What to branch on is wrapped in the Error: the Err variables,
// [*LostError], [*StallError], [*MismatchError], [*UnsupportedError].
//
// # Failure
//
// A communicator lives like this; [Comm.Err] and [Comm.Done] tell.
//
//	Init ──▶ ready ── Finalize ─────────────▶ done ────▶ Close
//	           ├──── lost rank, stall ──────▶ failed ──▶ Close
//	           └──── Abort, Wait's context ─▶ aborted ─▶ Close
//
// The end of one rank is the end on every rank, with the same error: ranks tell
// each other over connections of their own, and a [Bootstrap] that is a
// [LossWatcher] or [Aborter] does too. So no Wait hangs because another rank is
// gone. One that merely does not come is found by [Config.Deadline].
//
// Every rank must Close, or at least Finalize, before its process ends: a
// process that ends in between is lost to the others, whatever its exit status.
// An operation that has all it needs from a lost rank still completes; what
// comes after it does not.
//
// Ranks that make different calls, or the same with other counts or types, are
// not noticed as such unless [Config.Check] is set. They read each other's
// bytes as what they are not: elements may be wrong without an error, and a
// stall or loss may be reported in place of the reason.
//
// # Goroutines
//
// Everything may be used from any goroutine, and ranks must enqueue in the same
// order, so one goroutine should. A call is tried at once on the caller's
// goroutine, and Wait drives what is left there: a small call never leaves it.
// Work that nobody waits for is driven by a goroutine that ends when there is
// no more. Close waits for a communicator's other goroutines.
//
// # Security
//
// Ranks let in who knows the communicator's [UniqueID], which [Init] passes
// through the Bootstrap only, and listen at the address that the launcher gave
// their host, or on loopback when all are on one. Every connection is opened by
// a mutual proof of the id. Data is neither encrypted nor authenticated after
// that, as NCCL's is not.
package nccl
