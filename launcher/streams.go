package launcher

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"golang.org/x/term"

	"github.com/gorun/gorun/launcher/stdio"
	"github.com/gorun/gorun/launcher/wire"
)

// AllRanks is the value of [Streams.StdinTo] that gives every rank a copy of
// standard input.
const AllRanks = -1

// check refuses ranks that a job of that size does not have.
func (s *Streams) check(size int) []error {
	var problems []error
	check := func(flag string, ranks ...int) {
		for _, rank := range ranks {
			if rank < 0 || rank >= size {
				problems = append(problems, fmt.Errorf("%s: expected a rank from 0 to %d, found %d", flag, size-1, rank))
				return
			}
		}
	}
	if s.Stdin != nil && s.StdinTo != AllRanks && !slices.Contains(s.PTY, s.StdinTo) {
		check("--stdin", s.StdinTo)
	}
	check("--show-ranks", s.Show...)
	check("--pty", s.PTY...)
	return problems
}

// merged reports whether all that a rank writes is standard output.
func (s *Streams) merged(rank int) bool { return s.Merge || slices.Contains(s.PTY, rank) }

// hidden returns the ranks whose output does not reach the Writers.
func (s *Streams) hidden(size int) map[int]bool {
	nowhere := s.Stdout == nil && s.Stderr == nil
	if s.Show == nil && !nowhere {
		return nil
	}
	hidden := map[int]bool{}
	for r := range size {
		hidden[r] = true
	}
	if !nowhere {
		for _, r := range s.Show {
			delete(hidden, r)
		}
	}
	return hidden
}

// screenRank is the rank that has the user's terminal, -1 if none has.
func (l *launch) screenRank() int {
	s := &l.job.Streams
	if l.screen == nil || l.number > 0 || !slices.Contains(s.PTY, s.StdinTo) {
		return -1
	}
	return s.StdinTo
}

// merging describes to the merger the ranks and where their output ends.
func (l *launch) merging() stdio.Config {
	s := &l.job.Streams
	conf := stdio.Config{
		Stdin: -1, Tag: l.tag, Raw: s.Raw, Screen: l.screenRank(),
		SameDestination: sameFile(s.Stdout, s.Stderr),
	}
	conf.Columns[stdio.Stdout], conf.Columns[stdio.Stderr] = columns(s.Stdout), columns(s.Stderr)
	for r := range l.plan.Size {
		seat := l.plan.Seat(r)
		conf.Ranks = append(conf.Ranks, stdio.Rank{Host: l.hosts[seat.Node].name, Node: seat.Node, Local: seat.LocalRank})
	}
	if ranks := l.readers(); len(ranks) > 0 {
		conf.Stdin = ranks[0] // who gives all the same looks at one prompt
	}
	return conf
}

// columns returns the width of the terminal that w is, 0 if it is none.
func columns(w io.Writer) (n int) {
	f, ok := w.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		if term.IsTerminal(int(fd)) {
			n, _, _ = term.GetSize(int(fd))
		}
	})
	return n
}

// sameFile says whether two writers end in one place, such as a terminal.
func sameFile(a, b io.Writer) bool {
	type file interface{ Stat() (os.FileInfo, error) }
	f, ok := a.(file)
	g, also := b.(file)
	if !ok || !also {
		return false
	}
	fi, err := f.Stat()
	gi, err2 := g.Stat()
	return err == nil && err2 == nil && os.SameFile(fi, gi)
}

// connectInput starts the forwarding of standard input, and hands the user's
// terminal to the rank that is to have it.
func (l *launch) connectInput() (err error) {
	var to []*host
	for _, h := range l.hosts {
		if len(l.on(h, l.readers())) > 0 {
			to = append(to, h)
		}
	}
	if len(to) == 0 {
		return nil
	}
	if l.screenRank() >= 0 {
		if err := l.screen.take(); err != nil {
			return fmt.Errorf("make the terminal that of rank %d: %w", l.screenRank(), err)
		}
	}
	l.input, err = startInput(l.job.Streams.Stdin, to, l.printer.inputEnded)
	return err
}

// resize tells the ranks' terminals that the user's has another size.
func (l *launch) resize() {
	if l.screen == nil {
		return
	}
	size := l.screen.size()
	for _, h := range l.hosts {
		if !h.ended() && len(l.on(h, l.job.Streams.PTY)) > 0 {
			h.conn.Send(&wire.Resize{Rows: size.Rows, Columns: size.Columns})
		}
	}
}
