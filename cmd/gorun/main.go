// Gorun starts a program many times, on one host or on many, connects the
// copies, and stays until all have ended. It is mpirun for GPU clusters in
// one binary.
//
// Usage:
//
//	gorun [flags] program [args…]
//	gorun run [flags] program [args…]
//	gorun version
//	gorun help
//
// The first word that is not a flag is the program, and everything behind it
// is the program's. The flags are those of Open MPI and of MPICH's Hydra where
// they mean the same; one dash or two make no difference. "gorun help" lists
// them, and flags.go is their table.
//
// # Life of a command
//
// main tells verbs apart. [split] cuts the command line into flags and
// program and [parse] makes a [command] of them, both without touching the
// world. [command.run] reads the host lists, hands a [launcher.Job] to
// [launcher.Run], and reports how it ended. Everything that happens to the job
// is the launcher's doing; this package turns words into a Job and a Result
// into words.
package main

import "os"

func main() {
	os.Exit(dispatch(os.Args[1:]))
}
