//go:build !linux

package rendezvous

import (
	"context"
	"errors"
	"net"
)

// knock has nothing to knock at: agents run on Linux.
func knock(context.Context, int) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}
