package rendezvous_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gorun/gorun/rendezvous"
)

// Rank 0 decides something that all ranks must know.
func ExampleOpen() {
	ctx := context.Background()
	job, err := rendezvous.Open(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer job.Close()
	if job.Rank() == 0 {
		if err := job.Put(ctx, "seed", []byte("42")); err != nil {
			log.Fatal(err)
		}
	}
	seed, err := job.Get(ctx, "seed")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("seed %s\n", seed)
	// Output: seed 42
}

// A test plays all ranks of a job by itself.
func ExampleLocal() {
	jobs := rendezvous.Local(2)
	go jobs[1].Put(context.Background(), "address", []byte("127.0.0.1:4000"))
	address, err := jobs[0].Get(context.Background(), "address")
	fmt.Printf("%s %v\n", address, err)
	// Output: 127.0.0.1:4000 <nil>
}
