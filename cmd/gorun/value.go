package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// valueError refuses a flag's value. The flag and what was found are added by
// [parse], which knows them.
type valueError struct {
	want    string // what was expected: "a number of ranks from 1 to 8"
	example string // a value that is accepted
}

func (e *valueError) Error() string { return "expected " + e.want }

// notBuiltError refuses a value that is reserved but not built yet.
type notBuiltError struct {
	what    string
	example string // a value that is accepted
}

func (e *notBuiltError) Error() string { return e.what + " is not built yet" }

// number reads a decimal number between min and max. Leading zeros do not make
// it octal: "010" is ten.
func number(s string, min, max int, of, example string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < min || n > max || s[0] == '+' {
		return 0, &valueError{fmt.Sprintf("a whole number %s, %d to %d", of, min, max), example}
	}
	return n, nil
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

// oneOf returns s if it is one of the words.
func oneOf(s string, words ...string) (string, error) {
	if !slices.Contains(words, s) {
		return "", &valueError{strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1], words[0]}
	}
	return s, nil
}

// mapping reads the value of --map-by.
func mapping(s string) (string, error) {
	policy, modifiers, modified := strings.Cut(s, ":")
	switch policy {
	case "numa", "gpu", "seq", "ppr", "rankfile":
		return "", &notBuiltError{policy, "slot"}
	}
	if _, err := oneOf(policy, "slot", "node"); err != nil {
		return "", err
	}
	if modified {
		return "", &notBuiltError{fmt.Sprintf("the modifier %q", modifiers), policy}
	}
	return policy, nil
}

// path returns s, which names a file or folder. A word that begins with a dash
// is taken for a flag whose predecessor lacks its value.
func path(s, example string) (string, error) {
	if s == "" || s[0] == '-' {
		return "", &valueError{"a path (./-x for one that begins with a dash)", example}
	}
	return s, nil
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
