package nccl

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// Config is how to make a communicator. A nil *Config is the zero Config, which
// suits every job. All ranks give the same but for Bootstrap and Log.
type Config struct {
	// Engine moves the data. Auto: what the environment variable GORUN_ENGINE
	// names, else the host engine.
	Engine Engine
	// Bootstrap is how the ranks find each other in Init. Nil: the job's own
	// meeting place, which is left when the Comm is closed. One that is given
	// stays the caller's, and serves a Name once.
	Bootstrap Bootstrap
	// Name of the communicator in errors and logs; "": "world".
	Name string
	// Deadline is how long a call may take once this rank has come to it. One
	// that is unfinished then ends the communicator on every rank, with a
	// *StallError. 0: no limit.
	Deadline time.Duration
	// CloseTimeout is how long Close waits for the other ranks. 0: 30 s.
	CloseTimeout time.Duration
	// Check compares each call with the other ranks' before it runs: those that
	// differ get a *MismatchError. Without it they hang, end as lost ranks, or
	// give wrong elements without an error. It makes each call as slow as two.
	Check bool
	// Deterministic keeps the ring in the order of ranks, so that results
	// depend, to the bit, on Size and the calls alone. By default ranks of one
	// host are neighbours, and the order of a floating-point sum depends on who
	// they are.
	Deterministic bool
	// Log is told of the life of the communicator; nil: nothing is.
	Log *slog.Logger
}

// defaultCloseTimeout is Config.CloseTimeout for 0.
const defaultCloseTimeout = 30 * time.Second

// Engine is what moves the data.
type Engine int

// The engines. This build has the host engine, which works on CPU memory.
const (
	Auto Engine = iota
	NCCL
	Host
)

// String returns the engine's name as GORUN_ENGINE spells it.
func (e Engine) String() string {
	switch e {
	case Auto:
		return "auto"
	case NCCL:
		return "nccl"
	case Host:
		return "host"
	}
	return fmt.Sprintf("engine %d", int(e))
}

// complete returns a copy of conf with defaults filled in, or all that is wrong with it.
func (conf *Config) complete() (*Config, error) {
	if conf == nil {
		conf = &Config{}
	}
	full := *conf
	var errs []error
	var err error
	if full.Engine, err = conf.Engine.choose(os.Getenv("GORUN_ENGINE")); err != nil {
		errs = append(errs, err)
	}
	if full.Name == "" {
		full.Name = "world"
	}
	if full.Deadline < 0 {
		errs = append(errs, invalid("Deadline is %v, want 0 or more", full.Deadline))
	}
	if full.CloseTimeout < 0 {
		errs = append(errs, invalid("CloseTimeout is %v, want 0 or more", full.CloseTimeout))
	}
	if full.CloseTimeout == 0 {
		full.CloseTimeout = defaultCloseTimeout
	}
	if full.Log == nil {
		full.Log = slog.New(slog.DiscardHandler)
	}
	return &full, errors.Join(errs...)
}

// choose returns the engine for a configured one and the value of GORUN_ENGINE.
func (e Engine) choose(env string) (Engine, error) {
	from := "Config.Engine"
	if e == Auto {
		from = "GORUN_ENGINE"
		switch env {
		case "", "auto":
		case "host":
			e = Host
		case "nccl":
			e = NCCL
		default:
			return 0, invalid("GORUN_ENGINE is %q, want auto, host or nccl", env)
		}
	}
	switch e {
	case Auto, Host:
		return Host, nil
	case NCCL:
		return 0, &UnsupportedError{What: fmt.Sprintf("%s asks for the nccl engine, and this build has the host engine only", from)}
	}
	return 0, invalid("Config.Engine is %d, want Auto, NCCL or Host", int(e))
}
