//go:build linux

package agent

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/gorun/gorun/internal/envvar"
	"github.com/gorun/gorun/rendezvous/pmi/libpmi"
)

// Open MPI speaks PMIx, which gorun does not serve. But up to 4 it can be told
// that Flux is the resource manager. Then it opens a library that speaks PMI for
// it (package libpmi), which the agent puts into its folder.
//
// The same folder has the files of Open MPI: those by which ranks of a host
// share memory, and its session. They go with it, whatever ends the ranks.

// openMPI4 is the library of Open MPI 3 to 5. Only the version behind it, which
// is its file's, tells them apart.
const openMPI4 = "libmpi.so.40"

// isOpenMPI5 says whether a file is the library of Open MPI 5, which knows Flux
// by PMIx only. Its version is 40.40 and higher, that of 4.1 is 40.30.
func isOpenMPI5(file string) bool {
	version, _ := strings.CutPrefix(filepath.Base(file), openMPI4+".")
	minor, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(minor)
	return err == nil && n >= 40
}

// addFlux adds to a program's environment what leads Open MPI to the server for
// PMI, where the user has not set it otherwise.
func (a *agent) addFlux(p *program) error {
	library, err := a.libpmi()
	if err != nil {
		return err
	}
	shared, err := a.folders.make(bases(), false)
	if err != nil {
		return err
	}
	p.env = setEnv(p.env, "FLUX_JOB_ID", strconv.FormatUint(fluxJob(a.start), 10))
	p.env = setEnv(p.env, "FLUX_PMI_LIBRARY_PATH", library)
	add := func(name, value string) {
		name = "OMPI_MCA_" + name
		if !hasEnv(p.env, name) && !envvar.MatchesAny(name, a.start.Unset) {
			p.env = append(p.env, name+"="+value)
		}
	}
	add("orte_tmpdir_base", shared)
	add("btl_vader_backing_directory", shared)
	// Both name interfaces, and Open MPI takes one of them only.
	if iface := cmp.Or(a.host().Iface, a.start.Via); iface != "" && !hasEnv(p.env, "OMPI_MCA_btl_tcp_if_exclude") {
		add("btl_tcp_if_include", iface)
	}
	return nil
}

// putLibpmi writes the library where programs can load it, and returns its path.
func (a *agent) putLibpmi() (string, error) {
	if libpmi.Library == "" {
		return "", fmt.Errorf("there is no library for Open MPI on %s", runtime.GOARCH)
	}
	folder, err := a.folders.make(bases(), true)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "libpmi.so")
	return path, os.WriteFile(path, []byte(libpmi.Library), 0o500)
}

// fluxJob numbers an attempt of a job, so that no two of a user's are alike by
// more than chance; what they keep is in folders of their own. Of the lower 16
// bits Open MPI knows 15 where it has not met a rank yet (ompi/proc/proc.h), and
// it keeps the highest numbers for itself.
func fluxJob(m *share) uint64 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s_%d", m.Job, m.Attempt)
	return uint64(h.Sum32() & 0x7fff7fff)
}
