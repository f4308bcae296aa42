package nccl_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gorun/gorun/nccl"
)

// A program does this once, and gorun runs it on every rank. Alone it is a world of one.
func Example() {
	ctx := context.Background()
	comm, err := nccl.Init(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer comm.Close()

	x := []float32{1, 2, float32(comm.Rank())}
	nccl.AllReduce(comm, nccl.Of(x), nccl.Of(x), nccl.Sum)
	if err := comm.Wait(ctx); err != nil { // reports a refused call too
		log.Fatal(err)
	}
	fmt.Println(x)
	// Output: [1 2 0]
}

// One goroutine drives the ranks of InitAll: calls only enqueue.
func ExampleInitAll() {
	ctx := context.Background()
	comms, err := nccl.InitAll(ctx, 3, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer comms.Close()

	all := make([][]int32, len(comms))
	err = comms.Group(func(i int, c *nccl.Comm) error {
		all[i] = make([]int32, len(comms))
		return nccl.AllGather(c, nccl.Of(all[i]), nccl.Of([]int32{int32(10 * c.Rank())}))
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := comms.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(all)
	// Output: [[0 10 20] [0 10 20] [0 10 20]]
}

// A second stream reduces one half while the first computes the next.
func ExampleStream() {
	ctx := context.Background()
	comm, err := nccl.Init(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer comm.Close()
	side, err := comm.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer side.Close()

	grads := make([]float64, 4)
	compute, reduce := comm.Stream(), comm.On(side)
	for half := range 2 {
		part := grads[2*half : 2*half+2]
		compute.Call(func() { part[0], part[1] = float64(half), 1 })
		side.After(compute)
		nccl.AllReduce(reduce, nccl.Of(part), nccl.Of(part), nccl.Avg)
	}
	compute.After(side)
	if err := comm.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(grads)
	// Output: [0 1 1 1]
}
