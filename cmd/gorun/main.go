// Gorun starts a program many times, on one host or on many, connects the
// copies, and stays until all have ended. It is mpirun for GPU clusters in
// one binary.
//
// Usage:
//
//	gorun [flags] program [args…] [: [flags] program [args…]] …
//	gorun run [flags] program [args…]
//	gorun clean [flags] [job…]
//	gorun version
//	gorun help [flag or verb]
//	gorun agent      what gorun itself starts on every host
//
// The first word that is not a flag is the program, and everything behind it
// is the program's, up to a ":", which begins another program of the job. The
// flags are those of Open MPI and of MPICH's Hydra where they mean the same; one
// dash or two make no difference. "gorun help" lists them, and flags.go is their
// table.
//
// # Life of a command
//
// main tells the agent apart and [dispatch] the other verbs. Two steps, which
// touch nothing of the world, make a [command] of a command line: a pre-pass,
// [grammar.split], finds the program and says foreign flags in ours, and
// urfave/cli applies them, see [parse]. [command.run] reads the host lists,
// hands a [launcher.Job] to [launcher.Run], and reports how it ended.
// Everything that happens to the job is the launcher's doing; this package
// turns words into a Job and a Result into words.
package main

import (
	"os"

	"github.com/gorun/gorun/launcher/agent"
)

func main() {
	// What gorun starts on every host is told apart before anything else: its
	// start is part of every job's.
	if len(os.Args) > 1 && os.Args[1] == agentVerb {
		os.Exit(agent.Main(os.Args[2:]))
	}
	os.Exit(dispatch(os.Args[1:]))
}
