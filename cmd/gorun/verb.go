package main

import (
	"fmt"
	"os"
	"slices"
)

// A verb is a first word that is no program.
type verb struct{ name, does, usage string }

// verbs are those that are there and for people.
var verbs = []verb{
	{"run", "run a job; for programs called like a verb", "gorun run [flags] program [args…], the same as gorun [flags] program [args…]"},
	{"clean", "find and end what lost jobs have left", "gorun clean [flags] [job…]"},
	{"help", "print help, on a flag or a verb or all of it", "gorun help [FLAG|VERB…], or gorun help --man | man -l -"},
	{"version", "print the version", "gorun version"},
	{"completion", "print a script that completes gorun in a shell", "gorun completion bash|zsh|fish"},
}

// agentVerb is what gorun itself starts on every host.
const agentVerb = "agent"

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
		if len(argv) > 1 {
			return refuse(newConsole(os.Stderr), refusal("version: expected nothing behind it, found "+argv[1],
				"gorun version", "for a program of that name: "+commandLine(append([]string{"run"}, argv...))))
		}
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

// nearestVerb returns the verb that word is, or is probably a slip of; "" if it is
// none.
func nearestVerb(word string) string {
	names := slices.Clone(comingVerbs)
	for _, v := range verbs {
		names = append(names, v.name)
	}
	return nearest(word, names)
}

// verbHelp returns what there is to say of a verb, "" if the word is none.
func verbHelp(word string) string {
	const line = "  %-10s %s\n"
	switch {
	case word == "clean":
		return newCleaning(nil).helpText()
	case word == agentVerb:
		return fmt.Sprintf(line, word, "what gorun itself starts on every host; nothing for people to type")
	case slices.Contains(comingVerbs, word):
		return fmt.Sprintf(line, word, "is not built yet; for a program of that name: gorun run "+word)
	}
	for _, v := range verbs {
		if v.name == word {
			return fmt.Sprintf(line+line, v.name, v.does, "", v.usage)
		}
	}
	return ""
}
