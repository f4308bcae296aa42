package contest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inRounds returns a contender that does something else in some of its runs.
func inRounds(name string, wall time.Duration, other func(ctx context.Context) error, rounds ...int) Contender {
	round := -1
	return Contender{name, func(ctx context.Context) (Cost, error) {
		round++ // 0: the one that fills caches
		for _, r := range rounds {
			if r == round {
				return Cost{}, other(ctx)
			}
		}
		return Cost{Wall: wall}, nil
	}}
}

func hang(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func fail(context.Context) error { return errors.New("exit status 1") }

func TestRunsThatHangOrFailAreLeftOut(t *testing.T) {
	var out strings.Builder
	err := compare(t.Context(), &out, "work", []Contender{
		inRounds("first", time.Millisecond, fail, 2),
		inRounds("steady", 2*time.Millisecond, nil),
		inRounds("hangs once", 4*time.Millisecond, hang, 3),
		inRounds("fails mostly", 4*time.Millisecond, fail, 0, 1, 3, 4, 5),
		inRounds("hangs always", 4*time.Millisecond, hang, 0, 1, 2, 3, 4, 5),
	}, 5, 20*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, []string{
		"fails mostly: exit status 1, left out of round 0",
		"hangs always: no end within 20ms, left out of round 0",
		"fails mostly: exit status 1, left out of round 1",
		"hangs always: no end within 20ms, left out of round 1",
		"hangs always: no end within 20ms, left out of round 2",
		"first: exit status 1, left out of round 2",
		"fails mostly: exit status 1, left out of round 3",
		"hangs once: no end within 20ms, left out of round 3",
		"work, 5 rounds  median time  CPU time  first : it  90 % interval",
		"first           1.0 ms       ",
		"steady          2.0 ms         0.50  0.50 – 0.50",
		"hangs once      4.0 ms         0.25  0.25 – 0.25",
		"fails mostly    failed in more than half of its rounds",
		"hangs always    failed in more than half of its rounds",
		"",
	}, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"))
}

func TestAnInterruptEndsTheComparison(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := func(context.Context) error { cancel(); return errors.New("killed") }
	var out strings.Builder
	err := Compare(ctx, &out, "work", []Contender{inRounds("first", 0, interrupted, 1)}, 5)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, out.String())
}

func TestACommandThatHangsEndsWithItsGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := NewCommand(ctx, []string{"sh", "-c", "trap '' TERM; sleep 600 & trap exit TERM; echo; wait"})
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout = write
	require.NoError(t, cmd.Start())
	require.NoError(t, write.Close())
	out := bufio.NewReader(read)
	_, err = out.ReadString('\n')
	require.NoError(t, err)
	cancel()
	require.Error(t, cmd.Wait())
	_, err = out.ReadByte()
	require.ErrorIs(t, err, io.EOF) // sleep, which ignores TERM, has it open no more
}
