package launcher

import (
	"io"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/gorun/gorun/launcher/wire"
)

// usualScreen is the size of a rank's terminal where we have none.
var usualScreen = wire.Resize{Rows: 24, Columns: 80}

// screen is the user's terminal, which one rank has for its own while it
// runs: what is typed reaches the rank's terminal as it is typed, and that one
// decides what Ctrl-C means.
type screen struct {
	fd int

	mu     sync.Mutex
	cooked *term.State // to be restored; nil: the terminal is the user's
}

// screenPatience bounds how long a rank that has ended keeps the terminal for
// output that is still on its way: a process that it has left may hold the other
// side open.
const screenPatience = 200 * time.Millisecond

// newScreen returns the terminal that in is, nil if it is none.
func newScreen(in io.Reader) *screen {
	f, ok := in.(descriptor)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &screen{fd: int(f.Fd())}
}

// size returns the size that a rank's terminal is to have.
func (s *screen) size() wire.Resize {
	if s == nil {
		return usualScreen
	}
	columns, rows, err := term.GetSize(s.fd)
	if err != nil || columns == 0 || rows == 0 {
		return usualScreen
	}
	return wire.Resize{Rows: rows, Columns: columns}
}

// take makes the terminal the rank's.
func (s *screen) take() (err error) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cooked == nil {
		s.cooked, err = term.MakeRaw(s.fd)
	}
	return err
}

// release gives it back to the user, and says whether it was the rank's.
func (s *screen) release() (taken bool) {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if taken = s.cooked != nil; taken {
		term.Restore(s.fd, s.cooked) // an error means that it is gone
		s.cooked = nil
	}
	return taken
}
