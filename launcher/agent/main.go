package agent

import (
	"fmt"
	"os"
)

// Main runs the agent command with the arguments after its verb and returns
// its exit status:
//
//	agent --job JOB      guardian and agent, on standard input and output
//	agent run TOKEN      the agent below the guardian; TOKEN names its folders
//	agent --sweep JOB    kill and remove what is left of a job on this host
//	agent --clean        the same for all lost jobs, on standard input and output
//	agent exec …         what a rank is before it is the user's program, see execArgs
func Main(args []string) int {
	var err error
	switch {
	case len(args) == 2 && args[0] == jobFlag:
		err = guard(args[1])
	case len(args) == 2 && args[0] == runVerb:
		err = run(args[1])
	case len(args) > 0 && args[0] == execVerb:
		return execProgram(args[1:])
	case len(args) == 2 && args[0] == "--sweep":
		err = sweepJob(args[1])
	case len(args) == 1 && args[0] == "--clean":
		err = clean()
	default:
		err = fmt.Errorf("expected --job JOB, --sweep JOB or --clean, found %q", args)
	}
	if err != nil && err != errAgentFailed {
		fmt.Fprintf(os.Stderr, "gorun agent: %v\n", err)
	}
	if err != nil {
		return 1
	}
	return 0
}

// How the guardian and the agent below it are called, by which they are also
// found among other processes.
const (
	jobFlag = "--job"
	runVerb = "run"
)
