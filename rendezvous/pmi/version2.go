package pmi

import (
	"context"
	"fmt"
	"strconv"
)

// answer2 acts on a request of PMI-2.
func (c *session) answer2(ctx context.Context, m message) ([]message, error) {
	fields, err := c.act2(ctx, m)
	switch m.command {
	case "abort":
		return nil, nil // none is expected
	case "kvs-fence":
		if err != nil {
			return nil, fmt.Errorf("fence: %w", err)
		}
	}
	answer := newMessage(m.command + "-response")
	if thread, ok := m.lookup("thrid"); ok {
		answer.fields = append(answer.fields, field{"thrid", thread})
	}
	if err != nil {
		answer.fields = append(answer.fields, field{"rc", "1"}, field{"errmsg", err.Error()})
	} else {
		answer.fields = append(append(answer.fields, fields...), field{"rc", "0"})
	}
	return []message{answer}, nil
}

// act2 returns what the answer says, but for its command and status.
func (c *session) act2(ctx context.Context, m message) ([]field, error) {
	s := c.server
	switch m.command {
	case "fullinit":
		if rank, ok := m.lookup("pmirank"); ok && rank != strconv.Itoa(c.rank) {
			return nil, fmt.Errorf("rank is %.16q, want %d", rank, c.rank)
		}
		return []field{
			{"pmi-version", "2"}, {"pmi-subversion", "0"},
			{"rank", strconv.Itoa(c.rank)}, {"size", strconv.Itoa(s.size)}, {"appnum", strconv.Itoa(s.app(c.rank))},
			{"debugged", "FALSE"}, {"pmiverbose", "FALSE"},
		}, nil
	case "job-getid":
		return []field{{"jobid", s.space}}, nil
	case "kvs-put":
		return nil, c.put(m.get("key"), m.get("value"))
	case "kvs-get":
		if job := m.get("jobid"); job != "" {
			if err := c.inSpace(job); err != nil {
				return nil, err
			}
		}
		return found(s.value(c.pending, m.get("key")))
	case "kvs-fence":
		return nil, c.fence(ctx)
	case "info-getjobattr":
		switch m.get("key") {
		case mappingKey:
			return found(s.where, s.where != "")
		case "universeSize":
			return found(strconv.Itoa(s.size), true)
		}
		return found("", false)
	case "info-putnodeattr":
		return nil, s.putAttribute(m.get("key"), m.get("value"))
	case "info-getnodeattr":
		return found(s.attribute(ctx, m.get("key"), m.get("wait") == "TRUE"))
	case "finalize":
		c.finalize()
		return nil, nil
	case "abort":
		c.abort(m)
		return nil, nil
	}
	return nil, fmt.Errorf("%.64s is not served by gorun", m.command)
}

// found returns the fields that answer a question for a value.
func found(value string, ok bool) ([]field, error) {
	if !ok {
		return []field{{"found", "FALSE"}}, nil
	}
	return []field{{"found", "TRUE"}, {"value", value}}, nil
}

// maxAttributes bounds what the ranks of a host may tell each other so.
const maxAttributes = 4096

// putAttribute makes a value known to the other ranks of the host at once.
func (s *Server) putAttribute(key, value string) error {
	if err := checkPut(key, value); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.node[key]; !again && len(s.node) == maxAttributes {
		return fmt.Errorf("the host has %d attributes, no more are allowed", maxAttributes)
	}
	s.node[key] = value
	close(s.nodeGrown)
	s.nodeGrown = make(chan struct{})
	return nil
}

// attribute returns such a value, and waits for it if it is told to.
func (s *Server) attribute(ctx context.Context, key string, wait bool) (value string, ok bool) {
	for {
		s.mu.Lock()
		value, ok = s.node[key]
		grown := s.nodeGrown
		s.mu.Unlock()
		if ok || !wait {
			return value, ok
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return "", false
		}
	}
}
