// Allreduce adds a slice up over all ranks, checks every element on every rank,
// and says how fast that was:
//
//	gorun -np 4 ./allreduce -n 1000000 -iters 20
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/gorun/gorun/nccl"
)

// maxElements bounds -n, at 4 GiB for each of a rank's two slices.
const maxElements = 1 << 30

func main() {
	n := flag.Int("n", 1<<20, "elements of 4 bytes")
	iters := flag.Int("iters", 10, "all-reduces to time")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: allreduce [-n elements] [-iters times]")
		flag.PrintDefaults()
	}
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("allreduce: ")
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if *n < 1 || *n > maxElements || *iters < 1 {
		log.Printf("expected -n from 1 to %d and -iters of at least 1, found %d and %d", maxElements, *n, *iters)
		os.Exit(2)
	}
	if err := run(context.Background(), *n, *iters); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, n, iters int) error {
	comm, err := nccl.Init(ctx, nil)
	if err != nil {
		return err
	}
	defer comm.Close()

	x, sum := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = element(comm.Rank(), i)
	}
	nccl.AllReduce(comm, nccl.Of(sum), nccl.Of(x), nccl.Sum) // the first one may still set things up
	if err := comm.Barrier(ctx); err != nil {
		return err
	}
	start := time.Now()
	for range iters {
		nccl.AllReduce(comm, nccl.Of(sum), nccl.Of(x), nccl.Sum)
		if err := comm.Wait(ctx); err != nil {
			return err
		}
	}
	each := time.Since(start) / time.Duration(iters)

	if err := check(sum, comm.Size()); err != nil {
		return fmt.Errorf("rank %d: %w", comm.Rank(), err)
	}
	// Rank 0 speaks for all: the barrier comes after everyone's check.
	if err := comm.Barrier(ctx); err != nil {
		return err
	}
	if comm.Rank() == 0 {
		fmt.Printf("%d ranks added %d elements: %v, bus bandwidth %.2f GB/s\n", comm.Size(), n, each, busBandwidth(n, comm.Size(), each))
	}
	return comm.Close()
}

// element is what a rank has at index i: small whole numbers, so that float32 adds
// them exactly in any order.
func element(rank, i int) float32 { return float32((rank + 1) * (i%7 + 1)) }

// check compares every element with the sum over size ranks.
func check(sum []float32, size int) error {
	for i, got := range sum {
		if want := float32(size*(size+1)/2) * element(0, i); got != want {
			return fmt.Errorf("element %d is %v, want %v", i, got, want)
		}
	}
	return nil
}

// busBandwidth is what each link carried, in 10⁹ bytes a second: a ring moves
// 2(n−1)/n of the data over each.
func busBandwidth(n, size int, each time.Duration) float64 {
	bytes := 4 * float64(n) * 2 * float64(size-1) / float64(size)
	return bytes / each.Seconds() / 1e9
}
