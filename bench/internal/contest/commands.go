package contest

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// Commands returns a contender that runs all commands at once and waits for
// them. Each is a program and its arguments.
func Commands(name string, commands ...[]string) Contender {
	return Contender{name, func(ctx context.Context) (Cost, error) { return runAll(ctx, commands) }}
}

func runAll(ctx context.Context, commands [][]string) (Cost, error) {
	var total Cost
	var running []*exec.Cmd
	var failed error
	start := time.Now()
	for _, argv := range commands {
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
		total.CPU += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	total.Wall = time.Since(start)
	return total, failed
}
