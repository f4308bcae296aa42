package contest

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
)

// Gorun returns the path of the binary to measure: the given one, or, if that
// is "", one built in dir as gorun ships.
func Gorun(ctx context.Context, binary, dir string) (string, error) {
	if binary != "" {
		return filepath.Abs(binary)
	}
	binary = filepath.Join(dir, "gorun")
	build := exec.CommandContext(ctx, "go", "build", "-tags=urfave_cli_no_docs", "-trimpath", "-ldflags=-s -w", "-o", binary, "github.com/gorun/gorun/cmd/gorun")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// Hydra returns the path of MPICH's launcher, "" if it is not installed, which
// is logged.
func Hydra() string { return find("mpiexec.hydra") }

// OpenMPI returns the command of Open MPI's launcher, nil if it is not
// installed, which is logged. As root it would refuse, and with few processors
// it would not start many ranks.
func OpenMPI() []string {
	mpirun := find("mpirun.openmpi")
	if mpirun == "" {
		return nil
	}
	return []string{mpirun, "--allow-run-as-root", "--oversubscribe"}
}

func find(program string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		log.Printf("%s is not installed and left out", program)
	}
	return path
}
