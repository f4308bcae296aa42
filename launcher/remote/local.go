package remote

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stderrGrace bounds how long Local.Wait reads standard error after the
// process has ended: descendants may hold it open for as long as they live.
const stderrGrace = time.Second

// Local is a process on this host, in a session of its own so that the
// terminal's signals pass it by.
type Local struct {
	cmd    *exec.Cmd
	stdin  halfCloser // our ends
	stdout *os.File
	wait   func() error
}

// halfCloser is a pipe to a process or a socket of its own.
type halfCloser interface {
	io.WriteCloser
	CloseWrite() error
}

// pipeEnd is the writing end of a pipe, which has no other half.
type pipeEnd struct{ *os.File }

func (p pipeEnd) CloseWrite() error { return p.Close() }

// StartLocal starts command, whose first word is a path, on two pipes. It
// inherits this process's environment and working folder. What it writes to
// standard error goes to stderr, directly if that is an *os.File; nil discards
// it. The caller must Close the process and Wait for it; Close ends its
// standard input and kills nothing.
func StartLocal(command []string, stderr io.Writer) (*Local, error) {
	if len(command) == 0 {
		return nil, errNoCommand
	}
	return startProcess(localCommand(command, stderr))
}

// StartOnSocket is StartLocal with a socket as the process's standard input,
// see [Local.Socket]. Shells behave in their own ways on one.
func StartOnSocket(command []string, stderr io.Writer) (*Local, error) {
	if len(command) == 0 {
		return nil, errNoCommand
	}
	stdin, childIn, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("socket to %s: %w", command[0], err)
	}
	return startOn(localCommand(command, stderr), stdin, childIn)
}

var errNoCommand = errors.New("no command to start")

func localCommand(command []string, stderr io.Writer) *exec.Cmd {
	return &exec.Cmd{
		Path: command[0], Args: command, Stderr: stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
}

// Socket is the process's standard input as a socket, by which it can send
// back what does not fit a byte stream. nil: it is a pipe.
func (l *Local) Socket() *net.UnixConn {
	socket, _ := l.stdin.(*net.UnixConn)
	return socket
}

// startProcess starts cmd on two pipes.
func startProcess(cmd *exec.Cmd) (*Local, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to %s: %w", cmd.Path, err)
	}
	return startOn(cmd, pipeEnd{stdin}, childIn)
}

// startOn starts cmd with childIn, the other end of stdin, as its standard
// input. It closes childIn.
func startOn(cmd *exec.Cmd, stdin halfCloser, childIn *os.File) (_ *Local, err error) {
	defer childIn.Close()
	defer func() {
		if err != nil {
			stdin.Close()
		}
	}()
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe from %s: %w", cmd.Path, err)
	}
	enlargePipe(stdout)

	cmd.Stdin, cmd.Stdout = childIn, childOut
	cmd.WaitDelay = stderrGrace
	err = cmd.Start()
	childOut.Close()
	if err != nil {
		stdout.Close()
		return nil, err // names the path
	}
	l := &Local{cmd: cmd, stdin: stdin, stdout: stdout}
	l.wait = sync.OnceValue(l.reap)
	return l, nil
}

// Read reads the process's standard output.
func (l *Local) Read(p []byte) (int, error) { return l.stdout.Read(p) }

// Write writes to the process's standard input. After its end the error is
// EPIPE; no signal comes of it.
func (l *Local) Write(p []byte) (int, error) { return l.stdin.Write(p) }

// CloseWrite ends the process's standard input.
func (l *Local) CloseWrite() error { return ignoreClosed(l.stdin.CloseWrite()) }

// Close ends the process's standard input and stops reading its output.
func (l *Local) Close() error {
	// Reading first: a blocked Read shall see the Close, not the process's end.
	return errors.Join(ignoreClosed(l.stdout.Close()), ignoreClosed(l.stdin.Close()))
}

// Wait waits for the process and reaps it. It does not close the stream, so
// what the process wrote last can still be read.
func (l *Local) Wait() error { return l.wait() }

// Pid returns the process's id, which is that of its session and process group
// too.
func (l *Local) Pid() int { return l.cmd.Process.Pid }

// Kill kills the process, not its descendants.
func (l *Local) Kill() error {
	if err := l.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (l *Local) reap() error {
	err := l.cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it ended with 0; a descendant keeps standard error
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
		return &ExitError{
			Status: 128 + int(status.Signal()),
			Signal: signalName(status.Signal()),
		}
	}
	return &ExitError{Status: exit.ExitCode()}
}

// signalName returns the name of s as SSH has it, without SIG (RFC 4254,
// section 6.10).
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name[len("SIG"):]
	}
	return fmt.Sprint(int(s))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
