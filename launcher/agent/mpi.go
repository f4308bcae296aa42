//go:build linux

package agent

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"

	"github.com/gorun/gorun/launcher/wire"
)

// A program of an MPI whose start gorun does not serve does not fail: each rank
// takes itself for rank 0 of 1, and all of them compute the same, on GPU 0. So
// who starts it is told.

// linkedMPI returns the MPI library that a program is linked with, as its loader
// knows it; "" if there is none, or the program is a script.
func linkedMPI(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	libraries, _ := f.ImportedLibraries() // a malformed program is the kernel's to refuse
	for _, name := range libraries {
		if strings.HasPrefix(name, "libmpi.so") || strings.HasPrefix(name, "libmpich.so") {
			return name
		}
	}
	return ""
}

// checkMPI warns of a program that will not find the others, or refuses it if
// the job is strict.
func (a *agent) checkMPI(path string) error {
	if a.hostWorld.Size == 1 {
		return nil
	}
	library := linkedMPI(path)
	if library == "" {
		return nil
	}
	text := fmt.Sprintf("linked with an MPI library (%s), to which gorun does not tell a rank its place yet: each will be rank 0 of 1", library)
	if a.start.Strict {
		return errors.New(text)
	}
	a.conn.Send(&wire.Notice{Text: path + " is " + text})
	return nil
}
