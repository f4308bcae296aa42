package nccl

import (
	"context"

	"github.com/gorun/gorun/nccl/internal/host"
)

// Init makes the communicator of all ranks of the job. Collective.
func Init(ctx context.Context, conf *Config) (*Comm, error) {
	full, err := conf.complete()
	if err != nil {
		return nil, wrap("Init", err)
	}
	if full.Bootstrap != nil && full.Bootstrap.Size() > 1 {
		return nil, wrap("Init", &UnsupportedError{What: "ranks in several processes"})
	}
	return newComm(host.Local(1, full.host())[0], Host, 0, 1, full), nil
}

// InitRank is Init for ranks that met by themselves. Collective.
func InitRank(ctx context.Context, rank, size int, ids []UniqueID, conf *Config) (*Comm, error) {
	full, err := conf.complete()
	if err == nil && size > 1 {
		err = &UnsupportedError{What: "ranks in several processes"}
	}
	if err != nil {
		return nil, wrap("InitRank", err)
	}
	return newComm(host.Local(1, full.host())[0], Host, 0, 1, full), nil
}

// InitAll makes a communicator of n ranks inside this process, and returns its Comms by rank.
func InitAll(ctx context.Context, n int, conf *Config) (Comms, error) {
	full, err := conf.complete()
	if err == nil && n < 1 {
		err = invalid("%d ranks, want at least 1", n)
	}
	if err != nil {
		return nil, wrap("InitAll", err)
	}
	comms := make(Comms, n)
	for rank, engine := range host.Local(n, full.host()) {
		comms[rank] = newComm(engine, Host, rank, n, full)
	}
	return comms, nil
}

// host returns what the host engine takes of a completed Config.
func (conf *Config) host() host.Config {
	return host.Config{Deadline: conf.Deadline, Check: conf.Check, RankRing: conf.Deterministic}
}
