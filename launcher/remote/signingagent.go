package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// signingAgent is the connection to an ssh-agent, shared by all logins: the
// protocol answers in order, so many requests may be under way.
type signingAgent struct {
	conn    net.Conn
	running sync.WaitGroup // requests to the agent

	once    chan struct{} // holds one token, taken to ask for the keys
	signers []ssh.Signer
}

// signingAgent returns the agent at a socket.
func (d *Dialer) signingAgent(ctx context.Context, socket string) (*signingAgent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.agents[socket]
	if a == nil {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, err
		}
		a = &signingAgent{conn: conn, once: make(chan struct{}, 1)}
		a.once <- struct{}{}
		d.agents[socket] = a
	}
	return a, nil
}

// keys returns the agent's keys for one login. They are listed once.
func (a *signingAgent) keys(login *signing) ([]ssh.Signer, error) {
	ctx := login.ctx
	select {
	case <-a.once:
		defer func() { a.once <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if a.signers == nil {
		signers, err := ask(ctx, a, agent.NewClient(a.conn).Signers)
		if err != nil {
			return nil, err
		}
		a.signers = append([]ssh.Signer{}, signers...)
	}
	var keys []ssh.Signer
	for _, s := range a.signers {
		if as, ok := s.(ssh.AlgorithmSigner); ok {
			keys = append(keys, &agentSigner{as, a, login})
		}
	}
	return keys, nil
}

// close ends the connection and with it every request.
func (a *signingAgent) close() {
	a.conn.Close()
	a.running.Wait()
}

// agentSigner signs with a key of the agent, which may ask its user and take
// its time.
type agentSigner struct {
	ssh.AlgorithmSigner
	agent *signingAgent
	login *signing
}

func (s *agentSigner) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return s.SignWithAlgorithm(rand, data, "")
}

func (s *agentSigner) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	signature, err := ask(s.login.ctx, s.agent, func() (*ssh.Signature, error) {
		return s.AlgorithmSigner.SignWithAlgorithm(rand, data, algorithm)
	})
	if err != nil {
		s.login.failed(s.PublicKey(), err)
	}
	return signature, err
}

// ask calls f, which waits for the agent and knows no context. If ctx ends
// first, f goes on until the agent answers or its connection is closed.
func ask[T any](ctx context.Context, a *signingAgent, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	a.running.Go(func() {
		value, err := f()
		answers <- answer{value, err}
	})
	select {
	case got := <-answers:
		return got.value, got.err
	case <-ctx.Done():
		var none T
		return none, errors.Join(errors.New("the signing agent has not answered"), context.Cause(ctx))
	}
}
