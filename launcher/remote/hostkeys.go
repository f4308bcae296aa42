package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sys/unix"
)

// HostKeyError says that a host's key was not accepted.
type HostKeyError struct {
	Type        string // of the key that the host showed, such as "ssh-ed25519"
	Fingerprint string // "SHA256:…", as ssh-keygen -l prints it
	File        string // where the host's keys should be, or where the other key is
	Line        int    // of the other key in File; 0: the host has no key there
	Revoked     bool   // File says that this key must not be trusted
}

func (e *HostKeyError) Error() string {
	key := fmt.Sprintf("host key %s (%s)", e.Fingerprint, e.Type)
	switch {
	case e.Revoked:
		return fmt.Sprintf("%s is marked as revoked at %s:%d", key, e.File, e.Line)
	case e.Line != 0:
		return fmt.Sprintf("%s is not the known one at %s:%d: the host was installed anew, or somebody else answers for it; "+
			"if the new key is right, remove that line", key, e.File, e.Line)
	case e.File == "":
		return key + " is unknown, and no known_hosts file is configured"
	}
	return fmt.Sprintf("%s is unknown: it is not in %s; compare it with the host's own, then use --accept-new-host-keys", key, e.File)
}

// hostKeys is what a set of known_hosts files say. It is read once and again
// after each addition.
type hostKeys struct {
	files []string // those to look in, whether they exist or not

	mu sync.Mutex
	db *knownhosts.HostKeyDB
}

// hostKeys returns the keys in the files of s, reading them if no login has
// before.
func (d *Dialer) hostKeys(s *settings) (*hostKeys, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := strings.Join(s.KnownHosts, "\x00")
	if k := d.known[name]; k != nil {
		return k, nil
	}
	k := &hostKeys{files: s.KnownHosts}
	if err := k.read(); err != nil {
		return nil, err
	}
	d.known[name] = k
	return k, nil
}

// read reads the files anew. The caller holds mu, or k alone.
func (k *hostKeys) read() error {
	var present []string
	for _, name := range k.files {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			present = append(present, name)
		}
	}
	db, err := knownhosts.NewDB(present...)
	if err != nil {
		return fmt.Errorf("known hosts: %w", err)
	}
	k.db = db
	return nil
}

// lookupName is what known_hosts has the host under, with port.
func (s *settings) lookupName() string {
	if s.HostKeyAlias != "" {
		return net.JoinHostPort(strings.ToLower(s.HostKeyAlias), "22")
	}
	return net.JoinHostPort(strings.ToLower(s.HostName), strconv.Itoa(s.Port))
}

// algorithms returns the host key algorithms to offer for the host called
// name, those of its known keys first: a host that is known by one key must
// not be failed for showing another.
func (k *hostKeys) algorithms(name string) []string {
	k.mu.Lock()
	known := k.db.HostKeys(name)
	k.mu.Unlock()

	isCert := func(algorithm string) bool { return strings.Contains(algorithm, "-cert-v01@") }
	supported := ssh.SupportedAlgorithms().HostKeys
	var first []string
	for _, key := range known {
		for _, a := range supported {
			// An authority may certify keys of any type.
			if key.Cert && isCert(a) || !key.Cert && verifies(a, key.Type()) {
				first = append(first, a)
			}
		}
	}
	// A certificate is of no use unless its authority is known.
	rest := slices.DeleteFunc(slices.Clone(supported), isCert)
	// Where nothing is known, ours is OpenSSH's order, so that the key stored
	// is the one that ssh would have stored.
	slices.SortStableFunc(rest, func(a, b string) int { return preference(a) - preference(b) })
	var all []string
	for _, a := range append(first, rest...) {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// verifies says whether algorithm uses keys of the given type. RSA keys go
// with two (RFC 8332).
func verifies(algorithm, keyType string) bool {
	if keyType == ssh.KeyAlgoRSA {
		return algorithm == ssh.KeyAlgoRSASHA256 || algorithm == ssh.KeyAlgoRSASHA512
	}
	return algorithm == keyType
}

func preference(algorithm string) int {
	switch {
	case algorithm == ssh.KeyAlgoED25519:
		return 0
	case strings.HasPrefix(algorithm, "ecdsa-"):
		return 1
	}
	return 2
}

// check decides whether key is that of s. A new key is stored if s says so.
func (k *hostKeys) check(s *settings, remote net.Addr, key ssh.PublicKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.verdict(s, remote, key)
	unknown, ok := errors.AsType[*HostKeyError](err)
	if !ok || unknown.Line != 0 || !s.AcceptNew {
		return err
	}
	return k.add(s, remote, key)
}

// verdict looks key up. The caller holds mu.
func (k *hostKeys) verdict(s *settings, remote net.Addr, key ssh.PublicKey) error {
	err := k.db.HostKeyCallback()(s.lookupName(), remote, key)
	if err == nil {
		return nil
	}
	refused := &HostKeyError{Type: key.Type(), Fingerprint: ssh.FingerprintSHA256(key), File: s.NewKnownHosts}
	if revoked, ok := errors.AsType[*xknownhosts.RevokedError](err); ok {
		refused.Revoked = true
		refused.File, refused.Line = revoked.Revoked.Filename, revoked.Revoked.Line
		return refused
	}
	mismatch, ok := errors.AsType[*xknownhosts.KeyError](err)
	if !ok {
		return fmt.Errorf("host key %s (%s): %w", refused.Fingerprint, refused.Type, err) // a certificate's fault
	}
	// The line to show is one of the same type, if there is one.
	for _, known := range mismatch.Want {
		if refused.Line == 0 || known.Key.Type() == key.Type() {
			refused.File, refused.Line = known.Filename, known.Line
		}
	}
	return refused
}

// add stores key. Another gorun may do the same, so the file is locked and
// read again before. The caller holds mu.
func (k *hostKeys) add(s *settings, remote net.Addr, key ssh.PublicKey) error {
	name := s.NewKnownHosts
	if name == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("store the new host key: %w", err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("store the new host key: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err // such as /dev/null, which keeps nothing on purpose
	}
	if err := flock(f); err != nil {
		return fmt.Errorf("lock %s to store the new host key: %w", name, err)
	}
	if err := k.read(); err != nil {
		return err
	}
	err = k.verdict(s, remote, key)
	if unknown, ok := errors.AsType[*HostKeyError](err); !ok || unknown.Line != 0 {
		return err
	}
	// One write, so that a reader without the lock sees all of the line or
	// nothing.
	if _, err := f.Write(append(lineEnd(f), knownHostLine(s, key)...)); err != nil {
		return fmt.Errorf("store the new host key: %w", err)
	}
	return k.read()
}

func knownHostLine(s *settings, key ssh.PublicKey) []byte {
	name := xknownhosts.Normalize(s.lookupName())
	if s.HashKnownHosts {
		name = xknownhosts.HashHostname(name)
	}
	return append([]byte(name+" "), ssh.MarshalAuthorizedKey(plain(key))...)
}

// lineEnd returns the newline that f lacks at its end, if it does.
func lineEnd(f *os.File) []byte {
	last := []byte{'\n'}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size > 0 {
		_, err = f.ReadAt(last, size-1)
	}
	if err == nil && !bytes.Equal(last, []byte{'\n'}) {
		return []byte{'\n'}
	}
	return nil
}

// flock takes the exclusive lock of f, which its Close gives back.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err != unix.EINTR {
			return err
		}
	}
}
