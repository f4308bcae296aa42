package gossip

import (
	"crypto/sha256"
	"sync"
)

// ledger is every record that the member knows, in the order in which it learnt
// them. Those of an epoch go when it is over.
type ledger struct {
	mu      sync.Mutex
	epoch   int // the present one
	entries []entry
	claimed map[digest]bool
	sums    map[int]digest // what is known, in whichever order, by epoch
	grown   chan struct{}  // closed at the next entry
}

type entry struct {
	epoch  int // lasting: of none
	record []byte
	from   int  // the node that sent it
	up     bool // it is for the parent only
}

// lasting stands for the epoch of what concerns hosts, not ranks.
const lasting = -1

// digest identifies something that is known, or by the exclusive or of theirs a
// set of such things.
type digest [16]byte

func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest(sum[:16])
}

func (d *digest) add(other digest) {
	for i := range d {
		d[i] ^= other[i]
	}
}

func newLedger() *ledger {
	return &ledger{claimed: map[digest]bool{}, sums: map[int]digest{}, grown: make(chan struct{})}
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

// know adds to what members compare. Arrivals count one by one, whatever records
// brought them; of all else, records do.
func (l *ledger) know(epoch int, d digest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch < l.epoch && epoch != lasting {
		return
	}
	sum := l.sums[epoch]
	sum.add(d)
	l.sums[epoch] = sum
}

// enter makes claimed records ones that are passed on, unless their epoch is
// over.
func (l *ledger) enter(entries ...entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.entries)
	for _, e := range entries {
		if e.epoch >= l.epoch || e.epoch == lasting {
			l.entries = append(l.entries, e)
		}
	}
	if len(l.entries) == before {
		return
	}
	close(l.grown)
	l.grown = make(chan struct{})
}

// begin forgets the records of epochs before this one. Their places stay, so
// that cursors do.
func (l *ledger) begin(epoch int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = epoch
	for i, e := range l.entries {
		if e.epoch < epoch && e.epoch != lasting {
			l.entries[i].record = nil
		}
	}
	for e := range l.sums {
		if e < epoch && e != lasting {
			delete(l.sums, e)
		}
	}
}

// after returns the next records from the cursor on which node to does not have
// from itself, at most a message full, and the cursor behind them. Without any,
// grown is closed when there may be. up says that the node is the parent.
func (l *ledger) after(cursor, to int, up bool) (records [][]byte, next int, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := 0
	for next = cursor; next < len(l.entries); next++ {
		e := l.entries[next]
		if e.from == to || e.up && !up || e.record == nil {
			continue
		}
		if size += 4 + len(e.record); size > maxBatch && len(records) > 0 {
			break
		}
		records = append(records, e.record)
	}
	return records, next, l.grown
}

func (l *ledger) digest() (sum digest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sums {
		sum.add(s)
	}
	return sum
}
