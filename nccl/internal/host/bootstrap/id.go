package bootstrap

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/netip"
)

// ID lets ranks into a communicator in the making. It has the size of an ncclUniqueId.
//
//	offset  bytes
//	     0      8  "gorunid" and the version of this layout, 1
//	     8     32  secret
//	    40      1  length of the address, 4 or 16
//	    41     16  address of the Root, then zeros
//	    57      2  port, big endian
//	    59     69  zeros
type ID [128]byte

const (
	idVersion = "gorunid\x01"
	idSecret  = 8
	idAddr    = 40
	idPort    = 57
	idEnd     = 59
)

// errID is what is said of bytes that are no ID.
var errID = errors.New("not a unique ID of the host engine, version 1")

// newID returns the ID with a fresh secret of a Root at addr.
func newID(addr netip.AddrPort) ID {
	var id ID
	copy(id[:], idVersion)
	rand.Read(id[idSecret:idAddr])
	ip := addr.Addr().Unmap().AsSlice()
	id[idAddr] = byte(len(ip))
	copy(id[idAddr+1:idPort], ip)
	binary.BigEndian.PutUint16(id[idPort:], addr.Port())
	return id
}

// Root returns the address of the Root that the ID leads to.
func (id *ID) Root() (netip.AddrPort, error) {
	n := int(id[idAddr])
	if string(id[:idSecret]) != idVersion || n != 4 && n != 16 || len(bytes.Trim(id[idEnd:], "\x00")) > 0 {
		return netip.AddrPort{}, errID
	}
	addr, _ := netip.AddrFromSlice(id[idAddr+1 : idAddr+1+n])
	port := binary.BigEndian.Uint16(id[idPort:])
	if port == 0 || addr.IsUnspecified() {
		return netip.AddrPort{}, errID
	}
	return netip.AddrPortFrom(addr, port), nil
}

// keys are what an ID's secret is good for.
type keys struct {
	magic [8]byte  // tells one communicator's connections from another's; sent in the clear
	mac   [32]byte // proves the knowledge of the ID
}

// keys derives the keys from the whole ID, so that one with another address is another.
func (id *ID) keys() keys {
	var k keys
	for info, key := range map[string][]byte{"gorun nccl magic": k.magic[:], "gorun nccl handshake": k.mac[:]} {
		derived, err := hkdf.Key(sha256.New, id[:], nil, info, len(key))
		if err != nil {
			panic(err) // only for lengths beyond 255 hashes
		}
		copy(key, derived)
	}
	return k
}
