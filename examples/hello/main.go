// Hello says who it is: under gorun, mpirun, srun, torchrun, or alone.
//
//	gorun -np 4 ./hello
package main

import (
	"fmt"
	"log"

	"github.com/gorun/gorun/rankenv"
)

func main() {
	w, err := rankenv.Current()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("hello from rank %d of %d on %s\n", w.Rank, w.Size, w.Host)
}
