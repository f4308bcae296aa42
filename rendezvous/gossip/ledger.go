package gossip

import (
	"crypto/sha256"
	"maps"
	"sync"
)

// ledger is every record that the member knows, in the order in which it learnt
// them. What it knows of an epoch goes when that is over, so that a job may have
// many.
type ledger struct {
	mu      sync.Mutex
	epoch   int // the present one
	entries []entry
	claimed map[int]map[digest]bool // by epoch
	sums    map[int]digest          // what is known, in whichever order, by epoch
	grown   chan struct{}           // closed at the next entry
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
	return &ledger{claimed: map[int]map[digest]bool{}, sums: map[int]digest{}, grown: make(chan struct{})}
}

// claim tells whether the record has not been seen before and its epoch is not
// over. The caller then acts on it, once, and enters it.
func (l *ledger) claim(e entry) bool {
	d := digestOf(e.record)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over(e.epoch) || l.claimed[e.epoch][d] {
		return false
	}
	if l.claimed[e.epoch] == nil {
		l.claimed[e.epoch] = map[digest]bool{}
	}
	l.claimed[e.epoch][d] = true
	return true
}

// disclaim lets a claimed record be claimed again, which nobody has acted on.
func (l *ledger) disclaim(e entry) {
	d := digestOf(e.record)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.claimed[e.epoch], d)
	if len(l.claimed[e.epoch]) == 0 {
		delete(l.claimed, e.epoch)
	}
}

// over tells whether an epoch is. l.mu is held.
func (l *ledger) over(epoch int) bool { return epoch < l.epoch && epoch != lasting }

// know adds to what members compare. Arrivals count one by one, whatever records
// brought them; of all else, records do.
func (l *ledger) know(epoch int, d digest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over(epoch) {
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
		if !l.over(e.epoch) {
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
		if l.over(e.epoch) {
			l.entries[i].record = nil
		}
	}
	maps.DeleteFunc(l.sums, func(epoch int, _ digest) bool { return l.over(epoch) })
	maps.DeleteFunc(l.claimed, func(epoch int, _ map[digest]bool) bool { return l.over(epoch) })
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
