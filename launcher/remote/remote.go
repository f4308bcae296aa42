// Package remote gives a byte stream to a process on a host: the way a
// launcher reaches its agents.
//
// A [Dialer] logs in to hosts by SSH as OpenSSH's client would: it reads
// ssh_config and known_hosts, asks the user's agent for signatures, and goes
// through jump hosts, commands and master connections.
// [Dialer.Dial] gives a [Conn], and [Conn.StartAgent] puts the running program
// on that host, if it is not there yet, and starts it. [StartLocal] starts it
// on this host as a child on two pipes; [IsLocal] says which hosts these are.
// [Slurm] starts it in a step of a Slurm job. Every way the result is a [Stream].
//
// # Model
//
// One login, one command, one stream a host. The command is a fixed line that
// every login shell understands alike; it reads a script for /bin/sh from its
// standard input, and the script looks for the program by the hash of its
// content, asks for it where it is missing, and becomes it ([Program]). Since
// shells print what they like when they start, nothing counts before a marker
// line with a random number in it.
//
// Where only OpenSSH's client can log in, or the user names a program that does
// ([SSH].Rsh), that program is started; its standard streams lead to the same
// shell, which reads the same script.
//
// # Failure
//
// Every error of Dial and StartAgent is an [*Error] with the host and the step
// that failed. Until authentication starts, a login that the server drops is
// tried again with growing pauses (sshd drops logins beyond MaxStartups), and so is
// a name that does not resolve yet, until the context ends. A rejected
// authentication is never repeated: servers lock out clients that insist.
//
// Closing a stream ends the command's input and kills nothing: sshd leaves
// processes alone when their session ends. Who starts agents must make them
// end by themselves when their input does. Only a step of Slurm's is killed if it
// does not.
//
// # Security
//
// A host's key must be known. An unknown one is accepted, and stored, only if
// the caller or ssh_config says so; a changed one never is. Nothing secret is
// passed in command lines or environments: what the agent must know goes over
// its stream. The folder that keeps the program on a host must belong to the
// user, with mode 0700, and must not be a symbolic link.
package remote

import (
	"fmt"
	"io"
	"strings"
)

// Stream is the standard input and output of a process on some host. One
// goroutine may read while another writes; Close and Wait may be called from
// any.
type Stream interface {
	io.ReadWriteCloser // Close ends the stream at once, also when the network is gone. It may be repeated

	// CloseWrite ends the process's standard input. What it still writes can
	// be read until its end of file.
	CloseWrite() error

	// Wait blocks until the process has ended and its standard error was
	// written out. Its error is nil if the process ended with 0, *ExitError if
	// it ended otherwise, and another if that cannot be known because the
	// connection was lost or closed.
	Wait() error
}

// ExitError is the end of a process other than with status 0.
type ExitError struct {
	Status int    // its exit status; 128 + n if signal n killed it
	Signal string // the signal that killed it, such as "KILL"; "": none
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "killed by signal " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Status)
}

// Step is how far the way to a process had come when it failed.
type Step string

// The steps, in their order.
const (
	StepDial  Step = "dial"  // find the address and connect
	StepLogin Step = "login" // check the host's key, authenticate
	StepAgent Step = "agent" // store the program and start it
)

// Error says that a host was not reached.
type Error struct {
	Host string // as written in the host list
	Step Step
	Err  error
}

// Error names host and step, with which errors of package net begin, too.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Host, e.Step, strings.TrimPrefix(e.Err.Error(), string(e.Step)+" "))
}

func (e *Error) Unwrap() error { return e.Err }
