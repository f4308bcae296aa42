// Package bootstrap brings the ranks of a communicator together, from nothing
// but an [ID] that all of them know: [Join] leaves each with a connection to
// its two neighbours on the ring of ranks, with what every rank had to say
// about itself, and with the means to connect to any other.
//
// # Flow
//
//  1. One process calls [Listen]. Its [Root] waits at the address in the ID.
//  2. Every rank listens at an address of its own and checks in with the Root, which tells it the address of the rank after it
//     as soon as both have come: nobody waits for all.
//  3. Every rank connects to the rank after it and accepts the rank before it, at the same time.
//  4. The ranks' records go round the ring, both ways at once, in Size/2 steps ([AllGather]).
//  5. [Ring.Connect] makes more connections, to ranks that need not be neighbours. [Ring.StopListening] ends that.
//
// # Security
//
// An ID is a secret: who has it can take part. Every connection, in either
// direction, is opened by a handshake that proves the knowledge of it on both
// sides and binds the purpose, the ranks and the size (handshake.go). Listeners
// drop whatever does not pass, without an answer and within a bounded time, and
// keep accepting. What comes later on a connection is neither encrypted nor
// authenticated: like NCCL's own, it needs a network that others cannot write
// to.
//
// # Failure
//
// Everything ends with the context. Then the error names the ranks that have
// not come, as the Root knows them.
package bootstrap
