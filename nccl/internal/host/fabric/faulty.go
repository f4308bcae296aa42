package fabric

import "math/rand/v2"

// Faulty is a Port whose links do what links are allowed to do, all the time:
// they move a few bytes or none, and waiting returns for nothing. After Life
// bytes every link is broken. It is how the users of Ports are tested.
type Faulty struct {
	Port
	Rand *rand.Rand
	Life int // bytes to send and receive; 0: no end
	used int
}

// TrySend sends a part of b, sometimes nothing.
func (f *Faulty) TrySend(to int, b []byte) (int, error) {
	return f.try(b, func(b []byte) (int, error) { return f.Port.TrySend(to, b) })
}

// TryRecv receives into a part of b, sometimes nothing.
func (f *Faulty) TryRecv(from int, b []byte) (int, error) {
	return f.try(b, func(b []byte) (int, error) { return f.Port.TryRecv(from, b) })
}

func (f *Faulty) try(b []byte, try func([]byte) (int, error)) (int, error) {
	if f.Life > 0 && f.used >= f.Life {
		return 0, ErrBroken
	}
	if len(b) == 0 || f.Rand.IntN(4) == 0 {
		return 0, nil
	}
	if f.Rand.IntN(2) == 0 {
		b = b[:1+f.Rand.IntN(len(b))]
	}
	n, err := try(b)
	f.used += n
	return n, err
}

// Wait waits, or returns at once: not telling apart whether a try failed for
// good reason, it must not wait after one that did not.
func (f *Faulty) Wait(from, to int) {}

// Spin lets some tries be made between two waits.
func (f *Faulty) Spin() int { return f.Rand.IntN(3) }
