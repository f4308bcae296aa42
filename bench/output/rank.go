package main

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"strconv"
	"strings"
)

// rankVerb makes this program a rank.
const rankVerb = "rank"

// lineLength is that of a line, newline included; lineStart is how it begins,
// and nothing else in it looks like that.
const (
	lineLength = 71
	lineStart  = "rank "
)

// rank prints so many bytes in large writes, or so many lines through a buffer
// of the size that C's standard library takes.
func rank(what, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	line := newLine()
	if what == "bulk" {
		block := bytes.Repeat(line.numbered(0), 64<<10/lineLength+1)[:64<<10]
		for ; n > 0; n -= len(block) {
			if _, err := os.Stdout.Write(block[:min(n, len(block))]); err != nil {
				return err
			}
		}
		return nil
	}
	w := bufio.NewWriterSize(os.Stdout, 4<<10)
	for i := range n {
		w.Write(line.numbered(i)) // Flush tells of an error
	}
	return w.Flush()
}

// line is a line of this rank's but for its number. To make one must cost little
// beside what a launcher does with it: the ranks have the same processors.
type line struct {
	text   []byte
	number int // where it begins
}

func newLine() line {
	rank := ""
	for _, name := range []string{"GORUN_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"} {
		rank = cmp.Or(rank, os.Getenv(name))
	}
	head := lineStart + rank + " line "
	return line{[]byte(head + strings.Repeat("-", lineLength-1-len(head)) + "\n"), len(head)}
}

// numbered returns the line with a number that is not less than those before. It
// is valid until the next call.
func (l line) numbered(i int) []byte {
	end := strconv.AppendInt(l.text[:l.number], int64(i), 10)
	l.text[len(end)] = ' '
	return l.text
}
