package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"text/tabwriter"
	"time"
)

// cost is what one run took.
type cost struct{ wall, cpu time.Duration }

// compare measures all contenders in interleaved rounds and prints them, the
// first one's ratio to each of the others beside it.
func compare(ctx context.Context, title string, contenders []contender, rounds int) error {
	costs := make([][]cost, len(contenders))
	for round := -1; round < rounds; round++ { // round -1 fills caches
		for k := range contenders {
			i := (k + round + 1) % len(contenders)
			c, err := contenders[i].run(ctx)
			if err != nil {
				return err
			}
			if round >= 0 {
				costs[i] = append(costs[i], c)
			}
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %d rounds\tmedian time\tCPU time\t%s : it\t90 %% interval\n", title, rounds, contenders[0].name)
	for i, c := range contenders {
		walls, cpus, ratios := make([]float64, rounds), make([]float64, rounds), make([]float64, rounds)
		for r, cost := range costs[i] {
			walls[r], cpus[r] = cost.wall.Seconds(), cost.cpu.Seconds()
			ratios[r] = costs[0][r].wall.Seconds() / walls[r]
		}
		wall, _, _ := median(walls)
		cpu, _, _ := median(cpus)
		fmt.Fprintf(w, "%s\t%.1f ms\t%.1f ms", c.name, wall*1e3, cpu*1e3)
		if i > 0 {
			ratio, low, high := median(ratios)
			fmt.Fprintf(w, "\t%.2f\t%.2f – %.2f", ratio, low, high)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// run runs all the contender's commands at once and waits for them.
func (c *contender) run(ctx context.Context) (cost, error) {
	var total cost
	var running []*exec.Cmd
	var failed error
	start := time.Now()
	for _, argv := range c.commands {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stderr = os.Stderr
		if failed = cmd.Start(); failed != nil {
			break
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil && failed == nil {
			failed = err
		}
		total.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	total.wall = time.Since(start)
	if failed != nil {
		return cost{}, fmt.Errorf("%s: %w", c.name, failed)
	}
	return total, nil
}
