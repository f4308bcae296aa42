package sshserver

import (
	"io"
	"net"
	"strconv"
	"sync"

	"golang.org/x/crypto/ssh"
)

// forward serves a channel of type direct-tcpip (RFC 4254, section 7.2): it
// connects to where the client says and copies both ways.
func (s *Server) forward(request ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		Originator string
		OriginPort uint32
	}
	if s.current().RefuseForward {
		request.Reject(ssh.Prohibited, "open failed")
		return
	}
	if err := ssh.Unmarshal(request.ExtraData(), &to); err != nil {
		request.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	target, err := net.Dial("tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	if err != nil {
		request.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer target.Close()
	channel, requests, err := request.Accept()
	if err != nil {
		return
	}
	s.forwarded()
	var copies sync.WaitGroup
	defer copies.Wait()
	copies.Go(func() { ssh.DiscardRequests(requests) })
	copies.Go(func() {
		io.Copy(target, channel)
		target.Close()
	})
	io.Copy(channel, target)
	channel.Close()
}

// forwarded counts a connection that was forwarded.
func (s *Server) forwarded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forwards++
}

// Forwards returns how many connections were made for clients.
func (s *Server) Forwards() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forwards
}
