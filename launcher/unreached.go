package launcher

import (
	"errors"
	"fmt"

	"github.com/gorun/gorun/launcher/remote"
)

// UnreachedError is ErrTimeout where it came before all hosts were reached.
type UnreachedError struct{ Hosts []Unreached }

// Unreached is a host that was being reached.
type Unreached struct {
	Host string
	Step string // what was waited for: dial, login, agent, upload or hello
}

func (e *UnreachedError) Error() string {
	var names []string
	for _, h := range e.Hosts {
		names = append(names, fmt.Sprintf("%s (%s)", h.Host, h.Step))
	}
	return fmt.Sprintf("%v before these hosts were reached: %s", ErrTimeout, listed(names, 8))
}

// Unwrap returns ErrTimeout.
func (e *UnreachedError) Unwrap() error { return ErrTimeout }

// unreached names those of hosts that are late, with what was waited for.
func unreached(hosts []*host, late map[*host]string) error {
	e := &UnreachedError{}
	for _, h := range hosts {
		if step, ok := late[h]; ok {
			e.Hosts = append(e.Hosts, Unreached{Host: h.name, Step: step})
		}
	}
	return e
}

// awaited names the step in which the attempt to reach h was ended; err is what
// that led to.
func (h *host) awaited(err error) string {
	var r *remote.Error
	switch {
	case h.uploading:
		return "upload"
	case errors.As(err, &r):
		return string(r.Step)
	case h.conn != nil:
		return "hello"
	}
	return string(remote.StepAgent)
}
