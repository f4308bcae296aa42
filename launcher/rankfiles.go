package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/gorun/gorun/launcher/stdio"
)

// maxOpenFiles bounds how many of the ranks' files are open at a time. Where the
// limit of a process is low, it is a quarter of that: there are hosts to talk to
// as well.
const maxOpenFiles = 256

// rankFiles are the files of Streams.Dir: for each rank one with every byte of
// its standard output and one for standard error. They are named by rank, with
// as many digits for each, so that what a shell makes of rank.*.out is in order.
type rankFiles struct {
	dir    string
	digits int
	most   int // how many may be open at a time
	open   map[string]*os.File
	oldest []string // the names of those, in the order of their opening
}

// createFiles makes the folder and, empty, the files of all ranks. A later
// attempt at a job goes on in the files of the one before.
func createFiles(s *Streams, ranks int, later bool) (*rankFiles, error) {
	if s.Dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder for the ranks' output: %w", err)
	}
	f := &rankFiles{
		dir: s.Dir, digits: len(strconv.Itoa(ranks - 1)),
		most: max(1, min(maxOpenFiles, openFileLimit()/4)), open: map[string]*os.File{},
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if later {
		flags = os.O_WRONLY | os.O_CREATE
	}
	for rank := range ranks {
		streams := []stdio.Stream{stdio.Stdout, stdio.Stderr}
		if s.merged(rank) {
			streams = streams[:1]
		}
		for _, stream := range streams {
			file, err := openRankFile(f.path(rank, stream), flags)
			if err != nil {
				return nil, fmt.Errorf("make the file for a rank's output: %w", err)
			}
			file.Close() // nothing was written, so nothing can fail
		}
	}
	return f, nil
}

func (f *rankFiles) path(rank int, s stdio.Stream) string {
	return filepath.Join(f.dir, fmt.Sprintf("rank.%0*d.%s", f.digits, rank, s.String()[len("std"):]))
}

// openRankFile opens a file for writing. Named pipes are refused: to open one
// waits for its reader, and each file is opened several times.
func openRankFile(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, 0o666)
	pipe := errors.Is(err, syscall.ENXIO) // of a pipe without a reader
	if err == nil {
		info, err := file.Stat()
		pipe = err == nil && info.Mode()&fs.ModeNamedPipe != 0
	}
	if pipe {
		file.Close() // of nil it only says so
		return nil, fmt.Errorf("%s: expected a regular file, found a named pipe or a socket", path)
	}
	return file, err
}

// write appends to a rank's file.
func (f *rankFiles) write(rank int, s stdio.Stream, data []byte) error {
	path := f.path(rank, s)
	file := f.open[path]
	if file == nil {
		if len(f.open) == f.most {
			if err := f.closeOldest(); err != nil {
				return err
			}
		}
		var err error
		if file, err = openRankFile(path, os.O_WRONLY|os.O_APPEND); err != nil {
			return err
		}
		f.open[path] = file
		f.oldest = append(f.oldest, path)
	}
	_, err := file.Write(data)
	return err
}

// closeOldest closes the file that was opened first. Network file systems tell
// of a full disk only here.
func (f *rankFiles) closeOldest() error {
	path := f.oldest[0]
	file := f.open[path]
	f.oldest = f.oldest[1:]
	delete(f.open, path)
	return file.Close()
}

// close closes all files.
func (f *rankFiles) close() error {
	var errs []error
	for len(f.open) > 0 {
		errs = append(errs, f.closeOldest())
	}
	return errors.Join(errs...)
}
