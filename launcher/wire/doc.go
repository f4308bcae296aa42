// Package wire is the protocol between the launcher and the agent of one host,
// spoken over whatever byte stream reaches it: an SSH channel, or a socket to a
// child, which also carries the pipes of ranks, see [SendPipe].
//
// A [Conn] sends and receives messages. Each message is one frame:
//
//	offset  size  field
//	0       1     type: index into the message table
//	1       4     length of the payload, big endian, at most MaxFrame
//	5       …     payload: the fields of the message in order
//
// Fields are encoded by kind: bool as one byte, integers as zigzag varints,
// strings and byte slices behind a varint length, slices behind a varint
// count, structs as their fields. [Output], the one message whose volume
// matters, has a fixed header instead and is never copied between the pipe of
// a rank and the stream.
//
// # Versions
//
// Nothing is negotiated. The first message of the agent, [Hello], carries a
// hash of the message table, which is the same on every architecture; a
// launcher that finds another hash refuses the agent.
//
// # Flow
//
// Control goes before output: a Conn keeps two queues and empties the first
// before it takes from the second, so that a heartbeat or a stop never waits
// behind more than one frame of output. Output costs credit: the launcher
// grants a [Window] of bytes to each agent and gives back what its printer has
// written, so that a stalled terminal slows the ranks instead of filling memory.
// The receiver must therefore always read on; it never needs to block.
//
// # Security
//
// The stream itself is authenticated by SSH, or leads to a child. Lengths
// are checked before anything is allocated, so garbage costs no memory.
package wire
