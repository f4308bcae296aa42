package nccl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"

	"github.com/gorun/gorun/nccl/internal/host/bootstrap"
)

// UniqueID lets ranks into a communicator in the making. It is a secret:
// whoever has it can take part. It prints as a hash; MarshalText gives the id
// itself, for channels that keep it.
type UniqueID [128]byte

// NewUniqueID returns an id for one [InitRank] on each rank, and has this
// process bring those ranks together, in the background until all have met, at
// most for an hour. Its address is that of conf.Bootstrap, if that says one,
// else the one that the launcher gave this host; without any, the ranks must be
// on this host.
func NewUniqueID(conf *Config) (UniqueID, error) {
	full, err := conf.complete()
	if err != nil {
		return UniqueID{}, wrap("NewUniqueID", err)
	}
	addr, err := rootAddr(full.Bootstrap, 0)
	if err != nil {
		return UniqueID{}, wrap("NewUniqueID", err)
	}
	root, id, err := bootstrap.Listen(addr)
	if err != nil {
		return UniqueID{}, wrap("NewUniqueID", fmt.Errorf("listening for the other ranks: %w", err))
	}
	roots.keep(UniqueID(id), root)
	return UniqueID(id), nil
}

// String returns a hash by which ids can be told apart.
func (id UniqueID) String() string {
	sum := sha256.Sum256(id[:])
	return "id#" + hex.EncodeToString(sum[:6])
}

// GoString returns String, so that no format prints the secret by accident.
func (id UniqueID) GoString() string { return id.String() }

// LogValue returns String, so that no log shows the secret.
func (id UniqueID) LogValue() slog.Value { return slog.StringValue(id.String()) }

// MarshalText returns the secret itself in hexadecimal.
func (id UniqueID) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, id[:]), nil
}

// UnmarshalText reads what MarshalText wrote.
func (id *UniqueID) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(id)) {
		return &Error{Op: "UniqueID.UnmarshalText", Err: invalid("%d characters, want %d", len(text), hex.EncodedLen(len(id)))}
	}
	if _, err := hex.Decode(id[:], text); err != nil {
		return &Error{Op: "UniqueID.UnmarshalText", Err: invalid("not hexadecimal")} // the cause would show a part of it
	}
	return nil
}

// roots are those of this process's ids that have not brought their ranks together yet.
var roots = rootSet{open: make(map[UniqueID]*bootstrap.Root)}

type rootSet struct {
	mu   sync.Mutex
	open map[UniqueID]*bootstrap.Root
}

// keep remembers a root until it ends.
func (s *rootSet) keep(id UniqueID, root *bootstrap.Root) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[id] = root
	context.AfterFunc(root.Context(), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, id)
	})
}

// end closes the root of an id, if it is one of this process's. Its ranks have
// met, or one of them has given up.
func (s *rootSet) end(id UniqueID) {
	s.mu.Lock()
	root := s.open[id]
	s.mu.Unlock()
	if root != nil {
		root.Close()
	}
}
