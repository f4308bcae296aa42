// Package contest measures programs beside others on the same machine in the
// same run.
//
// Rounds are interleaved: every round runs each [Contender] once, in an order
// that rotates, and ratios are taken within a round, so that what slows the
// machine for a while slows all of them. What is printed is the median of the
// ratios with the interval that holds the true median with a probability of at
// least 90 %. A bar is missed only if the whole interval lies beyond it.
package contest

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Contender is one way to do the work that is measured.
type Contender struct {
	Name string
	Run  func(ctx context.Context) (Cost, error) // does it once
}

// Cost is what one run took.
type Cost struct {
	Wall time.Duration
	CPU  time.Duration // of all processes that were waited for; 0: not known
}

// Compare runs so many rounds after one that fills caches, and writes what
// each contender took, with the ratio of the first one's time to its own. The
// first error ends it.
func Compare(ctx context.Context, w io.Writer, title string, contenders []Contender, rounds int) error {
	costs := make([][]Cost, len(contenders))
	for round := -1; round < rounds; round++ {
		for k := range contenders {
			i := (k + round + 1) % len(contenders)
			cost, err := contenders[i].Run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", contenders[i].Name, err)
			}
			if round >= 0 {
				costs[i] = append(costs[i], cost)
			}
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s, %d rounds\tmedian time\tCPU time\t%s : it\t90 %% interval\n", title, rounds, contenders[0].Name)
	for i, c := range contenders {
		walls, cpus, ratios := make([]float64, rounds), make([]float64, rounds), make([]float64, rounds)
		for r, cost := range costs[i] {
			walls[r], cpus[r] = cost.Wall.Seconds(), cost.CPU.Seconds()
			ratios[r] = costs[0][r].Wall.Seconds() / walls[r]
		}
		wall, _, _ := Median(walls)
		cpu, _, _ := Median(cpus)
		fmt.Fprintf(t, "%s\t%.1f ms\t", c.Name, wall*1e3)
		if cpu > 0 {
			fmt.Fprintf(t, "%.1f ms", cpu*1e3)
		}
		if i > 0 {
			ratio, low, high := Median(ratios)
			fmt.Fprintf(t, "\t%.2f\t%.2f – %.2f", ratio, low, high)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t)
	return t.Flush()
}
