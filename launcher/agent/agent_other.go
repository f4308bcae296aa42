//go:build !linux

package agent

import (
	"errors"
	"fmt"
	"os"
)

var (
	errAgentFailed = errors.New("the agent failed")
	errSystem      = errors.New("agents run on Linux only")
)

func guard(string) error    { return errSystem }
func run(string) error      { return errSystem }
func sweepJob(string) error { return errSystem }

const execVerb = "exec"

func execProgram([]string) int {
	fmt.Fprintln(os.Stderr, "gorun agent:", errSystem)
	return 1
}

func clean() error { return errSystem }
