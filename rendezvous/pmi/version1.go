package pmi

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// answer1 acts on a request of PMI-1.
func (c *session) answer1(ctx context.Context, m message) ([]message, error) {
	say := func(command string, keysAndValues ...string) ([]message, error) {
		return []message{newMessage(command, keysAndValues...)}, nil
	}
	s := c.server
	switch m.command {
	case "get_maxes":
		return say("maxes", "kvsname_max", strconv.Itoa(maxName), "keylen_max", strconv.Itoa(maxKey), "vallen_max", strconv.Itoa(maxValue))
	case "get_appnum":
		return say("appnum", "appnum", strconv.Itoa(s.app(c.rank)))
	case "get_universe_size":
		return say("universe_size", "size", strconv.Itoa(s.size))
	case "get_my_kvsname":
		return say("my_kvsname", "kvsname", s.space)
	case "put":
		err := c.inSpace(m.get("kvsname"))
		if err == nil {
			err = c.put(m.get("key"), m.get("value"))
		}
		if err != nil {
			return say("put_result", "rc", "-1", "msg", word(err.Error()))
		}
		return say("put_result", "rc", "0", "msg", "success")
	case "get":
		if err := c.inSpace(m.get("kvsname")); err != nil {
			return say("get_result", "rc", "-1", "msg", word(err.Error()), "value", "unknown")
		}
		value, ok := s.value(c.pending, m.get("key"))
		if !ok {
			return say("get_result", "rc", "-1", "msg", "key_not_found", "value", "unknown")
		}
		return say("get_result", "rc", "0", "msg", "success", "value", value)
	case "barrier_in":
		if err := c.fence(ctx); err != nil {
			return nil, fmt.Errorf("barrier: %w", err)
		}
		return say("barrier_out")
	case "finalize":
		c.finalize()
		return say("finalize_ack")
	case "abort":
		c.abort(m)
		return nil, nil // none is expected
	}
	if answer, ok := refused1[m.command]; ok {
		return say(answer, "rc", "-1", "msg", word(m.command+" is not served by gorun"))
	}
	return nil, fmt.Errorf("unknown command %.64q", m.command)
}

// refused1 is what belongs to PMI-1 and is not served, with the command by which
// clients know the answer. Other commands end the connection, as with Hydra:
// there is no answer that a client would wait for.
var refused1 = map[string]string{
	"spawn":          "spawn_result",
	"publish_name":   "publish_result",
	"unpublish_name": "unpublish_result",
	"lookup_name":    "lookup_result",
}

// word makes a sentence one value of a line, which ends at a space.
func word(sentence string) string { return strings.ReplaceAll(sentence, " ", "_") }

// inSpace refuses key spaces but the job's.
func (c *session) inSpace(name string) error {
	if name != c.server.space {
		return fmt.Errorf("key space is %.64q, want %s", name, c.server.space)
	}
	return nil
}

// put keeps a value for the next fence.
func (c *session) put(key, value string) error {
	if err := checkPut(key, value); err != nil {
		return err
	}
	size := c.size + putSize(key, value)
	if old, ok := c.pending[key]; ok {
		size -= putSize(key, old)
	}
	if size > maxPuts-4 { // 4: the list's length
		return fmt.Errorf("more than %d bytes before a fence", maxPuts)
	}
	c.pending[key], c.size = value, size
	return nil
}

// fence makes what was put visible to all, when all have come.
func (c *session) fence(ctx context.Context) error {
	if err := c.server.meet(ctx, c.local, c.pending); err != nil {
		return err
	}
	clear(c.pending)
	c.size = 0
	return nil
}

// finalize is the end of a program. What it has put since its last fence is
// visible to nobody, the next one over the same connection included.
func (c *session) finalize() {
	c.server.finalized(c.rank)
	clear(c.pending)
	c.size, c.next = 0, 0
}

// abort asks for the end of the job. PMI-1's clients say with which status, in
// either spelling.
func (c *session) abort(m message) {
	code := m.get("exitcode")
	if code == "" {
		code = m.get("exit_code")
	}
	status, err := strconv.Atoi(code)
	if err != nil {
		status = 1
	}
	c.server.aborted(c.rank, status)
}
