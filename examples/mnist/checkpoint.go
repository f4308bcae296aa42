package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// A checkpoint holds a state, and nothing that differs between runs, so equal
// training leaves equal files. All numbers are little-endian.
//
//	 0  magic     8 bytes
//	 8  inputs    uint32
//	12  hidden    uint32
//	16  classes   uint32
//	20  epochs    uint32, done
//	24  params    float32 × parameters of that shape
//	 …  velocity  float32 × the same number
//	 …  SHA-256 of all before
const checkpointMagic = "mnist\x00\x00\x01"

const checkpointHeader = len(checkpointMagic) + 4*4

// checkpointSize returns the length in bytes of a checkpoint of shape s.
func checkpointSize(s shape) int {
	return checkpointHeader + 2*4*s.parameters() + sha256.Size
}

// writeCheckpoint replaces the file at path with a checkpoint of st. At every
// moment, also after a crash, the old or the new one is there and whole.
func writeCheckpoint(path string, s shape, st *state) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("writing the checkpoint: %w", err)
		}
	}()
	_, err = f.Write(encodeCheckpoint(s, st))
	if err == nil {
		// Else a crash could leave the new name on blocks never written.
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// readCheckpoint returns the state in the file at path, which must be of a
// network of shape s.
func readCheckpoint(path string, s shape) (*state, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoint: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(checkpointSize(s))+1))
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoint: %w", err)
	}
	st, err := decodeCheckpoint(data, s)
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoint %s: %w", path, err)
	}
	return st, nil
}

// encodeCheckpoint returns the bytes of a checkpoint.
func encodeCheckpoint(s shape, st *state) []byte {
	data := make([]byte, 0, checkpointSize(s))
	data = append(data, checkpointMagic...)
	for _, n := range []int{s.inputs, s.hidden, s.classes, st.epochs} {
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	data = appendFloats(data, st.params)
	data = appendFloats(data, st.velocity)
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

// decodeCheckpoint returns the state that encodeCheckpoint made data of.
func decodeCheckpoint(data []byte, s shape) (*state, error) {
	if !bytes.HasPrefix(data, []byte(checkpointMagic)) {
		return nil, fmt.Errorf("does not begin with %q", checkpointMagic)
	}
	if want := checkpointSize(s); len(data) != want {
		return nil, fmt.Errorf("has %d bytes or more, want %d", len(data), want)
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(sum, want[:]) {
		return nil, errors.New("is damaged: its SHA-256 is another")
	}
	body = body[len(checkpointMagic):]
	number := func() int {
		n := binary.LittleEndian.Uint32(body)
		body = body[4:]
		return int(n)
	}
	if found := (shape{number(), number(), number()}); found != s {
		return nil, fmt.Errorf("is of a network of %d-%d-%d units, want %d-%d-%d",
			found.inputs, found.hidden, found.classes, s.inputs, s.hidden, s.classes)
	}
	st := newState(s)
	st.epochs = number()
	for _, vector := range [][]float32{st.params, st.velocity} {
		for i := range vector {
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(body))
			body = body[4:]
		}
	}
	return st, nil
}
