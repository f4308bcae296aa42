//go:build linux

package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
)

// A process has its limits and its umask from the one that forks it, and the
// agent cannot change its own for one rank: another thread may be about to open
// a file, or fork. So a rank that is to have others is first this program, which
// sets them and becomes the rank's. It costs a rank a millisecond, and only
// where it is asked for.

// execVerb is the agent command that does so.
const execVerb = "exec"

// limit is a limit of resources as a rank gets it, soft and hard.
type limit struct {
	resource int
	n        uint64
}

// resources are those whose limits can be set.
var resources = map[string]int{
	"memlock": unix.RLIMIT_MEMLOCK, "nofile": unix.RLIMIT_NOFILE,
	"core": unix.RLIMIT_CORE, "stack": unix.RLIMIT_STACK,
}

// grantLimits returns the limits of ranks, each as near to what is asked for as
// this host allows. The user hears of those that fall short, or the job is
// refused.
func (a *agent) grantLimits() (granted []limit, problem *wire.NotStarted) {
	for _, asked := range a.start.Rlimits {
		resource, known := resources[asked.Name]
		if !known {
			continue // the launcher has refused it
		}
		n := uint64(asked.N)
		if asked.N < 0 {
			n = unix.RLIM_INFINITY
		}
		if most := raisable(resource, n); most < n {
			short := fmt.Sprintf("%d, the most that is allowed there, instead of %s", most, limitText(n))
			if a.start.Strict {
				return nil, &wire.NotStarted{
					Rank: a.host().Ranks[0], Path: asked.Name, Exhausted: true,
					Error: fmt.Sprintf("would get %s %s (--strict)", asked.Name, short),
				}
			}
			a.conn.Send(&wire.Notice{Text: fmt.Sprintf("ranks get %s %s", asked.Name, short)})
			n = most
		}
		granted = append(granted, limit{resource, n})
	}
	return granted, nil
}

func limitText(n uint64) string {
	if n == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return strconv.FormatUint(n, 10)
}

// raisable returns n, or the highest limit that this process may give if that
// is lower. Only an attempt tells: what root may depends on the container.
func raisable(resource int, n uint64) uint64 {
	var own unix.Rlimit
	if err := unix.Getrlimit(resource, &own); err != nil || n <= own.Max {
		return n
	}
	if unix.Setrlimit(resource, &unix.Rlimit{Cur: own.Cur, Max: n}) == nil {
		return n
	}
	return own.Max
}

// execArgs returns the arguments with which this program sets umask, unless it
// is negative, and limits, and executes path with args.
func execArgs(umask int, limits []limit, path string, args []string) []string {
	argv := []string{"gorun", "agent", execVerb}
	if umask >= 0 {
		argv = append(argv, fmt.Sprintf("umask=%o", umask))
	}
	for _, l := range limits {
		argv = append(argv, fmt.Sprintf("%d=%d", l.resource, l.n))
	}
	return append(append(argv, "--", path), args...)
}

// execProgram does what [execArgs] says. It returns only if that fails, with
// the exit status.
func execProgram(words []string) int {
	for i, word := range words {
		if word == "--" && len(words) > i+2 {
			err := syscall.Exec(words[i+1], words[i+2:], os.Environ())
			return execFailed(words[i+1], err)
		}
		if err := applySetting(word); err != nil {
			return execFailed(word, err)
		}
	}
	return execFailed("agent exec", errors.New("expected -- PATH ARG0 behind the settings"))
}

func applySetting(word string) error {
	name, value, _ := strings.Cut(word, "=")
	if name == "umask" {
		mask, err := strconv.ParseUint(value, 8, 32)
		if err == nil {
			unix.Umask(int(mask))
		}
		return err
	}
	resource, err := strconv.Atoi(name)
	if err != nil {
		return errors.New("expected umask=MASK or RESOURCE=N")
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return err
	}
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: n, Max: n})
}

// execFailed says why a program was not executed, and returns a shell's status
// for it.
func execFailed(what string, err error) int {
	fmt.Fprintf(os.Stderr, "gorun: %s: %v\n", what, err)
	if errors.Is(err, fs.ErrNotExist) {
		return 127
	}
	return 126
}
