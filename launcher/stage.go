package launcher

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorun/gorun/launcher/wire"
)

// stagedFile is a file of this host that goes to all hosts.
type stagedFile struct {
	path string
	wire.File
}

// stagedFiles reads what the job stages: its programs, if Stage is set, and
// Files. It also returns the names that the programs have on the hosts. Errors
// are *StartError for a program, else *PlanError; nothing has been started.
func stagedFiles(job *Job) (files []stagedFile, programs []string, err error) {
	if job.Stage {
		if files, programs, err = stagedPrograms(job.Apps); err != nil {
			return nil, nil, err
		}
	}
	seen := map[string]string{}
	for _, f := range files {
		seen[f.Name] = f.path
	}
	var problems []error
	for _, p := range job.Files {
		f, err := hashFile(p)
		switch {
		case err != nil:
		case seen[f.Name] == p:
			err = fmt.Errorf("%s was named twice", p)
		case seen[f.Name] != "":
			err = fmt.Errorf("%s and %s would have one name on the hosts", seen[f.Name], p)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("--stage-file: %w", err))
			continue
		}
		seen[f.Name] = p
		files = append(files, f)
	}
	if len(problems) > 0 {
		return nil, nil, &PlanError{problems}
	}
	return files, programs, nil
}

// stagedPrograms reads the programs, each once, and names them. Of two that are
// called train and differ, the second is train.2.
func stagedPrograms(apps []App) (files []stagedFile, names []string, err error) {
	rank := 0 // the first of app
	for i, app := range apps {
		f, err := stagedProgram(app.Args[0])
		if err != nil {
			err.Rank = rank
			return nil, nil, err
		}
		rank += app.Ranks
		for base, n := f.Name, i+1; ; n++ {
			same := slices.IndexFunc(files, func(other stagedFile) bool { return other.Name == f.Name })
			if same < 0 {
				files = append(files, f)
				break
			}
			if files[same].Hash == f.Hash && files[same].Mode == f.Mode {
				break
			}
			f.Name = fmt.Sprintf("%s.%d", base, n)
		}
		names = append(names, f.Name)
	}
	return files, names, nil
}

var errNotInPath = errors.New("not found in PATH")

// stagedProgram finds the program where the launcher is, as a rank would on its
// host.
func stagedProgram(name string) (stagedFile, *StartError) {
	refuse := func(err error) (stagedFile, *StartError) {
		return stagedFile{}, &StartError{
			Host: thisHost().Name, Program: name, Part: PartProgram, Err: err,
			Missing: err == errNotInPath || errors.Is(err, fs.ErrNotExist),
			Hint:    "--stage copies the program from here, so it must be here",
		}
	}
	path := name
	if !strings.Contains(name, "/") {
		var err error
		if path, err = exec.LookPath(name); err != nil {
			return refuse(errNotInPath)
		}
	}
	f, err := hashFile(path)
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err // the message has the path
	}
	if err == nil && f.Mode&0o111 == 0 {
		err = errors.New("it is not executable (chmod +x)")
	}
	if err != nil {
		return refuse(err)
	}
	return f, nil
}

func hashFile(path string) (stagedFile, error) {
	// Looked at before it is opened: opening a pipe waits for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return stagedFile{}, err
	}
	if !info.Mode().IsRegular() {
		return stagedFile{}, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("expected a regular file, found %s", fileKind(info.Mode()))}
	}
	f, err := os.Open(path)
	if err != nil {
		return stagedFile{}, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return stagedFile{}, fmt.Errorf("%s: %w", path, err)
	}
	return stagedFile{path, wire.File{
		Name: filepath.Base(path),
		Hash: hex.EncodeToString(sum.Sum(nil)),
		Size: size,
		Mode: int(info.Mode().Perm()),
	}}, nil
}

// fileKind says what a file is that is not a regular one.
func fileKind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// sendFiles brings files to a host, those that it lacks.
func sendFiles(conn *wire.Conn, files []stagedFile) error {
	for _, f := range files {
		if err := conn.Send(&f.File); err != nil {
			return err
		}
		wanted, err := awaitFile(conn, f)
		if err == nil && wanted {
			err = sendFile(conn, f)
		}
		if err != nil {
			return fmt.Errorf("stage %s: %w", f.path, err)
		}
	}
	return nil
}

// awaitFile blocks for the agent's answer about f.
func awaitFile(conn *wire.Conn, f stagedFile) (wanted bool, err error) {
	m, err := conn.Receive()
	if err != nil {
		return false, err
	}
	answer, ok := m.(*wire.FileWanted)
	switch {
	case !ok || answer.Name != f.Name:
		return false, fmt.Errorf("unexpected answer %T of the agent", m)
	case answer.Error != "":
		return false, errors.New(answer.Error)
	}
	return answer.Wanted, nil
}

func sendFile(conn *wire.Conn, f stagedFile) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, wire.MaxData)
	for rest := f.Size; rest > 0; {
		n, err := file.Read(buf[:min(rest, int64(len(buf)))])
		if n > 0 {
			if err := conn.SendBulk(&wire.FileData{Data: buf[:n]}); err != nil {
				return err
			}
			rest -= int64(n)
		}
		if err == io.EOF && rest > 0 {
			return errors.New("the file became shorter while it was sent")
		}
		if err != nil && err != io.EOF {
			return err
		}
	}
	// The host's word that it has all of it: what follows is control, which
	// would overtake the data.
	wanted, err := awaitFile(conn, f)
	if err == nil && wanted {
		err = errors.New("the agent wants it again")
	}
	return err
}
