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

// linkedMPI returns the MPI library, or the client of PMI, that a program is
// linked with, as its loader knows it; "" if there is none, or the program is a
// script.
func linkedMPI(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	libraries, _ := f.ImportedLibraries() // a malformed program is the kernel's to refuse
	for _, name := range libraries {
		for _, prefix := range []string{"libmpi.so", "libmpich.so", "libpmi.so", "libpmi2.so"} {
			if strings.HasPrefix(name, prefix) {
				return name
			}
		}
	}
	return ""
}

// asksByPMI says whether a library finds out by PMI who its process is: MPICH's
// does and, under the name that the MPICH ABI initiative agreed on, those of its
// descendants. Under other names it is Open MPI's, which does not.
func asksByPMI(library string) bool {
	return library == "libmpi.so.12" || library != "" && !strings.HasPrefix(library, "libmpi.so")
}

// checkMPI warns of a program that will not find the others, or refuses it if
// the job is strict.
func (a *agent) checkMPI(path, library string) error {
	var why string
	switch {
	case a.hostWorld.Size == 1 || library == "":
		return nil
	case !asksByPMI(library):
		why = "to which gorun does not tell a rank its place yet"
	case a.services.pmi == nil:
		why = "which asks for its place by PMI, and that is left out of --env-compat"
	default:
		return nil
	}
	text := fmt.Sprintf("linked with an MPI library (%s), %s: each will be rank 0 of 1", library, why)
	if a.start.Strict {
		return errors.New(text)
	}
	a.conn.Send(&wire.Notice{Text: path + " is " + text})
	return nil
}
