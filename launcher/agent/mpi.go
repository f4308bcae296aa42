//go:build linux

package agent

import (
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorun/gorun/launcher/wire"
)

// A program of an MPI whose start gorun does not serve does not fail: each rank
// takes itself for rank 0 of 1, and all of them compute the same, on GPU 0. So
// who starts it is told: before it starts, where its file says so, and else when
// a rank has ended without asking for its place.

// linkage is what a program's file says of MPI.
type linkage struct {
	library        string // MPI, or a client of PMI, as the loader knows it; "": none, or the program is a script
	rpath, runpath string // where the loader looks for it, before and after LD_LIBRARY_PATH; at most one is there
	static         bool   // there is no loader: the program uses what is in it
}

// readLinkage reads a program's file.
func readLinkage(path string) (l linkage) {
	f, err := elf.Open(path)
	if err != nil {
		return l
	}
	defer f.Close()
	l.static = true
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			l.static = false
		}
	}
	libraries, _ := f.ImportedLibraries() // a malformed program is the kernel's to refuse
	for _, prefix := range []string{"libmpi.so", "libmpich.so", "libpmi.so", "libpmi2.so"} {
		i := slices.IndexFunc(libraries, func(name string) bool { return strings.HasPrefix(name, prefix) })
		if i >= 0 {
			l.library = libraries[i]
			break
		}
	}
	if l.library == openMPI4 {
		folders := func(tag elf.DynTag) string {
			list, _ := f.DynString(tag)
			return strings.ReplaceAll(strings.Join(list, ":"), "$ORIGIN", filepath.Dir(path))
		}
		if l.runpath = folders(elf.DT_RUNPATH); l.runpath == "" { // see ld.so(8)
			l.rpath = folders(elf.DT_RPATH)
		}
	}
	return l
}

// asker is by what a program asks for its place.
type asker int

const (
	asksUnknown asker = iota // no MPI is in sight: it may be an interpreter that loads any
	asksPMI                  // PMI
	asksFlux                 // the library of a resource manager, Flux: Open MPI 4
	asksOther                // what gorun does not serve
)

// byPMI tells whether a connection for PMI serves it.
func (a asker) byPMI() bool { return a == asksPMI || a == asksFlux }

// asks returns how the program asks. path is its LD_LIBRARY_PATH.
func (l linkage) asks(path string) asker {
	switch {
	case l.library == "":
		return asksUnknown
	case l.library == openMPI4 && !isOpenMPI5(findLibrary(openMPI4, strings.Trim(l.rpath+":"+path+":"+l.runpath, ":"))):
		return asksFlux
	// MPICH's and, under the name that the MPICH ABI initiative agreed on, those
	// of its descendants. Under other names it is Open MPI's.
	case l.library == "libmpi.so.12", !strings.HasPrefix(l.library, "libmpi.so"):
		return asksPMI
	}
	return asksOther
}

// serveMPI adds to a program's environment what its MPI is to find, and warns if
// that will not find the others, or refuses it if the job is strict.
func (a *agent) serveMPI(p *program) error {
	l := readLinkage(p.path)
	asks := l.asks(lookupEnv(p.env, "LD_LIBRARY_PATH"))
	p.inheritsPMI = asks.byPMI()
	why := ""
	switch {
	case asks == asksOther:
		why = "to which gorun does not tell a rank its place yet"
	case a.services.pmi == nil && asks == asksUnknown:
	case a.services.pmi == nil:
		why = "which asks for its place by PMI, and that is left out of --env-compat"
	case asks == asksFlux, asks == asksUnknown && !l.static:
		// A program that is not known to be Open MPI's does without.
		if err := a.addFlux(p); err != nil && asks == asksFlux {
			why = "and what it asks by cannot be put there: " + err.Error()
		}
	}
	if a.hostWorld.Size == 1 {
		return nil
	}
	if why == "" {
		p.mpi = l.library
		return nil
	}
	text := fmt.Sprintf("linked with an MPI library (%s), %s: each will be rank 0 of 1", l.library, why)
	if a.start.Strict {
		return errors.New(text)
	}
	a.conn.Send(&wire.Notice{Text: p.path + " is " + text})
	return nil
}

// warnUnasked tells the user, once for a host, that a rank has ended well whose
// program is linked with an MPI library and never asked for its place.
func (a *agent) warnUnasked(r *rank) {
	a.unasked.Do(func() {
		a.conn.Send(&wire.Notice{Text: fmt.Sprintf(
			"rank %d, whose program is linked with an MPI library (%s), has ended without asking for its place: if it used MPI, it was rank 0 of 1", r.number, r.mpi)})
	})
}
