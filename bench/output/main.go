// Output measures how fast the output of ranks on this host comes out of their
// launcher, beside other launchers on the same machine in the same run.
//
//	go run ./bench/output -pairs 15
//
// Three things are measured. Bulk: 1 GiB of four ranks, as they come. Lines: four
// times 1,000,000 lines of 71 bytes, tagged, which are also looked at once: how
// many are damaged? Stall: the memory of the launcher while nobody reads what
// four ranks would print, 600 MB, and how much of that arrives afterwards.
//
// The reader is a pipe to this program. The ranks are this program too. Peers
// are MPICH's mpiexec.hydra and Open MPI's mpirun; one that is not installed is
// left out, and said so.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"

	"github.com/gorun/gorun/bench/internal/contest"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("output: ")
	if len(os.Args) == 4 && os.Args[1] == rankVerb {
		if err := rank(os.Args[2], os.Args[3]); err != nil {
			log.Fatal(err)
		}
		return
	}
	pairs := flag.Int("pairs", 15, "measured `rounds`")
	binary := flag.String("gorun", "", "`path` of the gorun to measure; built if not given")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "output")
	if err != nil {
		log.Fatal(err)
	}
	err = measure(ctx, dir, *binary, *pairs)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}

func measure(ctx context.Context, dir, binary string, pairs int) error {
	gorun, err := contest.Gorun(ctx, binary, dir)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	launchers := launchers(gorun)
	for _, work := range []work{
		{"1 GiB of 4 ranks", []string{self, rankVerb, "bulk", "268435456"}, false},
		{"4 × 1,000,000 tagged lines", []string{self, rankVerb, "lines", "1000000"}, true},
	} {
		var contenders []contest.Contender
		for _, l := range launchers {
			if work.tagged {
				if err := l.inspect(ctx, work); err != nil {
					return err
				}
			}
			contenders = append(contenders, l.contender(work))
		}
		if err := contest.Compare(ctx, os.Stdout, work.title, contenders, pairs); err != nil {
			return err
		}
	}
	for _, l := range launchers {
		if err := l.stall(ctx, work{"600 MB behind a stalled reader", []string{self, rankVerb, "bulk", "150000000"}, false}); err != nil {
			return err
		}
	}
	return nil
}
