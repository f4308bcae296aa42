// Hello says who it is: under gorun, mpirun, srun, torchrun, or alone.
//
//	gorun -np 4 ./hello
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/gorun/gorun/rankenv"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: hello") }
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	w, err := rankenv.Current()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("hello from rank %d of %d on %s\n", w.Rank, w.Size, w.Host)
}
