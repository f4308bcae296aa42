package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// Fixed by the protocol.
const (
	// MaxFrame bounds a payload. It holds the largest environment a kernel
	// accepts several times over.
	MaxFrame = 16 << 20
	// MaxData bounds the data of one Output, Input or FileData, so that
	// control never waits for long behind it.
	MaxData = 64 << 10

	frameHeader = 5
	// outputHeader follows the frame header of an Output: rank (4), stream
	// (1), time (8), big endian.
	outputHeader = 13
)

var (
	typeOf     = map[reflect.Type]byte{}
	outputType byte
)

func init() {
	for i, m := range table {
		typeOf[reflect.TypeOf(m).Elem()] = byte(i)
	}
	outputType = typeOf[reflect.TypeFor[Output]()]
}

// ErrTooLarge is in the error of sending a message that does not fit a frame.
var ErrTooLarge = errors.New("wire: message is too large")

var errShort = errors.New("payload ends inside a field")

// appendFrame appends m as one frame.
func appendFrame(b []byte, m Message) ([]byte, error) {
	v := reflect.ValueOf(m).Elem()
	kind, ok := typeOf[v.Type()]
	if !ok {
		return b, fmt.Errorf("wire: %T is not in the message table", m)
	}
	start := len(b)
	b = append(b, kind, 0, 0, 0, 0)
	if o, ok := m.(*Output); ok {
		b = append(b, make([]byte, outputHeader)...)
		o.putHeader(b[start:])
		b = append(b, o.Data...)
	} else {
		b = appendValue(b, v)
	}
	n := len(b) - start - frameHeader
	if n > MaxFrame {
		return b[:start], fmt.Errorf("%w: a %s of %d bytes, at most %d", ErrTooLarge, v.Type().Name(), n, MaxFrame)
	}
	binary.BigEndian.PutUint32(b[start+1:], uint32(n))
	return b, nil
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint8:
		return append(b, byte(v.Uint()))
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(b, v.Bytes()...)
		}
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	}
	panic("wire: field of unsupported kind " + v.Kind().String())
}

// decode reads the payload of a frame. The result does not refer to p.
func decode(kind byte, p []byte) (Message, error) {
	if int(kind) >= len(table) {
		return nil, fmt.Errorf("wire: message type %d, expected less than %d", kind, len(table))
	}
	t := reflect.TypeOf(table[kind]).Elem()
	v := reflect.New(t)
	rest, err := decodeValue(p, v.Elem())
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes after the last field", len(rest))
	}
	// The hello of another version may have other fields behind the first ones,
	// by which the launcher knows it.
	if h, ok := v.Interface().(*Hello); ok && err != nil && h.Magic == Magic && h.Table != TableHash() {
		return h, nil
	}
	if err != nil {
		return nil, fmt.Errorf("wire: %s: %w", t.Name(), err)
	}
	return v.Interface(), nil
}

func decodeValue(p []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Bool, reflect.Uint8:
		if len(p) < 1 {
			return nil, errShort
		}
		if v.Kind() == reflect.Uint8 {
			v.SetUint(uint64(p[0]))
		} else if p[0] > 1 {
			return nil, fmt.Errorf("bool %d, expected 0 or 1", p[0])
		} else {
			v.SetBool(p[0] == 1)
		}
		return p[1:], nil
	case reflect.Int, reflect.Int64:
		x, n := binary.Varint(p)
		if n <= 0 {
			return nil, errShort
		}
		v.SetInt(x)
		return p[n:], nil
	case reflect.String, reflect.Slice:
		return decodeSequence(p, v)
	case reflect.Struct:
		var err error
		for i := 0; i < v.NumField() && err == nil; i++ {
			p, err = decodeValue(p, v.Field(i))
		}
		return p, err
	}
	panic("wire: field of unsupported kind " + v.Kind().String())
}

func decodeSequence(p []byte, v reflect.Value) ([]byte, error) {
	count, n := binary.Uvarint(p)
	// Every element takes at least a byte: a count over what is left is a
	// lie, and is found before anything is allocated for it.
	if n <= 0 || count > uint64(len(p)-n) {
		return nil, errShort
	}
	p = p[n:]
	switch {
	case v.Kind() == reflect.String:
		v.SetString(string(p[:count]))
		return p[count:], nil
	case v.Type().Elem().Kind() == reflect.Uint8:
		v.SetBytes(append([]byte(nil), p[:count]...))
		return p[count:], nil
	}
	// Elements may be larger than their encoding, so a slice grows with what
	// was really read.
	s := reflect.MakeSlice(v.Type(), 0, int(min(count, 64)))
	elem := reflect.New(v.Type().Elem()).Elem()
	for range count {
		elem.SetZero()
		var err error
		if p, err = decodeValue(p, elem); err != nil {
			return nil, err
		}
		s = reflect.Append(s, elem)
	}
	if count > 0 {
		v.Set(s)
	}
	return p, nil
}
