package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// digits is the network that is trained: 101,770 parameters.
var digits = shape{inputs: pixels, hidden: 128, classes: classes}

// A state is all that training changes, and so all that a checkpoint holds.
// Every rank has the same one after every step.
type state struct {
	epochs   int       // done
	params   []float32 // weights and biases, as [shape.split] lays them out
	velocity []float32 // the optimizer's, of each parameter
}

// newState returns room for the state of a network of shape s.
func newState(s shape) *state {
	return &state{
		params:   make([]float32, s.parameters()),
		velocity: make([]float32, s.parameters()),
	}
}

// A digest is the SHA-256 of a network's parameters, little-endian float32.
type digest [sha256.Size]byte

// digestOf returns the digest of params.
func digestOf(params []float32) digest {
	return sha256.Sum256(appendFloats(nil, params))
}

// String returns the digest as sha256sum prints one.
func (d digest) String() string { return hex.EncodeToString(d[:]) }

// appendFloats appends the values' bits to dst, little-endian.
func appendFloats(dst []byte, values []float32) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}
