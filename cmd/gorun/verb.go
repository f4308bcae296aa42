package main

import (
	"os"
	"slices"
)

// comingVerbs are the verbs that are reserved but not built yet. They are
// refused rather than run as programs, so that a script means the same once
// they are built.
var comingVerbs = []string{"smoke", "doctor", "bench", "topo", "tune", "ras", "explain", "completion"}

// dispatch runs the verb that argv begins with, or a job, and returns the
// exit status. A verb counts only as the very first word: behind a flag or
// behind "run" the same word is a program.
func dispatch(argv []string) int {
	if len(argv) == 0 {
		return run(argv)
	}
	switch verb := argv[0]; {
	case verb == "run":
		return run(argv[1:])
	case verb == "version":
		return printVersion(os.Stdout)
	case verb == "help":
		return printHelp(os.Stdout)
	case verb == "clean":
		return clean(argv[1:])
	case slices.Contains(comingVerbs, verb):
		return refuse(newConsole(os.Stderr), refusal("the verb "+verb+" is not built yet",
			"for a program of that name: "+commandLine(append([]string{"run"}, argv...)),
			"or: "+commandLine(append([]string{"./" + verb}, argv[1:]...))))
	}
	return run(argv)
}
