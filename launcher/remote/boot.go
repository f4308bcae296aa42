package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
)

// Start is how to start a Program on a host.
type Start struct {
	Args   []string  // after the program's name
	Stderr io.Writer // its standard error, from its first byte; what shells print before goes to Log. nil: discarded

	// Doubt has a program that the host has stored checked by its hash, and sent
	// again if it is not what it was: for one that did not run. It takes the host
	// the time to read it.
	Doubt bool

	// Uploading is called when the host has to wait for the program, because
	// it is sent there or to a folder that the host shares. The function that
	// it returns is called when that is over. nil: nobody wants to know.
	Uploading func() (done func())

	Log *slog.Logger // nil: silent
}

// StartAgent runs p on the host and returns its stream, which belongs to the
// program from the first byte. It blocks until the program starts, ctx ends or
// the host fails for good; then the error is an *Error of StepAgent, or of
// StepLogin where a program logs in for us, and c is closed. Closing the stream
// closes c.
func (c *Conn) StartAgent(ctx context.Context, p *Program, start Start) (Stream, error) {
	var s *booted
	var err error
	if c.rsh != nil {
		s, err = c.startAgentByRsh(ctx, p, start)
	} else {
		s, err = p.boot(ctx, c.host, start, func(command string, stderr io.Writer) (Stream, error) {
			stop := context.AfterFunc(ctx, func() { c.client.Close() })
			defer stop()
			return c.start(command, stderr)
		})
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	if !c.remote.IsValid() {
		c.remote = s.server
	}
	return s, nil
}

// Start is StartAgent over any way to a host: run starts a command line in the
// login shell there, and passes on what it writes to standard error until that
// ends. The Stream that run returns is closed if Start fails.
func (p *Program) Start(ctx context.Context, host string, start Start, run func(command string, stderr io.Writer) (Stream, error)) (Stream, error) {
	s, err := p.boot(ctx, host, start, run)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (p *Program) boot(ctx context.Context, host string, start Start, run func(command string, stderr io.Writer) (Stream, error)) (*booted, error) {
	b := &boot{program: p, start: start, marker: newMarker(), log: start.Log}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	fail := func(err error) (*booted, error) {
		step := StepAgent
		if errors.As(err, new(*rshError)) {
			step = StepLogin
		}
		return nil, &Error{Host: host, Step: step, Err: because(ctx, err)}
	}
	b.executable = p.own
	own, err := p.own.digest()
	if err != nil {
		return fail(fmt.Errorf("read the program: %w", err))
	}
	script, err := scriptLine(b.marker, ownSystem(), own, p.folders, start)
	if err != nil {
		return fail(err)
	}
	b.scanner = newScanner(b.marker)
	b.stderr = &agentStderr{to: start.Stderr, scanner: newScanner(b.marker)}
	if b.stream, err = run(bootCommand, b.stderr); err != nil {
		return fail(err)
	}
	stop := context.AfterFunc(ctx, func() { b.stream.Close() })
	err = b.talk(ctx, script)
	if !stop() && err == nil {
		err = errors.New("the program has just started")
	}
	if out, errs := b.scanner.noise.text(), b.stderr.shells(); out != "" || errs != "" {
		b.log.Debug("shells printed before the agent started", "host", host, "stdout", out, "stderr", errs)
	}
	if err != nil {
		b.stream.Close()
		b.stream.Wait()
		return fail(err)
	}
	return &booted{Stream: b.stream, early: b.pending, server: b.server}, nil
}

// boot is one run of the boot script, seen from here.
type boot struct {
	program    *Program
	executable *executable // what the host is to run
	start      Start
	marker     string
	log        *slog.Logger

	stream  Stream
	server  netip.AddrPort // where the host says that it was reached; zero: unknown
	scanner *scanner
	pending []byte // read and not yet looked at
	stderr  *agentStderr
}

// maxNoise bounds what shells may print: more is a program that never ends.
const maxNoise = 1 << 20

// talk answers the script's questions until the program starts. The upload
// that others may wait for is over when it returns.
func (b *boot) talk(ctx context.Context, script string) error {
	finish := func() {}
	defer func() { finish() }()

	// Who does not read has ended; message says how.
	io.WriteString(b.stream, script)
	for {
		text, err := b.message()
		if err != nil && ctx.Err() != nil && !errors.As(err, new(*rshError)) {
			return fmt.Errorf("the login shell has not started the program%s", b.printed()) // it was we who ended it
		}
		if err != nil {
			return err
		}
		word, rest, _ := strings.Cut(text, " ")
		switch word {
		case "start":
			b.server = serverAddress(rest)
			return nil
		case "system":
			err = b.answerSystem(rest)
		case "need":
			finish()
			format, id, _ := strings.Cut(rest, " ")
			finish, err = b.answerNeed(ctx, format == "gzip", id)
		case "fail":
			return fmt.Errorf("no folder of the host can keep the program: %s", rest)
		default:
			return fmt.Errorf("the boot script said %q, which means nothing", text)
		}
		if err != nil {
			return err
		}
	}
}

// serverAddress returns the server's end of what sshd writes into
// SSH_CONNECTION: client address, client port, server address, server port.
func serverAddress(connection string) netip.AddrPort {
	fields := strings.Fields(connection)
	if len(fields) != 4 {
		return netip.AddrPort{}
	}
	addr, err := netip.ParseAddr(fields[2])
	port, portErr := strconv.ParseUint(fields[3], 10, 16)
	if err != nil || portErr != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(port))
}

// message returns the script's next message.
func (b *boot) message() (string, error) {
	buf := make([]byte, 4096)
	for {
		text, n, ok := b.scanner.scan(b.pending)
		b.pending = b.pending[n:]
		if ok {
			return text, nil
		}
		if b.scanner.noise.total > maxNoise {
			return "", fmt.Errorf("the login shell printed more than %d bytes and did not run the command%s", maxNoise, b.printed())
		}
		n, err := b.stream.Read(buf)
		b.pending = buf[:n:n]
		if n == 0 && err != nil {
			return "", b.ended()
		}
	}
}

// ended says how the command ended before the program started.
func (b *boot) ended() error {
	b.stream.CloseWrite()
	err := b.stream.Wait()
	if err == nil {
		err = &ExitError{}
	}
	if failed, ok := errors.AsType[*rshError](err); ok {
		failed.said = b.stderr.shells()
		return fmt.Errorf("%w%s", failed, b.printed())
	}
	by := "the login shell"
	if s, ok := b.stream.(*rshStream); ok {
		by = s.rsh.words[0] + ", or the shell that it runs,"
	}
	return fmt.Errorf("%s ended before the program started: %w%s", by, err, b.printed())
}

// printed quotes the last lines that shells wrote.
func (b *boot) printed() string {
	var quoted strings.Builder
	for _, text := range []string{b.scanner.noise.text(), b.stderr.shells()} {
		lines := strings.Split(text, "\n")
		for _, line := range lines[max(0, len(lines)-quotedLines):] {
			if line = strings.TrimSpace(line); line != "" {
				fmt.Fprintf(&quoted, "; it printed %q", line)
			}
		}
	}
	return quoted.String()
}

// quotedLines is how many lines of each stream an error quotes.
const quotedLines = 3

// answerSystem tells hash and size of the program for a system other than
// ours.
func (b *boot) answerSystem(system string) error {
	var err error
	if b.executable, err = b.program.forSystem(system); err != nil {
		return err
	}
	d, err := b.executable.digest()
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	fmt.Fprintf(b.stream, "%s %d\n", d.hash, d.size)
	return nil
}

// answerNeed sends the program, or waits until another host has filled the
// folder called id. The caller calls finish once the host has said what came
// of it.
func (b *boot) answerNeed(ctx context.Context, gzipped bool, id string) (finish func(), err error) {
	done := func() {}
	if b.start.Uploading != nil {
		done = b.start.Uploading()
	}
	if id == "-" {
		return done, b.send(gzipped)
	}
	d, err := b.executable.digest()
	if err != nil {
		return done, err
	}
	u, ours := b.program.fill(id, d.hash)
	if ours {
		return func() { close(u.done); done() }, b.send(gzipped)
	}
	select {
	case <-u.done:
		io.WriteString(b.stream, "again\n")
	case <-ctx.Done():
		err = errors.New("another host was filling the folder that this one shares")
	}
	return done, err
}

// send sends the program. A host that does not read it says why in its next
// message, or by ending; only what fails here is an error.
func (b *boot) send(gzipped bool) error {
	to := &unfailing{w: b.stream}
	if err := b.executable.sendTo(to, gzipped); err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	return nil
}

// unfailing drops what its writer does not take.
type unfailing struct {
	w    io.Writer
	dead bool
}

func (u *unfailing) Write(p []byte) (int, error) {
	if !u.dead {
		_, err := u.w.Write(p)
		u.dead = err != nil
	}
	return len(p), nil
}

// booted is the stream of a program whose first bytes were read with the
// script's last message.
type booted struct {
	Stream
	early  []byte
	server netip.AddrPort
}

func (s *booted) Read(p []byte) (int, error) {
	if len(s.early) == 0 {
		return s.Stream.Read(p)
	}
	n := copy(p, s.early)
	if s.early = s.early[n:]; len(s.early) == 0 {
		s.early = nil
	}
	return n, nil
}
