package launcher

import "sync"

// mailbox is a queue without bound between the goroutines that read agents
// and the one that supervises, so that a reader never waits: what would be
// behind it might be a heartbeat. Control messages are few; output does not
// go through it.
type mailbox struct {
	ready chan struct{} // has an element when there may be letters

	mu      sync.Mutex
	letters []letter
}

// letter is a message of an agent, or the end of its stream.
type letter struct {
	from    *host
	message any
	err     error // of the stream; message is nil then
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

func (b *mailbox) post(l letter) {
	b.mu.Lock()
	b.letters = append(b.letters, l)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take returns all that has come.
func (b *mailbox) take() []letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	letters := b.letters
	b.letters = nil
	return letters
}
