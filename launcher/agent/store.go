//go:build linux

package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorun/gorun/launcher/wire"
)

// store keeps the files that the launcher stages. Content lies under its hash
// in the user's cache, complete or not at all, and is linked into the folder
// of the job under its name.
type store struct {
	folders *folders
	folder  string            // of the job; "": nothing was staged
	files   map[string]string // path by name

	incoming *os.File // the file that is being sent; nil: none
	expect   *wire.File
	sum      hash.Hash
	size     int64
	failed   error // of writing it, told when all has come
}

// announce answers the announcement of a file.
func (s *store) announce(m *wire.File) *wire.FileWanted {
	answer := &wire.FileWanted{Name: m.Name}
	if err := s.prepare(m); err != nil {
		answer.Error = err.Error()
		return answer
	}
	content := s.contentPath(m)
	if info, err := os.Stat(content); err == nil && info.Size() == m.Size {
		if err := s.link(m, content); err != nil {
			answer.Error = err.Error()
		}
		return answer
	}
	file, err := os.CreateTemp(filepath.Dir(content), "incoming-")
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	s.incoming, s.expect, s.sum, s.size = file, m, sha256.New(), 0
	if answer.Wanted = m.Size > 0; !answer.Wanted {
		if err := s.complete(); err != nil {
			answer.Error = err.Error()
		}
	}
	return answer
}

func (s *store) prepare(m *wire.File) error {
	if m.Name != filepath.Base(m.Name) || m.Name == "." || m.Name == ".." || m.Name == "/" {
		return fmt.Errorf("staged file %q: expected a name without folders", m.Name)
	}
	if b, err := hex.DecodeString(m.Hash); err != nil || len(b) != sha256.Size || m.Size < 0 {
		return fmt.Errorf("staged file %q: malformed announcement", m.Name)
	}
	if s.incoming != nil {
		return fmt.Errorf("staged file %q: %q is still on its way", m.Name, s.expect.Name)
	}
	if s.files[m.Name] != "" {
		return fmt.Errorf("two staged files are called %q", m.Name)
	}
	if s.folder != "" {
		return nil
	}
	// The cache first: what lies there serves the next job too.
	candidates := bases()
	slices.Reverse(candidates)
	folder, err := s.folders.make(candidates, true)
	if err != nil {
		return fmt.Errorf("no folder can hold staged programs:\n%w", err)
	}
	s.folder, s.files = folder, map[string]string{}
	return makePrivate(filepath.Join(filepath.Dir(folder), "files"))
}

// contentPath is where the content of m lies, beside the folder of the job so
// that it can be linked. The mode is part of the name, for links share it.
func (s *store) contentPath(m *wire.File) string {
	name := fmt.Sprintf("%s-%o", m.Hash, m.Mode&0o700)
	return filepath.Join(filepath.Dir(s.folder), "files", name)
}

// write takes the next piece of the announced file. The answer to the last
// one is not nil.
func (s *store) write(data []byte) (*wire.FileWanted, error) {
	if s.incoming == nil {
		return nil, errors.New("the launcher sent file data that was not asked for")
	}
	if s.failed == nil {
		_, s.failed = s.incoming.Write(data)
	}
	s.sum.Write(data)
	if s.size += int64(len(data)); s.size < s.expect.Size {
		return nil, nil
	}
	answer := &wire.FileWanted{Name: s.expect.Name}
	if err := s.complete(); err != nil {
		answer.Error = err.Error()
	}
	return answer, nil
}

// complete checks the file that has come and gives it its names.
func (s *store) complete() error {
	file, m := s.incoming, s.expect
	s.incoming = nil
	defer os.Remove(file.Name()) // gone by then, unless something fails
	// On disk before it has its name: a power loss leaves it whole or not at all.
	err := errors.Join(s.failed, file.Chmod(fs.FileMode(m.Mode&0o700)), file.Sync(), file.Close())
	s.failed = nil
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(s.sum.Sum(nil)); got != m.Hash || s.size != m.Size {
		return fmt.Errorf("staged file %s: expected %d bytes with hash %.12s…, received %d with %.12s…",
			m.Name, m.Size, m.Hash, s.size, got)
	}
	content := s.contentPath(m)
	if err := os.Rename(file.Name(), content); err != nil {
		return err
	}
	return s.link(m, content)
}

func (s *store) link(m *wire.File, content string) error {
	path := filepath.Join(s.folder, m.Name)
	if err := os.Link(content, path); err != nil {
		return err
	}
	s.files[m.Name] = path
	return nil
}

// path returns where the staged file called name lies, "" if there is none.
func (s *store) path(name string) string { return s.files[name] }

// close drops a file that has not come to its end. The folder of the job goes
// with its token.
func (s *store) close() {
	if s.incoming != nil {
		s.incoming.Close()
		os.Remove(s.incoming.Name())
		s.incoming = nil
	}
}
