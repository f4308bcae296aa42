// Running measures what a job costs while it runs and how fast it is gone,
// beside other launchers on the same machine in the same run.
//
//	go run ./bench/running -np 8 -pairs 15
//
// The job's ranks sleep. Two tables come of it: the resident memory of all
// processes of the launcher that are not ranks, and the time from an INT to the
// launcher until it has ended and no rank is left. A rank that is left after
// its launcher is an error.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"

	"github.com/gorun/gorun/bench/internal/contest"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("running: ")
	var (
		ranks  = flag.Int("np", 8, "number of `ranks`")
		pairs  = flag.Int("pairs", 15, "measured `rounds`")
		binary = flag.String("gorun", "", "`path` of the gorun to measure; built if not given")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "running")
	if err != nil {
		log.Fatal(err)
	}
	err = measure(ctx, dir, *binary, *ranks, *pairs)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}

func measure(ctx context.Context, dir, binary string, ranks, pairs int) error {
	gorun, err := contest.Gorun(ctx, binary, dir)
	if err != nil {
		return err
	}
	launchers := []launcher{{"gorun", []string{gorun, "-q"}}}
	if hydra := contest.Hydra(); hydra != "" {
		launchers = append(launchers, launcher{"hydra", []string{hydra}})
	}
	if mpirun := contest.OpenMPI(); mpirun != nil {
		launchers = append(launchers, launcher{"open mpi", mpirun})
	}
	var contenders []contest.Contender
	for _, l := range launchers {
		pages, err := l.memory(ctx, ranks)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		fmt.Printf("%-10s %d ranks: %s\n", l.name, ranks, pages)
		contenders = append(contenders, contest.Contender{Name: l.name, Run: func(ctx context.Context) (contest.Cost, error) {
			return l.stop(ctx, ranks)
		}})
	}
	fmt.Println()
	return contest.Compare(ctx, os.Stdout, "INT to "+strconv.Itoa(ranks)+" ranks gone", contenders, pairs)
}
