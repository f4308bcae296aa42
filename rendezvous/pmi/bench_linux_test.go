package pmi_test

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPutBarrierGet is what ranks do to meet: each puts a value, comes to
// the barrier, and gets that of another. cpu-ns/rank is the processor time of
// clients and servers for each rank; divided by the logarithm of their number it
// stays the same, or falls, where the whole grows no worse than N log N. Elapsed
// time would tell of a machine's other work too.
//
// With several hosts, all of them are in this one process, and each takes in
// what all ranks put; so that part grows with the number of hosts.
func BenchmarkPutBarrierGet(b *testing.B) {
	for _, hosts := range []int{1, 8} {
		for ranks := 64; ranks <= 2048; ranks *= 2 {
			b.Run(fmt.Sprintf("hosts=%d/ranks=%d", hosts, ranks), func(b *testing.B) {
				perHost := make([]int, hosts)
				for i := range perHost {
					perHost[i] = ranks / hosts
				}
				w := newWorld(b, perHost...)
				clients := make([]*client, ranks)
				for rank := range clients {
					clients[rank] = w.initialized(rank)
				}
				rounds := 0
				began := processorTime(b)
				for b.Loop() {
					rounds++
					all := func(ask func(rank int) string, want func(rank int) string) {
						for rank, c := range clients {
							c.send(ask(rank) + "\n")
						}
						for rank, c := range clients {
							answer, err := c.in.ReadString('\n')
							require.NoError(b, err)
							if !strings.Contains(answer, want(rank)) {
								require.Contains(b, answer, want(rank))
							}
						}
					}
					value := func(rank int) string { return fmt.Sprint(rounds, "-", rank) }
					other := func(rank int) int { return (rank + ranks/2) % ranks }
					all(func(rank int) string {
						return fmt.Sprint("cmd=put kvsname=kvs_job key=key", rank, " value=", value(rank))
					},
						func(int) string { return "rc=0" })
					all(func(int) string { return "cmd=barrier_in" }, func(int) string { return "cmd=barrier_out" })
					all(func(rank int) string { return fmt.Sprint("cmd=get kvsname=kvs_job key=key", other(rank)) },
						func(rank int) string { return "value=" + value(other(rank)) })
				}
				each := float64(processorTime(b)-began) / float64(rounds*ranks)
				b.ReportMetric(each, "cpu-ns/rank")
				b.ReportMetric(each/math.Log2(float64(ranks)), "cpu-ns/rank/log2N")
			})
		}
	}
}

// processorTime returns what this process has used, in nanoseconds.
func processorTime(b *testing.B) int64 {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return used.Utime.Nano() + used.Stime.Nano()
}
