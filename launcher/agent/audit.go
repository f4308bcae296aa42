//go:build linux

package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// In a job of several hosts, each tells what should be alike on all of them, and
// the launcher compares (launcher/audit.go). Ranks start meanwhile, unless
// Start.Strict holds them back until the launcher has seen nothing wrong.

// auditPatience bounds how long the end of a job, and then of the agent, waits for
// a file that should be compared and cannot be read.
const auditPatience = time.Second

// audit tells the launcher about this host, in the background. A dead file server
// may hold it for ever, which must not hold the agent: beside what never changes
// it touches only conn.
func (a *agent) audit(programs []*program) {
	if len(a.start.Hosts) == 1 {
		return
	}
	m := &wire.Facts{Time: timeNow().UnixNano()}
	audited := make(chan struct{})
	a.mu.Lock()
	a.audited = audited
	a.mu.Unlock()
	go func() {
		defer close(audited)
		m.Facts = a.facts(programs)
		a.conn.Send(m)
	}()
}

// awaitAudit blocks until the audit has told what it found, but not for long.
func (a *agent) awaitAudit() {
	a.mu.Lock()
	audited := a.audited
	a.mu.Unlock()
	if audited == nil {
		return
	}
	timer := time.NewTimer(auditPatience)
	defer timer.Stop()
	select {
	case <-audited:
	case <-timer.C:
	}
}

// proceed starts the ranks that waited for the launcher's word.
func (a *agent) proceed() error {
	programs := a.waiting
	if programs == nil {
		return errors.New("the launcher sent Proceed where no rank waits")
	}
	a.waiting = nil
	return a.startPrograms(programs)
}

// facts returns what should be alike on all hosts: of each program that runs
// here what is executed, what NCCL would be set to and the libraries that it would
// load; and the driver. Left out is, but for its libraries, a program whose words
// differ from rank to rank, and the program itself where it belongs to the host's
// system, as hostname does, unless a script of the user's depends on it.
func (a *agent) facts(programs []*program) []wire.Fact {
	var facts []wire.Fact
	add := func(what, value, where string) {
		if value != "" {
			facts = append(facts, wire.Fact{What: what, Values: []string{value}, Where: where})
		}
	}
	appOf, seen := a.appOf(), map[int]bool{}
	for local, p := range programs {
		i := appOf[a.host().Ranks[local]]
		app := a.start.Apps[i]
		if seen[i] {
			continue
		}
		seen[i] = true
		number, of := "", ""
		if len(a.start.Apps) > 1 {
			number = fmt.Sprintf(" %d,", i+1)
			of = fmt.Sprintf(" of program%s %s", number, app.Args[0])
		}
		libraries := ""
		if !app.Templates {
			libraries = lookupEnv(p.env, "LD_LIBRARY_PATH")
		}
		for _, name := range []string{"libnccl.so.2", "libcuda.so.1"} {
			if file := findLibrary(name, libraries); file != "" {
				add(name+of, filepath.Base(file), file)
			}
		}
		if app.Templates {
			continue
		}
		name, file := script(p, app.Args)
		if app.Staged == "" && (name != "" || !ofSystem(p.path)) {
			add("program"+number+" "+app.Args[0], digest(p.path), p.path)
		}
		if name != "" {
			add("script "+name+of, digest(file), file)
		}
		facts = append(facts, wire.Fact{What: "NCCL's configuration" + of, Values: ncclSettings(p.env, "/etc/nccl.conf")})
	}
	add("NVIDIA's driver", driverVersion("/proc/driver/nvidia/version"), "")
	return facts
}
