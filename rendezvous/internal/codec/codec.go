// Package codec writes and reads the messages of package rendezvous and of its
// members. A message describes its fields once, in a function that serves both
// directions, so that what is written and what is read cannot differ:
//
//	func (m *put) fields(c *codec.Codec) {
//		c.String(&m.Key, MaxKey)
//		c.Bytes(&m.Value, MaxValue)
//	}
//
// Integers are big endian. Strings, byte slices and lists are preceded by their
// length in four bytes; reading checks it against the field's limit and against
// the bytes that are left before it allocates.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Codec passes once over the fields of a message, writing or reading them.
// Writing does not change them, so they may be shared. After the first error
// nothing more is read, and what is written is of no use.
type Codec struct {
	buf     []byte
	reading bool
	err     error
}

// Writer returns a Codec that appends to buf what it is shown.
func Writer(buf []byte) *Codec { return &Codec{buf: buf} }

// Reader returns a Codec that fills what it is shown from buf. Byte slices it
// fills are parts of buf.
func Reader(buf []byte) *Codec { return &Codec{buf: buf, reading: true} }

// Reading tells whether fields are filled or written.
func (c *Codec) Reading() bool { return c.reading }

// Written returns the bytes of the message, or why a field could not be written.
func (c *Codec) Written() ([]byte, error) { return c.buf, c.err }

// End returns the first error, or one if bytes are left over.
func (c *Codec) End() error {
	if c.err == nil && len(c.buf) > 0 {
		return fmt.Errorf("%d bytes after the message", len(c.buf))
	}
	return c.err
}

// Fail makes err the error, if it is the first.
func (c *Codec) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

var errShort = errors.New("message is too short")

// take returns the next n bytes.
func (c *Codec) take(n int) []byte {
	if c.err == nil && n > len(c.buf) {
		c.err = errShort
	}
	if c.err != nil {
		return nil
	}
	b := c.buf[:n:n]
	c.buf = c.buf[n:]
	return b
}

// Uint8 is one byte.
func (c *Codec) Uint8(v *uint8) {
	if !c.reading {
		c.buf = append(c.buf, *v)
	} else if b := c.take(1); b != nil {
		*v = b[0]
	}
}

// Uint32 is four bytes.
func (c *Codec) Uint32(v *uint32) {
	if !c.reading {
		c.buf = binary.BigEndian.AppendUint32(c.buf, *v)
	} else if b := c.take(4); b != nil {
		*v = binary.BigEndian.Uint32(b)
	}
}

// Int64 is eight bytes.
func (c *Codec) Int64(v *int64) {
	if !c.reading {
		c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(*v))
	} else if b := c.take(8); b != nil {
		*v = int64(binary.BigEndian.Uint64(b))
	}
}

// Bool is one byte, 0 or 1.
func (c *Codec) Bool(v *bool) {
	var b uint8
	if *v {
		b = 1
	}
	c.Uint8(&b)
	if b > 1 {
		c.Fail(fmt.Errorf("truth value is %d, want 0 or 1", b))
	}
	if c.reading {
		*v = b == 1
	}
}

// Int is a number from 0 to limit, in four bytes.
func (c *Codec) Int(v *int, limit int) {
	if !c.reading {
		if *v < 0 || *v > limit {
			c.Fail(fmt.Errorf("number is %d, want 0 to %d", *v, limit))
			return
		}
		c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(*v))
		return
	}
	var u uint32
	c.Uint32(&u)
	if c.err == nil && int64(u) > int64(limit) {
		c.Fail(fmt.Errorf("number is %d, want 0 to %d", u, limit))
		return
	}
	*v = int(u)
}

// Len is the length of a list of at most limit elements, each at least size
// bytes long; it returns n itself when writing. Reading, it returns 0 after an
// error, so that a caller may allocate and loop without a look at it.
func (c *Codec) Len(n, limit, size int) int {
	c.Int(&n, limit)
	if !c.reading {
		return n
	}
	if c.err == nil && n > len(c.buf)/max(size, 1) {
		c.Fail(errShort)
	}
	if c.err != nil {
		return 0
	}
	return n
}

// Bytes is a length of at most limit and the bytes.
func (c *Codec) Bytes(v *[]byte, limit int) {
	n := c.Len(len(*v), limit, 1)
	if c.err != nil {
		return
	}
	if c.reading {
		*v = c.take(n)
	} else {
		c.buf = append(c.buf, *v...)
	}
}

// String is a length of at most limit and the bytes.
func (c *Codec) String(v *string, limit int) {
	n := c.Len(len(*v), limit, 1)
	if c.err != nil {
		return
	}
	if c.reading {
		*v = string(c.take(n))
	} else {
		c.buf = append(c.buf, *v...)
	}
}

// List is a length of at most limit and the elements, each at least size bytes
// long and described by fields.
func List[T any](c *Codec, v *[]T, limit, size int, fields func(*T)) {
	n := c.Len(len(*v), limit, size)
	if c.reading {
		*v = nil
		if n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		fields(&(*v)[i])
	}
}
