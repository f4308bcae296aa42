package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun/gorun/internal/shellwords"
)

// The values of flags that say how the ranks' processes are started.

// umask reads a mask of permissions.
func umask(to **int) func(string) error {
	return func(s string) error {
		mask, err := strconv.ParseUint(s, 8, 32)
		if err != nil || mask > 0o777 {
			return &valueError{"a mask of permissions in octal, 0 to 777", "027"}
		}
		*to = new(int(mask))
		return nil
	}
}

// limitResource takes the value of --rlimit: NAME=N or NAME=unlimited.
func (c *command) limitResource(s string) error {
	name, value, _ := strings.Cut(s, "=")
	n, err := strconv.ParseInt(value, 10, 64)
	if value == "unlimited" {
		n, err = -1, nil
	} else if n < 0 {
		err = strconv.ErrRange
	}
	known := []string{"memlock", "nofile", "core", "stack"}
	if err != nil || !slices.Contains(known, name) {
		near := nearest(name, known)
		if near == "" || err != nil {
			value = "unlimited"
		}
		return &valueError{alternatives(known) + ", an equals sign, and a number of bytes or files or the word unlimited", cmp.Or(near, "memlock") + "=" + value}
	}
	if c.job.Rlimits == nil {
		c.job.Rlimits = map[string]int64{}
	}
	c.job.Rlimits[name] = n
	return nil
}

// wrapPrograms takes the value of --wrap.
func (c *command) wrapPrograms(s string) error {
	words, err := shellwords.Command(s)
	if err != nil {
		return &valueError{"a command (" + err.Error() + ")", "valgrind"}
	}
	if len(words) == 0 || words[0] == "" || words[0][0] == '-' {
		return &valueError{"a program and its first arguments, as one word", "valgrind"}
	}
	c.job.Wrap.Command = words
	return nil
}

// ranks reads a list of ranks: "0,4-7".
func ranks(to *[]int) func(string) error {
	return func(s string) error {
		refused := &valueError{"ranks between commas, with ranges", "0,4-7"}
		var list []int
		for part := range strings.SplitSeq(s, ",") {
			low, high, ranged := strings.Cut(part, "-")
			var first, last int
			if err := number(&first, 0, maxRanks, "", "")(low); err != nil {
				return refused
			}
			last = first
			if ranged {
				if err := number(&last, first, maxRanks, "", "")(high); err != nil {
					return refused
				}
			}
			for r := first; r <= last; r++ {
				list = append(list, r)
			}
			if len(list) > maxRanks {
				return refused
			}
		}
		*to = list
		return nil
	}
}
