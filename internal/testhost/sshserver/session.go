package sshserver

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

func (s *Server) serverConfig(clientKey ssh.PublicKey) *ssh.ServerConfig {
	conf := &ssh.ServerConfig{
		ServerVersion:  "SSH-2.0-gorun_test",
		BannerCallback: func(ssh.ConnMetadata) string { return s.conf.Banner },
		AuthLogCallback: func(_ ssh.ConnMetadata, method string, err error) {
			if err == nil {
				s.loggedIn()
			}
		},
		PublicKeyCallback: func(client ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			f := s.current()
			wait(f.LoginDelay)
			if s.conf.UserCA != nil {
				return s.certificate(client, key)
			}
			if f.RejectKeys || !s.conf.AnyKey && string(key.Marshal()) != string(clientKey.Marshal()) {
				return nil, errors.New("key not authorized")
			}
			if s.conf.BothFactors {
				return nil, &ssh.PartialSuccessError{Next: ssh.ServerAuthCallbacks{KeyboardInteractiveCallback: s.question}}
			}
			return nil, nil
		},
	}
	if len(s.conf.Questions) > 0 && !s.conf.BothFactors {
		conf.KeyboardInteractiveCallback = s.question
	}
	if s.conf.Password != "" {
		conf.PasswordCallback = func(_ ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if string(password) != s.conf.Password {
				return nil, errors.New("wrong password")
			}
			return nil, nil
		}
	}
	return conf
}

// certificate lets in whoever has a certificate of the authority.
func (s *Server) certificate(client ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	checker := ssh.CertChecker{IsUserAuthority: func(authority ssh.PublicKey) bool {
		return string(authority.Marshal()) == string(s.conf.UserCA.Marshal())
	}}
	return checker.Authenticate(client, key)
}

// question asks the client the questions and compares its answers.
func (s *Server) question(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
	var texts []string
	var echos []bool
	for _, q := range s.conf.Questions {
		texts, echos = append(texts, q.Text), append(echos, q.Echo)
	}
	answers, err := ask("", s.conf.Instruction, texts, echos)
	if err != nil {
		return nil, err
	}
	for i, q := range s.conf.Questions {
		if i >= len(answers) || answers[i] != q.Answer {
			return nil, errors.New("wrong answer")
		}
	}
	return nil, nil
}

// wait is the delay of a slow server, not a way to await something.
func wait(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

// serve handles one connection until it ends, and waits for the goroutines of
// its sessions, though not for processes that outlive it.
func (s *Server) serve(c net.Conn) {
	if s.current().Silent {
		io.Copy(io.Discard, c)
		s.authenticated()
		return
	}
	conn, channels, requests, err := ssh.NewServerConn(c, s.sshConf)
	s.authenticated()
	if err != nil {
		return
	}
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer conn.Close()
	sessions.Go(func() { ssh.DiscardRequests(requests) })
	for ch := range channels {
		switch ch.ChannelType() {
		case "session":
		case "direct-tcpip":
			sessions.Go(func() { s.forward(ch) })
			continue
		default:
			ch.Reject(ssh.UnknownChannelType, "only sessions and direct-tcpip")
			continue
		}
		channel, requests, err := ch.Accept()
		if err != nil {
			return
		}
		sessions.Go(func() { s.session(c, channel, requests) })
	}
}

// session runs the command that the requests of a channel ask for. They end
// when the client, or the network, closes the channel.
func (s *Server) session(c net.Conn, channel ssh.Channel, requests <-chan *ssh.Request) {
	var command sync.WaitGroup
	defer command.Wait()
	defer channel.Close()
	closed := make(chan struct{})
	defer close(closed)
	for r := range requests {
		var exec struct{ Command string }
		if r.Type != "exec" || s.current().RefuseExec || ssh.Unmarshal(r.Payload, &exec) != nil {
			if r.WantReply {
				r.Reply(false, nil)
			}
			continue
		}
		r.Reply(true, nil)
		command.Go(func() {
			defer channel.Close()
			if err := s.run(c, channel, exec.Command, closed); err != nil {
				io.WriteString(channel.Stderr(), err.Error()+"\n")
			}
		})
	}
}

// run runs a command and tells its exit status. When the channel is closed
// first, the command's standard input ends and its output has no reader; the
// process goes on.
func (s *Server) run(c net.Conn, channel ssh.Channel, command string, closed <-chan struct{}) error {
	io.WriteString(channel, s.conf.Noise)
	io.WriteString(channel.Stderr(), s.conf.StderrNoise)
	if s.conf.Exec != nil {
		status := s.conf.Exec(command, channel)
		_, err := channel.SendRequest("exit-status", false, exitStatus(status))
		return err
	}

	cmd := exec.Command(s.shell(), "-c", command)
	cmd.Env = s.login()
	cmd.Dir = s.Home
	if _, err := os.Stat(s.Home); err != nil {
		cmd.Dir = "/"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// Pipes of our own: with exec's, Wait would wait for every process that
	// holds one.
	var ours, theirs []*os.File
	defer func() { closeAll(ours) }()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			ours, theirs = append(ours, r), append(theirs, w)
		}
		return r, w, err
	}
	stdinR, stdin, err := pipe()
	if err != nil {
		return err
	}
	ours[0], theirs[0] = stdin, stdinR
	stdout, stdoutW, err := pipe()
	if err != nil {
		closeAll(theirs)
		return err
	}
	stderr, stderrW, err := pipe()
	if err != nil {
		closeAll(theirs)
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdinR, stdoutW, stderrW
	err = s.start(cmd)
	closeAll(theirs)
	if err != nil {
		return err
	}

	var copies sync.WaitGroup
	defer copies.Wait()
	defer channel.Close() // ends the copy of the input
	copies.Go(func() {
		io.Copy(stdin, channel)
		stdin.Close()
	})
	var outputs sync.WaitGroup
	outputs.Go(func() { s.copyOutput(c, channel, stdout) })
	outputs.Go(func() { io.Copy(channel.Stderr(), stderr) })
	ended := make(chan struct{})
	copies.Go(func() {
		select {
		case <-closed:
			stdout.Close()
			stderr.Close()
		case <-ended:
		}
	})
	outputs.Wait()
	close(ended)
	closeAll(ours[1:])
	s.reap(cmd)
	return sendStatus(channel, cmd.ProcessState)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// sendStatus tells how a command ended (RFC 4254, section 6.10).
func sendStatus(channel ssh.Channel, state *os.ProcessState) error {
	status := state.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		_, err := channel.SendRequest("exit-status", false, exitStatus(status.ExitStatus()))
		return err
	}
	exit := struct {
		Signal   string
		Core     bool
		Text     string
		Language string
	}{Signal: strings.TrimPrefix(unix.SignalName(status.Signal()), "SIG"), Core: status.CoreDump()}
	_, err := channel.SendRequest("exit-signal", false, ssh.Marshal(exit))
	return err
}

func exitStatus(status int) []byte {
	return ssh.Marshal(struct{ Status uint32 }{uint32(status)})
}

// copyOutput sends a command's output, and cuts the connection where the
// faults say so.
func (s *Server) copyOutput(c net.Conn, channel io.Writer, stdout io.Reader) {
	if limit := s.current().CloseAfter; limit > 0 {
		io.CopyN(channel, stdout, limit)
		c.Close()
		return
	}
	io.Copy(channel, stdout)
}

// start starts a command and remembers it, unless the server is closing.
func (s *Server) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.pids[cmd.Process.Pid] = true
	return nil
}

// reap waits for a command. Its process group is remembered for as long as
// it may have members.
func (s *Server) reap(cmd *exec.Cmd) {
	cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if syscall.Kill(-cmd.Process.Pid, 0) != nil {
		delete(s.pids, cmd.Process.Pid)
	}
}

// killAll kills the process groups of commands. Who made a session of its own
// is out of reach, as on a real host.
func (s *Server) killAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid := range s.pids {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
}
