package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gorun/gorun/rankenv"
)

// The environment that Open reads, beyond what package rankenv does.
const (
	envAddress    = "GORUN_RENDEZVOUS"
	envDescriptor = "GORUN_SOCKET_FD"
)

// Config says where to meet. The zero Config is right under gorun, and for a
// program of one rank.
type Config struct {
	World   *rankenv.World // this rank's place; nil: rankenv.Current
	Address string         // unix:PATH; "": GORUN_RENDEZVOUS, else the job socket that the launcher gave
}

// Open opens the job of this process's rank. It blocks until the meeting place
// answers, or ctx ends. The caller closes the Job.
//
// Under gorun the meeting place is the agent's job socket. It is reached through
// the descriptor that a rank inherits, which needs no file system in common with
// the agent, and else by its path. Open marks the descriptor close-on-exec:
// programs that this process starts use the path, unless it hands the
// descriptor on to them, as os/exec does with ExtraFiles.
//
// A world of one rank that has no meeting place is its own.
func Open(ctx context.Context, conf *Config) (*Job, error) {
	if conf == nil {
		conf = &Config{}
	}
	var w rankenv.World
	if conf.World != nil {
		w = *conf.World
	} else {
		current, err := rankenv.Current()
		if err != nil {
			return nil, err
		}
		w = current
	}
	if w.Size < 1 || w.Size > MaxRanks || w.Rank < 0 || w.Rank >= w.Size {
		return nil, fmt.Errorf("rendezvous: rank is %d of %d, want 0 ≤ rank < size ≤ %d", w.Rank, w.Size, MaxRanks)
	}
	address, from := conf.Address, "Config.Address"
	if address == "" {
		address, from = os.Getenv(envAddress), envAddress
	}
	var c *client
	var err error
	switch path, isUnix := strings.CutPrefix(address, "unix:"); {
	case isUnix && path != "":
		c, err = dial(ctx, path, w)
	case address != "":
		return nil, fmt.Errorf("rendezvous: %s is %q, want unix:PATH", from, address)
	case w.By == rankenv.Gorun && os.Getenv(envDescriptor) != "":
		if c, err = inherited(ctx, w); err != nil && ctx.Err() == nil && w.Socket != "" {
			c, err = dial(ctx, w.Socket, w)
		}
	case w.Socket != "":
		c, err = dial(ctx, w.Socket, w)
	case w.Size == 1:
		return alone(w), nil
	default:
		return nil, fmt.Errorf("rendezvous: %v has no meeting place: not started by gorun, and %s is not set", w, envAddress)
	}
	if err != nil {
		return nil, err
	}
	c.start()
	j := New(c, w)
	j.leave = c.close
	return j, nil
}

// alone returns the Job of a world of one.
func alone(w rankenv.World) *Job {
	m, err := NewMemory([]Host{{Name: w.Host, Ranks: []int{0}}})
	if err != nil {
		panic(err) // the plan above is right
	}
	return New(m, w)
}

// maxHandedOut is how many connections Open takes from the inherited descriptor
// before it gives that up. More than one is taken only if processes that share
// the descriptor were killed between asking for theirs and taking it.
const maxHandedOut = 8

// inherited opens the job over a connection from the inherited descriptor.
func inherited(ctx context.Context, w rankenv.World) (*client, error) {
	fd, err := strconv.Atoi(os.Getenv(envDescriptor))
	if err != nil || fd < 0 {
		return nil, fmt.Errorf("rendezvous: %s is %q, want a descriptor", envDescriptor, os.Getenv(envDescriptor))
	}
	for range maxHandedOut {
		conn, knockErr := knock(ctx, fd)
		if knockErr != nil {
			return nil, fmt.Errorf("rendezvous: %s is %d: %w", envDescriptor, fd, knockErr)
		}
		var c *client
		if c, err = greet(ctx, conn, w.Rank, w.Size); err == nil {
			return c, nil
		}
		if _, refused := errors.AsType[*remoteError](err); refused || ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// dial opens the job over the socket at path.
func dial(ctx context.Context, path string, w rankenv.World) (*client, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("rendezvous: path of the job socket is %q, want an absolute one", path)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("rendezvous: job socket: %w", err)
	}
	c, err := greet(ctx, conn, w.Rank, w.Size)
	if err != nil {
		return nil, fmt.Errorf("rendezvous: job socket %s: %w", path, err)
	}
	return c, nil
}
