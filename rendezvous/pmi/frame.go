package pmi

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The messages of PMI-2 are frames: six characters with the length in decimal,
// and so many bytes of fields, key=value, each ended by a ";". The first is cmd.
// Slurm's client fills the length up with spaces behind it, Hydra with spaces
// before. Within a value, ";" is written ";;".

const (
	lengthSize = 6
	maxFrame   = 64 << 10 // PMII_MAX_COMMAND_LEN of the clients
)

// parseFrame reads what follows the length.
func parseFrame(body string) (message, error) {
	var fields []field
	for rest := body; rest != ""; {
		key, after, ok := strings.Cut(rest, "=")
		if !ok || key == "" || strings.Contains(key, ";") {
			return message{}, malformed(body)
		}
		var value string
		if value, rest, ok = cutValue(after); !ok {
			return message{}, malformed(body)
		}
		fields = append(fields, field{key, value})
	}
	if len(fields) == 0 || fields[0].key != "cmd" || fields[0].value == "" {
		return message{}, malformed(body)
	}
	return message{command: fields[0].value, fields: fields[1:]}, nil
}

// cutValue cuts s behind the first ";" that is not doubled.
func cutValue(s string) (value, rest string, ok bool) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, ';')
		if i < 0 {
			return "", "", false
		}
		b.WriteString(s[:i])
		if s = s[i+1:]; !strings.HasPrefix(s, ";") {
			return b.String(), s, true
		}
		b.WriteByte(';')
		s = s[1:]
	}
}

// appendFrame appends m as a frame.
func appendFrame(b []byte, m message) []byte {
	start := len(b)
	b = append(b, strings.Repeat(" ", lengthSize)...)
	for _, f := range append([]field{{"cmd", m.command}}, m.fields...) {
		b = append(append(b, f.key...), '=')
		b = append(append(b, strings.ReplaceAll(f.value, ";", ";;")...), ';')
	}
	copy(b[start:], fmt.Sprintf("%*d", lengthSize, len(b)-start-lengthSize))
	return b
}

// readFrame reads the next message of PMI-2.
func readFrame(r *bufio.Reader) (message, error) {
	var header [lengthSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return message{}, err
	}
	n, err := strconv.ParseUint(strings.Trim(string(header[:]), " "), 10, 32)
	if err != nil || n == 0 || n > maxFrame {
		return message{}, fmt.Errorf("expected a length of 1 to %d in %d characters, found %q", maxFrame, lengthSize, header)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return message{}, err
	}
	return parseFrame(string(body))
}
