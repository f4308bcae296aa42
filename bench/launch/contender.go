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

	"github.com/gorun/gorun/bench/internal/contest"
	"github.com/gorun/gorun/hostfiles"
)

//go:embed forkloop/forkloop.c
var forkLoop string

// onThisHost returns the contenders for n ranks here. The first is gorun.
func onThisHost(ctx context.Context, dir, gorun string, n int) ([]contest.Contender, error) {
	ranks := strconv.Itoa(n)
	contenders := []contest.Contender{contest.Commands("gorun", []string{gorun, "-q", "-np", ranks, "true"})}
	if hydra := contest.Hydra(); hydra != "" {
		contenders = append(contenders, contest.Commands("hydra", []string{hydra, "-n", ranks, "true"}))
	}
	if mpirun := contest.OpenMPI(); mpirun != nil {
		contenders = append(contenders, contest.Commands("open mpi", append(mpirun, "-n", ranks, "true")))
	}
	if cc, err := exec.LookPath("cc"); err == nil {
		source, loop := filepath.Join(dir, "forkloop.c"), filepath.Join(dir, "forkloop")
		if err := os.WriteFile(source, []byte(forkLoop), 0o600); err != nil {
			return nil, err
		}
		if out, err := exec.CommandContext(ctx, cc, "-O2", "-o", loop, source).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cc: %w\n%s", err, out)
		}
		contenders = append(contenders, contest.Commands("fork loop", []string{loop, ranks, "true"}))
	} else {
		log.Print("cc is not installed; the fork loop is left out")
	}
	return contenders, nil
}

// overSSH returns the contenders for ppn ranks on each host of a hostfile.
func overSSH(dir, gorun, hostfile string, ppn int, config string) ([]contest.Contender, error) {
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
	contenders := []contest.Contender{contest.Commands("gorun", append(command, "true"))}

	var machines strings.Builder
	var logins [][]string
	for _, h := range hosts {
		fmt.Fprintf(&machines, "%s:%d\n", h.Name, ppn)
		login := append([]string{}, client...)
		if h.Port != 0 {
			login = append(login, "-p", strconv.Itoa(h.Port))
		}
		if h.User != "" {
			login = append(login, "-l", h.User)
		}
		logins = append(logins, append(login, h.Name, "true"))
	}
	if hydra := contest.Hydra(); hydra != "" {
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
		contenders = append(contenders, contest.Commands("hydra", []string{
			hydra, "-launcher", "ssh", "-launcher-exec", login, "-f", file, "-n", strconv.Itoa(ppn * len(hosts)), "true",
		}))
	}
	return append(contenders, contest.Commands("parallel ssh", logins...)), nil
}
