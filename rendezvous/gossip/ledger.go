package gossip

import (
	"crypto/sha256"
	"sync"
)

// ledger is every record that the member knows, in the order in which it learnt
// them.
type ledger struct {
	mu      sync.Mutex
	entries []entry
	claimed map[digest]bool
	sum     digest        // of the entries, in whichever order
	grown   chan struct{} // closed at the next entry
}

type entry struct {
	record []byte
	from   int // the node that sent it
}

// digest identifies a record, or by the exclusive or of theirs a set of them.
type digest [16]byte

func digestOf(record []byte) digest {
	sum := sha256.Sum256(record)
	return digest(sum[:16])
}

func newLedger() *ledger {
	return &ledger{claimed: map[digest]bool{}, grown: make(chan struct{})}
}

// claim tells whether the record has not been seen before. The caller then acts
// on it, once, and enters it.
func (l *ledger) claim(record []byte) bool {
	d := digestOf(record)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.claimed[d] {
		return false
	}
	l.claimed[d] = true
	return true
}

// enter makes claimed records ones that are passed on.
func (l *ledger) enter(entries ...entry) {
	if len(entries) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entries...)
	for _, e := range entries {
		d := digestOf(e.record)
		for i := range l.sum {
			l.sum[i] ^= d[i]
		}
	}
	close(l.grown)
	l.grown = make(chan struct{})
}

// after returns the next records from the cursor on which node to does not have
// from itself, at most a message full, and the cursor behind them. Without any,
// grown is closed when there may be.
func (l *ledger) after(cursor, to int) (records [][]byte, next int, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := 0
	for next = cursor; next < len(l.entries); next++ {
		e := l.entries[next]
		if e.from == to {
			continue
		}
		if size += 4 + len(e.record); size > maxBatch && len(records) > 0 {
			break
		}
		records = append(records, e.record)
	}
	return records, next, l.grown
}

func (l *ledger) digest() digest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum
}
