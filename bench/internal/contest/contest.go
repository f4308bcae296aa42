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
	"strings"
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

// limit is how long one run may take. A launcher that hangs once in a while would
// otherwise hang the whole comparison.
const limit = time.Minute

// Compare runs so many rounds after one that fills caches, and writes what
// each contender took, with the ratio of the first one's time to its own. A run
// that fails or takes longer than a minute is left out of its round, and a
// contender of more than half of whose rounds that holds is not run again and
// has no median. The error is that of ctx, or of writing.
func Compare(ctx context.Context, w io.Writer, title string, contenders []Contender, rounds int) error {
	return compare(ctx, w, title, contenders, rounds, limit)
}

func compare(ctx context.Context, w io.Writer, title string, contenders []Contender, rounds int, limit time.Duration) error {
	results := make([]result, len(contenders))
	for i := range results {
		results[i].costs = make([]*Cost, rounds)
	}
	for round := -1; round < rounds; round++ {
		for k := range contenders {
			i := (k + round + 1) % len(contenders)
			r := &results[i]
			if r.failed(rounds) {
				continue
			}
			cost, err := runOnce(ctx, contenders[i], limit)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				r.out++
				fmt.Fprintf(w, "%s: %v, left out of round %d\n", contenders[i].Name, err, round+1)
			case round >= 0:
				r.costs[round] = &cost
			}
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s, %d rounds\tmedian time\tCPU time\t%s : it\t90 %% interval\n", title, rounds, contenders[0].Name)
	for i, r := range results {
		fmt.Fprintf(t, "%s\t", contenders[i].Name)
		if r.failed(rounds) {
			fmt.Fprintln(t, "failed in more than half of its rounds")
			continue
		}
		wall, _, _ := Median(seconds(r.costs, func(c *Cost) time.Duration { return c.Wall }))
		cpu, _, _ := Median(seconds(r.costs, func(c *Cost) time.Duration { return c.CPU }))
		fmt.Fprintf(t, "%.1f ms\t", wall*1e3)
		if cpu > 0 {
			fmt.Fprintf(t, "%.1f ms", cpu*1e3)
		}
		if ratios := ratios(results[0].costs, r.costs); i > 0 && len(ratios) > 0 {
			ratio, low, high := Median(ratios)
			fmt.Fprintf(t, "\t%.2f\t%.2f – %.2f", ratio, low, high)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// result is what became of one contender.
type result struct {
	costs []*Cost // by round; nil: it was left out
	out   int     // how often it was, that before the first round included
}

func (r *result) failed(rounds int) bool { return 2*r.out > rounds }

// runOnce is one run within the limit.
func runOnce(ctx context.Context, c Contender, limit time.Duration) (Cost, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cost, err := c.Run(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("no end within %s", strings.TrimSuffix(limit.String(), "0s"))
	}
	return cost, err
}

// seconds returns a time of each round that there is.
func seconds(costs []*Cost, of func(*Cost) time.Duration) (list []float64) {
	for _, c := range costs {
		if c != nil {
			list = append(list, of(c).Seconds())
		}
	}
	return list
}

// ratios returns that of the times within each round of which both are there.
func ratios(first, other []*Cost) (list []float64) {
	for round, c := range other {
		if f := first[round]; c != nil && f != nil {
			list = append(list, f.Wall.Seconds()/c.Wall.Seconds())
		}
	}
	return list
}
