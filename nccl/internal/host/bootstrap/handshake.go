package bootstrap

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// The handshake, dialer D to listener L. All messages have a fixed length;
// numbers are big endian.
//
//	D → L  hello     magic 8, purpose 4, from 4, to 4, size 4, D's nonce 24
//	L → D  welcome   L's nonce 24, mac(key, "welcome", hello, L's nonce) 32
//	D → L  confirm   mac(key, "confirm", hello, L's nonce) 32
//
// Each side's proof covers everything said so far and the other's fresh nonce,
// so none can be replayed, reflected or used for another purpose.
const (
	nonceSize   = 24
	helloSize   = 24 + nonceSize
	welcomeSize = nonceSize + sha256.Size
)

// handshakeTimeout bounds each handshake: long enough for a busy host, short
// enough that garbage does not pile up.
const handshakeTimeout = 10 * time.Second

// purpose is what a connection is for.
type purpose uint32

const (
	checkIn purpose = iota + 1 // with the Root
	control                    // between neighbours on the ring of ranks
	data                       // made by Connect
)

// toRoot is the rank that the Root is called in a hello.
const toRoot = 1<<32 - 1

// MaxSize is how many ranks a communicator may have.
const MaxSize = 1 << 20

// hello is what a dialer says first.
type hello struct {
	purpose  purpose
	from, to uint32
	size     uint32
}

var errHandshake = errors.New("handshake failed: the other side does not know this unique ID")

// dialed shakes hands on a connection that this side opened. The caller bounds the time.
func (k *keys) dialed(conn io.ReadWriter, h hello) error {
	said := make([]byte, 0, helloSize)
	said = append(said, k.magic[:]...)
	for _, v := range []uint32{uint32(h.purpose), h.from, h.to, h.size} {
		said = binary.BigEndian.AppendUint32(said, v)
	}
	said = append(said, nonce()...)
	if _, err := conn.Write(said); err != nil {
		return err
	}
	var welcome [welcomeSize]byte
	if _, err := io.ReadFull(conn, welcome[:]); err != nil {
		return err
	}
	said = append(said, welcome[:nonceSize]...)
	if !hmac.Equal(welcome[nonceSize:], k.proof("welcome", said)) {
		return errHandshake
	}
	_, err := conn.Write(k.proof("confirm", said))
	return err
}

// accepted shakes hands on a connection that the other side opened. The caller
// bounds the time.
func (k *keys) accepted(conn io.ReadWriter) (hello, error) {
	said := make([]byte, helloSize, helloSize+nonceSize)
	if _, err := io.ReadFull(conn, said); err != nil {
		return hello{}, err
	}
	if !bytes.Equal(said[:len(k.magic)], k.magic[:]) {
		return hello{}, errHandshake
	}
	said = append(said, nonce()...)
	if _, err := conn.Write(append(said[helloSize:len(said):len(said)], k.proof("welcome", said)...)); err != nil {
		return hello{}, err
	}
	var confirm [sha256.Size]byte
	if _, err := io.ReadFull(conn, confirm[:]); err != nil {
		return hello{}, err
	}
	if !hmac.Equal(confirm[:], k.proof("confirm", said)) {
		return hello{}, errHandshake
	}
	number := func(i int) uint32 { return binary.BigEndian.Uint32(said[len(k.magic)+4*i:]) }
	return hello{purpose: purpose(number(0)), from: number(1), to: number(2), size: number(3)}, nil
}

// proof returns the mac of what was said, in one of the two roles.
func (k *keys) proof(role string, said []byte) []byte {
	mac := hmac.New(sha256.New, k.mac[:])
	mac.Write([]byte(role))
	mac.Write(said)
	return mac.Sum(nil)
}

func nonce() []byte {
	b := make([]byte, nonceSize)
	rand.Read(b)
	return b
}
