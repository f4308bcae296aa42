package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"
)

// Output is a piece of what a rank wrote, at most MaxData bytes.
type Output struct {
	Rank   int
	Stream Stream
	Time   time.Time // when the agent read it
	Data   []byte

	chunk *Chunk // where Data lies, if that goes back to a pool
}

func (o *Output) putHeader(frame []byte) {
	frame[0] = outputType
	binary.BigEndian.PutUint32(frame[frameHeader:], uint32(o.Rank))
	frame[frameHeader+4] = byte(o.Stream)
	binary.BigEndian.PutUint64(frame[frameHeader+5:], uint64(o.Time.UnixNano()))
}

// Release gives the memory of Data back. The Output must not be used after it.
func (o *Output) Release() {
	if o.chunk != nil {
		o.chunk.Release()
		o.chunk, o.Data = nil, nil
	}
}

// Chunk is memory for one frame of output: data is read into Room and sent
// from where it lies.
type Chunk struct {
	buf [frameHeader + outputHeader + MaxData]byte
}

var chunks = sync.Pool{New: func() any { return new(Chunk) }}

// NewChunk returns a Chunk; SendOutput or Release ends it.
func NewChunk() *Chunk { return chunks.Get().(*Chunk) }

// Room is where the data goes.
func (c *Chunk) Room() []byte { return c.buf[frameHeader+outputHeader:] }

// Release gives c back.
func (c *Chunk) Release() { chunks.Put(c) }

// readOutput reads the payload of an Output, n bytes, from r.
func readOutput(r io.Reader, n int) (*Output, error) {
	if n < outputHeader || n > outputHeader+MaxData {
		return nil, fmt.Errorf("wire: Output of %d bytes, expected %d to %d", n, outputHeader, outputHeader+MaxData)
	}
	// A chunk for a few bytes would hold many times what its credit says.
	var c *Chunk
	var p []byte
	if n > MaxData/2 {
		c = NewChunk()
		p = c.buf[frameHeader : frameHeader+n]
	} else {
		p = make([]byte, n)
	}
	if _, err := io.ReadFull(r, p); err != nil {
		if c != nil {
			c.Release()
		}
		return nil, err
	}
	return &Output{
		Rank:   int(int32(binary.BigEndian.Uint32(p))),
		Stream: Stream(p[4]),
		Time:   time.Unix(0, int64(binary.BigEndian.Uint64(p[5:]))),
		Data:   p[outputHeader:],
		chunk:  c,
	}, nil
}

// ReadChunk blocks until there is something to read from a pipe, and only then
// takes memory for it: most of a host's streams are silent most of the time. It
// reads on while the writer keeps up, since fuller frames are fewer. n is 0 at
// the end of the pipe.
func ReadChunk(pipe syscall.RawConn) (chunk *Chunk, n int) {
	err := pipe.Read(func(fd uintptr) (done bool) {
		chunk = NewChunk()
		n, done = readReady(int(fd), chunk.Room())
		if n == 0 {
			chunk.Release()
			chunk = nil
		}
		return done
	})
	if err != nil {
		return nil, 0
	}
	return chunk, n
}

// readReady reads into room until that is full or nothing is there. It is done if
// it has read something or the pipe has ended.
func readReady(fd int, room []byte) (n int, done bool) {
	for n < len(room) {
		got, err := syscall.Read(fd, room[n:])
		if err == syscall.EINTR {
			continue
		}
		if got <= 0 {
			return n, n > 0 || err != syscall.EAGAIN
		}
		n += got
	}
	return n, true
}

// Output makes an Output of the first n bytes of c's room. Its Release ends c.
func (c *Chunk) Output(rank int, stream Stream, at time.Time, n int) *Output {
	return &Output{Rank: rank, Stream: stream, Time: at, Data: c.Room()[:n], chunk: c}
}

// frameCost is what a frame of output counts beside its data: about the memory
// that its receiver needs to hold it. Without it a rank that writes a few bytes
// at a time would fill, within its credit, a hundred times that in memory.
const frameCost = 256

// Cost is the credit that o takes.
func (o *Output) Cost() int64 { return frameCost + int64(len(o.Data)) }
