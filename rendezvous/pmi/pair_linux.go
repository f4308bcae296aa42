package pmi

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/gorun/gorun/rendezvous/internal/socketpair"
)

// NewPair returns the two ends of a rank's connection: ours, for [Server.Serve],
// and the rank's, to be handed down to its process, with its number there in
// PMI_FD, and then closed. Both are the caller's to close.
func NewPair() (ours net.Conn, rankEnd *os.File, err error) {
	ours, rankEnd, err = socketpair.New(syscall.SOCK_STREAM)
	if err != nil {
		return nil, nil, fmt.Errorf("pmi: %w", err)
	}
	return ours, rankEnd, nil
}
