package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gorun/gorun/hostfiles"
)

// contender is one way to start the ranks. All its commands run at once.
type contender struct {
	name     string
	commands [][]string
}

//go:embed forkloop/forkloop.c
var forkLoop string

// findGorun returns the binary to measure, built as it ships unless one is
// given.
func findGorun(ctx context.Context, binary, dir string) (string, error) {
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

// onThisHost returns the contenders for n ranks here. The first is gorun.
func onThisHost(ctx context.Context, dir, gorun string, n int) ([]contender, error) {
	ranks := strconv.Itoa(n)
	contenders := []contender{{name: "gorun", commands: [][]string{{gorun, "-q", "-np", ranks, "true"}}}}
	if hydra, err := exec.LookPath("mpiexec.hydra"); err == nil {
		contenders = append(contenders, contender{name: "hydra", commands: [][]string{{hydra, "-n", ranks, "true"}}})
	} else {
		log.Print("mpiexec.hydra is not installed and left out")
	}
	if cc, err := exec.LookPath("cc"); err == nil {
		source, loop := filepath.Join(dir, "forkloop.c"), filepath.Join(dir, "forkloop")
		if err := os.WriteFile(source, []byte(forkLoop), 0o600); err != nil {
			return nil, err
		}
		if out, err := exec.CommandContext(ctx, cc, "-O2", "-o", loop, source).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cc: %w\n%s", err, out)
		}
		contenders = append(contenders, contender{name: "fork loop", commands: [][]string{{loop, ranks, "true"}}})
	} else {
		log.Print("cc is not installed; the fork loop is left out")
	}
	return contenders, nil
}

// overSSH returns the contenders for ppn ranks on each host of a hostfile.
func overSSH(dir, gorun, hostfile string, ppn int, config string) ([]contender, error) {
	hosts, err := hostfiles.ReadFile(hostfile)
	if err != nil {
		return nil, err
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return nil, err
	}
	client := []string{ssh, "-o", "BatchMode=yes"}
	command := []string{gorun, "-q", "-hostfile", hostfile, "-ppn", strconv.Itoa(ppn)}
	if config != "" {
		client = append(client, "-F", config)
		command = append(command, "-F", config)
	}
	contenders := []contender{{name: "gorun", commands: [][]string{append(command, "true")}}}

	var machines strings.Builder
	parallel := contender{name: "parallel ssh"}
	for _, h := range hosts {
		fmt.Fprintf(&machines, "%s:%d\n", h.Name, ppn)
		login := append([]string{}, client...)
		if h.Port != 0 {
			login = append(login, "-p", strconv.Itoa(h.Port))
		}
		if h.User != "" {
			login = append(login, "-l", h.User)
		}
		parallel.commands = append(parallel.commands, append(login, h.Name, "true"))
	}
	if hydra, err := exec.LookPath("mpiexec.hydra"); err == nil {
		file := filepath.Join(dir, "machines")
		if err := os.WriteFile(file, []byte(machines.String()), 0o600); err != nil {
			return nil, err
		}
		// Hydra hands its launcher program the host and the command, nothing
		// of its own; ports and users must come from the ssh_config.
		login := filepath.Join(dir, "login")
		script := "#!/bin/sh\nexec '" + strings.Join(client, "' '") + "' \"$@\"\n"
		if err := os.WriteFile(login, []byte(script), 0o700); err != nil {
			return nil, err
		}
		contenders = append(contenders, contender{name: "hydra", commands: [][]string{{
			hydra, "-launcher", "ssh", "-launcher-exec", login, "-f", file, "-n", strconv.Itoa(ppn * len(hosts)), "true",
		}}})
	} else {
		log.Print("mpiexec.hydra is not installed and left out")
	}
	return append(contenders, parallel), nil
}
