package main

import (
	"bufio"
	"bytes"
	"fmt"
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
	if what == "bulk" {
		block := bytes.Repeat(line(0), 64<<10/lineLength+1)[:64<<10]
		for ; n > 0; n -= len(block) {
			if _, err := os.Stdout.Write(block[:min(n, len(block))]); err != nil {
				return err
			}
		}
		return nil
	}
	w := bufio.NewWriterSize(os.Stdout, 4<<10)
	for i := range n {
		w.Write(line(i)) // Flush tells of an error
	}
	return w.Flush()
}

// line returns a numbered line of this rank's.
func line(i int) []byte {
	number := ""
	for _, name := range []string{"GORUN_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"} {
		if number == "" {
			number = os.Getenv(name)
		}
	}
	head := fmt.Sprintf("%s%s line %d ", lineStart, number, i)
	return []byte(head + strings.Repeat("-", lineLength-1-len(head)) + "\n")
}
