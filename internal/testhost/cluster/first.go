//go:build linux

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// firstProcess is argument zero of a host's first process. The name is in the
// argument and not in the environment because programs do not inherit it.
const firstProcess = "gorun-testhost-init"

// settings is what the first process reads from its standard input, as JSON.
type settings struct {
	Name    string
	Folders []folder
	Share   []string // folders to see through the private ones
	Files   []file   // in the order of creation
}

// A package that starts its own binary again cannot rely on the main function,
// which belongs to the tests; initialization is the only place it is sure to
// run.
func init() {
	if os.Args[0] != firstProcess || os.Getpid() != 1 {
		return
	}
	if err := runFirst(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testhost:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runFirst is the first process of a host: it makes the host what the settings
// say, runs sshd, and reaps every process whose parent is gone. It returns when
// the input ends, which is when the process that made the cluster ends, and then
// the kernel kills all others of the namespace.
func runFirst(stdin io.Reader) error {
	var s settings
	if err := json.NewDecoder(stdin).Decode(&s); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if err := unix.Sethostname([]byte(s.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	if err := s.mount(); err != nil {
		return err
	}
	if err := writeFiles(s.Files); err != nil {
		return err
	}
	if err := protect(); err != nil {
		return err
	}
	orphans := make(chan os.Signal, 1)
	signal.Notify(orphans, syscall.SIGCHLD)
	if err := startSSHD(); err != nil {
		return err
	}
	go func() { // ends with the process
		for range orphans {
			reap()
		}
	}()
	_, err := io.Copy(io.Discard, stdin)
	return err
}

// startSSHD starts sshd without waiting for it, since reap does, and for its
// children alike.
func startSSHD() error {
	path, err := exec.LookPath("sshd")
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	sshd, err := os.StartProcess(path, []string{path, "-D", "-e", "-f", sshdConfig}, &os.ProcAttr{
		Dir:   "/",
		Env:   os.Environ(),
		Files: []*os.File{null, null, os.Stderr},
	})
	if err != nil {
		return err
	}
	return sshd.Release()
}

// reap waits for all children that have ended. Several ends may come as one
// signal.
func reap() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}
