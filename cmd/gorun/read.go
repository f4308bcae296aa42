package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher"
)

// The functions that return a func(string) error read a flag's word into a
// variable.

// number reads a decimal number between min and max. Leading zeros do not make
// it octal: "010" is ten.
func number(to *int, min, max int, of, example string) func(string) error {
	return func(s string) (err error) {
		*to, err = strconv.Atoi(s)
		if err != nil || *to < min || *to > max || s[0] == '+' {
			return &valueError{fmt.Sprintf("a whole number %s, %d to %d", of, min, max), example}
		}
		return nil
	}
}

// limit reads one of the time limits. On the command line 0 means that there
// is none, which a [launcher.Limits] writes as a negative value.
func limit(to *time.Duration, example string) func(string) error {
	return func(s string) (err error) {
		if *to, err = duration(s, example); *to == 0 {
			*to = -1
		}
		return err
	}
}

// earlySignal reads "SIG@D": the name or number of a signal, and a duration.
func earlySignal(to *launcher.EarlySignal) func(string) error {
	return func(s string) (err error) {
		name, before, _ := strings.Cut(s, "@")
		to.Signal = signalNumber(name)
		to.Before, err = duration(before, "30")
		if to.Signal != 0 && err == nil && to.Before > 0 {
			return nil
		}
		if to.Signal == 0 {
			name = closest(strings.TrimPrefix(strings.ToUpper(name), "SIG"), signalNames())
		}
		if err != nil || to.Before == 0 {
			before = "30"
		}
		return &valueError{want: "a signal, by name as USR1, TERM or INT or by number, and how long before the end to send it", example: name + "@" + before}
	}
}

// signalNumber returns the signal that is called by its name, with or without
// SIG, or by its number; 0 if there is none.
func signalNumber(name string) syscall.Signal {
	if n, err := strconv.Atoi(name); err == nil {
		if unix.SignalName(syscall.Signal(n)) == "" {
			return 0
		}
		return syscall.Signal(n)
	}
	return unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"))
}

// signalNames lists the names of signals that a program may handle, without SIG.
func signalNames() []string {
	names := []string{"USR1"} // what nobody else sends
	for n := syscall.Signal(1); n < 32; n++ {
		if name := unix.SignalName(n); name != "" && n != syscall.SIGKILL && n != syscall.SIGSTOP {
			names = append(names, strings.TrimPrefix(name, "SIG"))
		}
	}
	return names
}

// onFailure reads what a rank's failure means for the job.
func (c *command) onFailure(s string) error {
	var what string
	err := oneOf(&what, "stop", "continue")(s)
	c.job.Continue = what == "continue"
	return err
}

// duration reads a time of at least 0: a plain number is seconds, else it is
// Go's form.
func duration(s, example string) (time.Duration, error) {
	refused := &valueError{"a time, as seconds or like 1m30s", example}
	if strings.Trim(s, "0123456789.") == "" {
		seconds, err := strconv.ParseFloat(s, 64)
		if err != nil || seconds >= math.MaxInt64/float64(time.Second) {
			return 0, refused
		}
		return time.Duration(seconds * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, refused
	}
	return d, nil
}

// oneOf reads one of the words.
func oneOf(to *string, words ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return &valueError{want: alternatives(words), example: closest(s, words)}
		}
		*to = s
		return nil
	}
}

// alternatives lists words of which one is expected.
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// launcherName reads how agents start. Hydra's fork is to start them here.
func launcherName(to *string) func(string) error {
	return func(s string) error {
		if s == "fork" {
			s = "local"
		}
		return oneOf(to, "auto", "ssh", "slurm", "local")(s)
	}
}

// assignment adds NAME=VALUE to a list.
func assignment(to *[]string) func(string) error {
	return func(s string) error {
		if name, _, found := strings.Cut(s, "="); !found || !variableName(name, false) {
			return &valueError{"the name of a variable and its value", "NCCL_DEBUG=INFO"}
		}
		*to = append(*to, s)
		return nil
	}
}

// path reads the name of a file or folder. A word that begins with a dash is
// taken for a flag whose predecessor lacks its value.
func path(to *string, example string) func(string) error {
	return func(s string) error {
		if s == "" || s[0] == '-' {
			return &valueError{"a path (./-x for one that begins with a dash)", example}
		}
		*to = s
		return nil
	}
}

// word reads a word that does not look like a flag.
func word(to *string, want, example string) func(string) error {
	return func(s string) error {
		if s == "" || s[0] == '-' {
			return &valueError{want, example}
		}
		*to = s
		return nil
	}
}

// variableName reports whether s can name an environment variable. Patterns
// may also have the signs of path.Match.
func variableName(s string, pattern bool) bool {
	if s == "" || s[0] == '-' || (s[0] >= '0' && s[0] <= '9') {
		return false
	}
	if !pattern && strings.ContainsAny(s, "*?[]") {
		return false
	}
	return !strings.ContainsAny(s, "= \t\n\x00")
}
