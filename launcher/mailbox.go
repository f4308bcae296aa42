package launcher

import (
	"fmt"
	"sync"

	"github.com/gorun/gorun/launcher/wire"
)

// mailbox is a queue between the goroutines that read agents and the one that
// supervises. A reader never waits: what would be behind it might be a
// heartbeat. Output does not go through it.
//
// What it holds is bounded all the same, however long the supervisor is held up
// by who is told of events. Of what an agent may say as often as it likes, bytes
// of input that were taken are added up, and hints are dropped that wait already
// or are too many. The rest it says once of each rank, or when it is asked; one
// that says more is lost. Stack traces, which are long, lose their text when too
// much of it waits.
type mailbox struct {
	ready chan struct{} // has an element when there may be letters

	mu      sync.Mutex
	letters []letter
	waiting map[*host]int              // how many of them are an agent's messages
	taken   map[*host]*wire.InputTaken // that waits
	hints   map[*host]map[any]bool     // that wait: messages by value
	stacks  int                        // bytes of text in the stack traces that wait
}

const (
	// maxLetters is what of one host may wait beside what is about its ranks: it
	// says ten different things, a few of them again after a pause.
	maxLetters = 1 << 10
	// maxRankLetters is the same of a rank: that it started, joined, ended, and
	// where its processes are, of which an agent tells eight.
	maxRankLetters = 16
	// maxHints is how many different ones of a host may wait. What a host says too
	// much of must not silence the others.
	maxHints = 1 << 6
	// maxNotice is how much of a notice counts, in bytes.
	maxNotice = 4 << 10
	// maxStacks bounds the text of stack traces that wait, of all hosts.
	maxStacks = 16 << 20
)

// letter is a message of an agent, or the end of its stream.
type letter struct {
	from    *host
	message any
	err     error // of the stream; message is nil then
}

func newMailbox() *mailbox {
	return &mailbox{
		ready:   make(chan struct{}, 1),
		waiting: map[*host]int{}, taken: map[*host]*wire.InputTaken{}, hints: map[*host]map[any]bool{},
	}
}

// post hands over a letter, of a host with so many ranks. Its error says that
// the agent says too much; the end of a stream has none.
func (b *mailbox) post(l letter, ranks int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.message != nil {
		if b.gather(l) {
			return nil
		}
		if most := maxLetters + maxRankLetters*ranks; b.waiting[l.from] == most {
			return fmt.Errorf("the agent sent more than %d messages that nothing asked for", most)
		}
		b.waiting[l.from]++
	}
	b.letters = append(b.letters, l)
	select {
	case b.ready <- struct{}{}:
	default:
	}
	return nil
}

// gather says whether a letter need not wait, since another has what it says or
// there are too many of its kind. b.mu is held.
func (b *mailbox) gather(l letter) bool {
	switch m := l.message.(type) {
	case *wire.InputTaken:
		if sum := b.taken[l.from]; sum != nil {
			sum.Bytes += m.Bytes
			sum.Closed = sum.Closed || m.Closed
			return true
		}
		b.taken[l.from] = m
	case *wire.Notice:
		m.Text = m.Text[:min(len(m.Text), maxNotice)]
		return b.superfluous(l.from, *m)
	case *wire.Suspected:
		return b.superfluous(l.from, *m)
	case *wire.Stack:
		if b.stacks+len(m.Text) > maxStacks {
			m.Text = "not told: too many stack traces at once"
		}
		b.stacks += len(m.Text)
	}
	return false
}

// superfluous says that of a hint.
func (b *mailbox) superfluous(from *host, hint any) bool {
	waiting := b.hints[from]
	if waiting[hint] || len(waiting) == maxHints {
		return true
	}
	if waiting == nil {
		waiting = map[any]bool{}
		b.hints[from] = waiting
	}
	waiting[hint] = true
	return false
}

// take returns all that has come.
func (b *mailbox) take() []letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	letters := b.letters
	b.letters, b.stacks = nil, 0
	clear(b.waiting)
	clear(b.taken)
	clear(b.hints)
	return letters
}
