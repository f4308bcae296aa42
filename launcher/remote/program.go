package remote

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// Program is the executable that is put on hosts. It is stored there under
// the hash of its content, so that versions never replace one another and a
// second job finds it. One Program serves all hosts at once: it is read,
// hashed and compressed once, and a folder that hosts share is filled once.
type Program struct {
	path    string
	folders string      // where hosts keep it: cacheFolders, but for tests
	own     *executable // for this process's system
	folder  string      // where executables for others are

	mu      sync.Mutex
	others  map[string]*executable // by goos-goarch
	uploads map[string]*upload     // by the id of the folder and the hash
}

// upload is the filling of one folder.
type upload struct{ done chan struct{} }

// NewProgram returns the program at path, for systems like this one; "" is
// the running program. For other systems it is gorun-OS-ARCH in the same
// folder.
func NewProgram(path string) (*Program, error) {
	var err error
	name := path
	if name == "" {
		if name, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("the running program: %w", err)
		}
		path = name
		if runtime.GOOS == "linux" {
			path = "/proc/self/exe" // what runs, also when a new one took its name
		}
	}
	return &Program{
		path:    name,
		folders: cacheFolders,
		own:     newExecutable(path),
		folder:  filepath.Dir(name),
		others:  map[string]*executable{},
		uploads: map[string]*upload{},
	}, nil
}

// Path returns where the program for this host is: what StartLocal takes.
func (p *Program) Path() string { return p.path }

// forSystem returns the executable for hosts on which uname -sm prints
// system.
func (p *Program) forSystem(system string) (*executable, error) {
	goos, goarch, ok := goSystem(system)
	if !ok {
		return nil, fmt.Errorf("the host's system is %q, for which gorun cannot be built", system)
	}
	if goos == runtime.GOOS && goarch == runtime.GOARCH {
		return p.own, nil
	}
	name := fmt.Sprintf("gorun-%s-%s", goos, goarch)
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.others[name]; e != nil {
		return e, nil
	}
	path := filepath.Join(p.folder, name)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("the host is %s/%s, this program %s/%s: %w; build it by GOOS=%s GOARCH=%s CGO_ENABLED=0 go build -o %s ./cmd/gorun",
			goos, goarch, runtime.GOOS, runtime.GOARCH, err, goos, goarch, path)
	}
	p.others[name] = newExecutable(path)
	return p.others[name], nil
}

// fill returns the upload of an executable to the folder called id, and
// whether it is the caller's to do and finish.
func (p *Program) fill(id, hash string) (u *upload, ours bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := id + " " + hash
	if u = p.uploads[key]; u != nil {
		return u, false
	}
	u = &upload{done: make(chan struct{})}
	p.uploads[key] = u
	return u, true
}

// executable is a file for one system.
type executable struct {
	path   string
	digest func() (digest, error)
	packed func() ([]byte, error)
}

type digest struct {
	hash string // SHA-256, in hex
	size int64
}

func newExecutable(path string) *executable {
	e := &executable{path: path}
	e.digest = sync.OnceValues(e.read)
	e.packed = sync.OnceValues(e.pack)
	return e
}

func (e *executable) read() (digest, error) {
	f, err := os.Open(e.path)
	if err != nil {
		return digest{}, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return digest{}, err
	}
	if size == 0 {
		return digest{}, errors.New(e.path + " is empty")
	}
	return digest{hex.EncodeToString(sum.Sum(nil)), size}, nil
}

// pack compresses for the wire: at its fastest gzip halves a Go program, at
// its best it takes ten times as long for a tenth more.
func (e *executable) pack() ([]byte, error) {
	f, err := os.Open(e.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, f); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}

// sendTo writes the size of what follows, a newline, and the executable, all
// in the form that the host can unpack.
func (e *executable) sendTo(w io.Writer, gzipped bool) error {
	if gzipped {
		packed, err := e.packed()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%d\n", len(packed)); err != nil {
			return err
		}
		_, err = w.Write(packed)
		return err
	}
	d, err := e.digest()
	if err != nil {
		return err
	}
	f, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintf(w, "%d\n", d.size); err != nil {
		return err
	}
	_, err = io.Copy(w, io.LimitReader(f, d.size))
	return err
}
