// Package stdio merges the output of many ranks into the launcher's two
// streams: it keeps lines whole, tags them, and bounds what waits. [NewMerger]
// makes the merger of a job, [ParseTag] reads the tag that goes before each
// line, and a [Tail] keeps the last lines of one rank for the summary.
//
// # Model
//
// A source is one output stream of one rank. Agents send its bytes in chunks,
// in order; one goroutine of the launcher feeds them to a [Merger] and writes
// the pieces that come back, in order, before it calls the merger again:
//
//	            Add                    []Piece
//	chunks  ───────────▶  Merger  ───────────────▶  standard output, standard error
//	timer   ───────────▶    │
//	            Flush       └── Deadline
//
// Without a tag the pieces are slices of the chunk wherever they can be: not a
// byte is added, dropped or changed, and almost none is copied. Sources
// alternate at newlines. What follows a source's last newline waits for the
// next one, for the end of the stream, or for [MaxHeld] bytes. Two kinds of
// rank need not wait so long, because a person may be looking at a prompt: the
// one that owns standard input, until that ends, and the last one whose output
// is open. Their unfinished lines are due after [PromptDelay].
//
// With a tag every line begins with it. Where another source must print after
// an unfinished line, the merger ends that line and later goes on with it
// behind the tag and [Continued]:
//
//	node1:0| learning rate?
//	node2:1| ready
//	node1:0| ... 0.1
//
// Where a stream ends on a terminal, lines that are redrawn behind carriage
// returns, progress bars, are rewritten in place, one below all other lines.
//
// # Back-pressure
//
// A merger holds less than [MaxHeld] bytes a source and owns no queue. A slow
// reader blocks the goroutine that writes, which then takes no more chunks.
//
// The package has no goroutine, does no I/O and reads no clock.
package stdio
