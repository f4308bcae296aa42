package bootstrap

import (
	"encoding/binary"
	"fmt"
	"io"
)

// maxFrame bounds what a peer may make this one allocate. Records are host
// names and addresses.
const maxFrame = 4 << 10

// writeFrame writes a length of two bytes, big endian, and payload.
func writeFrame(w io.Writer, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("a frame of %d bytes, want at most %d", len(payload), maxFrame)
	}
	frame := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(payload)), uint16(len(payload)))
	_, err := w.Write(append(frame, payload...))
	return err
}

// readFrame reads what writeFrame wrote.
func readFrame(r io.Reader) ([]byte, error) {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint16(size[:])
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes, want at most %d", n, maxFrame)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, err
	}
	return payload, nil
}
