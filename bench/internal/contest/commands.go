package contest

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Commands returns a contender that runs all commands at once and waits for
// them. Each is a program and its arguments.
func Commands(name string, commands ...[]string) Contender {
	return Contender{name, func(ctx context.Context) (Cost, error) { return runAll(ctx, commands) }}
}

func runAll(ctx context.Context, commands [][]string) (Cost, error) {
	var total Cost
	var running []*Command
	var failed error
	start := time.Now()
	for _, argv := range commands {
		cmd := NewCommand(ctx, argv)
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

// Command is a program that leads a process group.
type Command struct {
	*exec.Cmd
	ctx context.Context
}

// grace is how long a group that is told to end may take. Launchers of ranks in
// groups of their own need it to end those.
const grace = 5 * time.Second

// NewCommand returns a command, of a program and its arguments, that is told to
// end when ctx does: TERM to its group, and later KILL.
func NewCommand(ctx context.Context, argv []string) *Command {
	c := &Command{exec.CommandContext(ctx, argv[0], argv[1:]...), ctx}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = grace
	return c
}

// Wait waits for the program, and kills what a command that was told to end has
// left of its group.
func (c *Command) Wait() error {
	err := c.Cmd.Wait()
	if c.ctx.Err() != nil {
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
	return err
}
