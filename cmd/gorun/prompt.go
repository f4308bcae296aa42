package main

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/term"
)

// prompt asks questions on the controlling terminal, one at a time.
type prompt struct {
	asking sync.Mutex // held while a question stands

	mu     sync.Mutex // guards what follows
	tty    *os.File   // open while a question stands
	before *term.State
}

// errNoTerminal is the answer where nobody can be asked.
var errNoTerminal = errors.New("there is no terminal to ask on; ssh-add KEY lets the SSH agent answer")

// ask puts a question about host, for a secret, and blocks for the answer.
// Hosts are reached all at once, so questions queue.
func (p *prompt) ask(host, question string) ([]byte, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	defer tty.Close()
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return nil, errNoTerminal
	}
	p.mu.Lock()
	p.tty, p.before = tty, before
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.tty = nil
		p.mu.Unlock()
	}()
	fmt.Fprintf(tty, "gorun: %s: %s ", host, question)
	answer, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(tty)
	return answer, err
}

// close gives the terminal its echo back if the job ended while a question
// stood: ReadPassword cannot be interrupted, and main does not wait for it.
func (p *prompt) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tty != nil {
		term.Restore(int(p.tty.Fd()), p.before)
	}
}
