// Package pmi serves PMI-1 and PMI-2, by which programs of MPICH and its
// descendants, and those linked with Slurm's libpmi2, learn their place in the
// job and meet. An agent has a [Server] for the ranks of its host, hands each the
// other end of a pair from [NewPair] (PMI_FD) or the address at which
// [Server.ServePort] listens (PMI_PORT), and asks [Server.End] how a rank stood
// when its process has ended.
//
// # Model
//
// Ranks put values under keys, come to a fence, which PMI-1 calls a barrier, and
// then get what others have put. Values so need not travel one by one: a host
// keeps those of its ranks until all are at the fence, and brings them to the
// others in one [Exchange], which gossip carries along its tree. A get is then
// answered from memory.
//
// Which ranks share a host is told by the value of PMI_process_mapping, made of
// the job's plan; it is the only key that is not a rank's.
//
// PMI-1 is spoken as version 1.1, without the barriers of groups that came with
// 1.2. Starting more programs and publishing names is refused. A program that
// has said finalize may be followed by another over the same descriptor, as in a
// script that runs two.
//
// # Failure
//
// What is not PMI ends the connection, with an error that names the rank. A
// fence at which a rank is missing waits for it: that the rank will never come
// is for others to find out and to end the job. An abort ends nothing by itself
// either, see Config.
//
// # Security
//
// A pair belongs to whoever inherits its end. Who comes through the port is
// answered if the kernel says that the connection's other end is this user's or
// root's; within that, ranks are believed who they are. Lines, frames, keys,
// values and what a rank puts before a fence are bounded before they are kept.
package pmi
