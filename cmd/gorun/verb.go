package main

import (
	"os"
	"slices"
)

// verbs are those that are there, each with what it does.
var verbs = [][2]string{
	{"run", "run a job; for programs called like a verb"},
	{"clean", "find and end what lost jobs have left"},
	{"help", "print help, on one flag or all of it"},
	{"version", "print the version"},
	{"completion", "print a script that completes gorun in bash, zsh or fish"},
}

// comingVerbs are the verbs that are reserved but not built yet. They are
// refused rather than run as programs, so that a script means the same once
// they are built.
var comingVerbs = []string{"smoke", "doctor", "bench", "topo", "tune", "ras", "explain"}

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
		return help(argv[1:])
	case verb == "completion":
		return completion(argv[1:])
	case verb == "clean":
		return clean(argv[1:])
	case slices.Contains(comingVerbs, verb):
		return refuse(newConsole(os.Stderr), refusal("the verb "+verb+" is not built yet",
			"for a program of that name: "+commandLine(append([]string{"run"}, argv...)),
			"or: "+commandLine(append([]string{"./" + verb}, argv[1:]...))))
	}
	return run(argv)
}
