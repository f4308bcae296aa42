package stdio_test

import (
	"fmt"
	"os"
	"time"

	"github.com/gorun/gorun/launcher/stdio"
)

func ExampleMerger() {
	tag, err := stdio.ParseTag(stdio.HostRank)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: []stdio.Rank{{Host: "node1"}, {Host: "node2"}}, Stdin: -1, Tag: tag})

	write := func(pieces []stdio.Piece) {
		for _, p := range pieces {
			os.Stdout.Write(p.Data) // or standard error, as p.Stream says
		}
	}
	now := time.Now()
	write(m.Add(now, stdio.Chunk{Rank: 0, Data: []byte("loss ")}))
	write(m.Add(now, stdio.Chunk{Rank: 1, Data: []byte("loss 0.25\n")}))
	write(m.Add(now, stdio.Chunk{Rank: 0, Data: []byte("0.5\n")}))
	// Output:
	// node2:1| loss 0.25
	// node1:0| loss 0.5
}

func ExampleTail() {
	var tail stdio.Tail
	fmt.Fprintln(&tail, "Traceback (most recent call last):")
	fmt.Fprintln(&tail, "RuntimeError: out of memory")
	fmt.Printf("%s", tail.Bytes())
	// Output:
	// Traceback (most recent call last):
	// RuntimeError: out of memory
}
