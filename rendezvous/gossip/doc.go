// Package gossip is the member of the cluster of hosts that carries a job's
// values from host to host. Each agent is one member: [Join] makes it, a [Node],
// which is a [rendezvous.Backend] for the ranks of its host. Programs that
// gorun starts do not import this package; they use a rendezvous.Job.
//
// # Model
//
// Everything that the hosts tell each other is a record: a value, arrivals at an
// exchange, an event. Records never change, so it matters neither in which order
// they come nor how often. The members form a tree of fan-out 8, and what a
// member learns it passes on to its neighbours in it, except to the one that it
// has it from. Two ways lead to each neighbour: memberlist's reliable messages,
// and the [Relay] through the launcher. Both are used until the neighbour says
// that it hears this member directly; then the Relay is the reserve, for records
// that have not gone out within 50 ms. Now and then memberlist lets two members
// compare checksums of their records, and if those differ, each sends the other
// what it has.
//
// An exchange counts ranks, but a member sends its host's arrivals together once
// all are there, and those of the hosts below it in the tree with them. What is
// there after 200 ms it sends anyway, so that whoever waits can name exactly who
// is missing. Ranks that bring nothing are told of by host. What ranks offer
// stays at their member, and is asked for there.
//
// A job on one host has one member: it binds nothing, starts nothing and is only
// a rendezvous.Memory.
//
// Ranks that no launcher has started can each be a member by themselves: without
// a Roster, with Seeds and a key from a file, see [ReadKey].
//
// # Failure
//
// Gossip that cannot get through between two hosts, behind a firewall for
// example, costs speed, never the job: the Relay carries the records, and one
// warning names the pair. Members that memberlist believes dead are Suspected
// events, a hint. That ranks are lost is for the launcher to say, see
// [Node.Report]; the tree then closes around the lost host. The same way it says
// who goes on in a next epoch, which no two members then see differently: between
// themselves they could not agree while one of them is being lost. Records tell
// of which epoch they are, those of a later one wait, and those of an earlier one
// are forgotten.
//
// # Security
//
// Memberlist encrypts and authenticates every packet and stream with the job's
// key, and refuses other jobs' by their label. Before that, packets and streams
// count only from addresses of the roster, streams are bounded in number and
// length, and so is every field of a record. Whoever has the key is trusted.
// What goes through the Relay is protected by the SSH channels that carry it.
package gossip
