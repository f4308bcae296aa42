// Launch measures how long it takes to start a job that does nothing and to
// see it end, beside other launchers on the same machine in the same run.
//
//	go run ./bench/launch -np 16,64,256 -pairs 15
//	go run ./bench/launch -hostfile hosts -ppn 4
//
// On one host the peers are MPICH's mpiexec.hydra, Open MPI's mpirun, and a loop
// in C that forks, executes and waits, which is the floor. With a hostfile they
// are Hydra over ssh and one ssh client for each host, all at once. A peer that
// is not installed is left out, and said so.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/gorun/gorun/bench/internal/contest"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("launch: ")
	var (
		sizes    = flag.String("np", "16,64,256", "numbers of `ranks` on this host, with commas between")
		pairs    = flag.Int("pairs", 15, "measured `rounds`")
		binary   = flag.String("gorun", "", "`path` of the gorun to measure; built if not given")
		hostfile = flag.String("hostfile", "", "measure on the hosts of this `file` instead")
		ppn      = flag.Int("ppn", 4, "`ranks` on each host of the hostfile")
		config   = flag.String("F", "", "ssh_config `file` for logging in to the hosts")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "launch")
	if err != nil {
		log.Fatal(err)
	}
	err = func() error {
		defer os.RemoveAll(dir)
		gorun, err := contest.Gorun(ctx, *binary, dir)
		if err != nil {
			return err
		}
		if *hostfile != "" {
			contenders, err := overSSH(dir, gorun, *hostfile, *ppn, *config)
			if err != nil {
				return err
			}
			return contest.Compare(ctx, os.Stdout, fmt.Sprintf("%s, %d ranks each", *hostfile, *ppn), contenders, *pairs)
		}
		for size := range strings.SplitSeq(*sizes, ",") {
			n, err := strconv.Atoi(size)
			if err != nil || n < 1 {
				return fmt.Errorf("-np: expected numbers of ranks, found %q", size)
			}
			contenders, err := onThisHost(ctx, dir, gorun, n)
			if err != nil {
				return err
			}
			if err := contest.Compare(ctx, os.Stdout, fmt.Sprintf("%d ranks on this host", n), contenders, *pairs); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		log.Fatal(err)
	}
}
