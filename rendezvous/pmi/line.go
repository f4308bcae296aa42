package pmi

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// The messages of PMI-1 are lines of fields, key=value, with a space between
// them. The first field is cmd. A value ends at the next space, but for that of
// "value", which ends with the line: what Open MPI stores has spaces in it. For
// the same reason a word without a "=" belongs to the field before it.
//
// Spawn alone takes several lines: it begins with mcmd=spawn, has one field a
// line, and ends with the line "endcmd".

// maxLine bounds a line. Clients compose theirs in buffers of 1,024 bytes
// (MPICH's PMIU_MAXLINE) beside a value of as many.
const maxLine = 8 << 10

// parseLine reads a line without its newline.
func parseLine(line string) (message, error) {
	var fields []field
	for rest := strings.TrimLeft(line, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		if value, ok := strings.CutPrefix(rest, "value="); ok && len(fields) > 0 {
			fields = append(fields, field{"value", value})
			break
		}
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		key, value, ok := strings.Cut(word, "=")
		switch {
		case ok && key != "":
			fields = append(fields, field{key, value})
		case len(fields) > 0:
			fields[len(fields)-1].value += " " + word
		default:
			return message{}, malformed(line)
		}
	}
	if len(fields) == 0 || fields[0].key != "cmd" && fields[0].key != "mcmd" || fields[0].value == "" {
		return message{}, malformed(line)
	}
	return message{command: fields[0].value, fields: fields[1:]}, nil
}

func malformed(text string) error { return fmt.Errorf("expected cmd=…, found %.64q", text) }

// appendLine appends m as a line, newline included.
func appendLine(b []byte, m message) []byte {
	b = append(append(b, "cmd="...), m.command...)
	for _, f := range m.fields {
		b = append(append(append(append(b, ' '), f.key...), '='), f.value...)
	}
	return append(b, '\n')
}

// readLine reads the next message of PMI-1. Of a spawn it returns the command
// alone: what is to be spawned is passed over.
func readLine(r *bufio.Reader) (message, error) {
	line, err := nextLine(r)
	if err != nil {
		return message{}, err
	}
	m, err := parseLine(line)
	if err != nil || !strings.HasPrefix(line, "mcmd=") {
		return m, err
	}
	for line != "endcmd" {
		if line, err = nextLine(r); err != nil {
			return message{}, err
		}
	}
	return message{command: m.command}, nil
}

// nextLine reads a line of at most maxLine bytes, the size of r's buffer.
func nextLine(r *bufio.Reader) (string, error) {
	b, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("a line is longer than %d bytes", maxLine)
	}
	if err != nil {
		return "", err
	}
	return string(b[:len(b)-1]), nil
}
