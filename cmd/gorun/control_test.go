package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher"
)

func TestEarlySignals(t *testing.T) {
	for word, want := range map[string]launcher.EarlySignal{
		"USR1@30":     {Signal: syscall.SIGUSR1, Before: 30 * time.Second},
		"SIGUSR2@1m":  {Signal: syscall.SIGUSR2, Before: time.Minute},
		"sigint@0.5":  {Signal: syscall.SIGINT, Before: 500 * time.Millisecond},
		"15@1m30s":    {Signal: syscall.SIGTERM, Before: 90 * time.Second},
		"SIGHUP@59m1": {},
		"SIGWHAT@30":  {},
		"0@30":        {},
		"-9@30":       {},
		"1000@30":     {},
		"USR1":        {},
		"USR1@":       {},
		"USR1@0":      {},
		"USR1@-5":     {},
		"@30":         {},
		"SIG@30":      {},
	} {
		t.Run(word, func(t *testing.T) {
			c, err := parse([]string{"--timeout", "1h", "--signal", word, "./x"})
			if want == (launcher.EarlySignal{}) {
				require.ErrorContains(t, err, "how long before the end to send it, found")
				return
			}
			require.NoError(t, err)
			require.Equal(t, want, c.job.Limits.Early)
		})
	}
}

func TestControlFlags(t *testing.T) {
	c, err := parse(words("--restarts 3 --spares 2 --init-timeout 0 ./x"))
	require.NoError(t, err)
	require.Equal(t, 3, c.job.Restarts)
	require.Equal(t, 2, c.job.Spares)
	require.Negative(t, c.job.Limits.Init)
	c, err = parse(words("--on-failure continue ./x"))
	require.NoError(t, err)
	require.True(t, c.job.Continue)
	c, err = parse(words("--on-failure continue --on-failure stop ./x"))
	require.NoError(t, err)
	require.False(t, c.job.Continue)
}

func TestControlFlagsThatContradictEachOther(t *testing.T) {
	for _, test := range []struct{ name, line, msg, hint string }{
		{"a signal before no end", "--signal USR1@5 ./x", "--signal: expected --timeout beside it", "gorun --timeout 1h --signal USR1@5 ./x"},
		{"a signal before the start", "--timeout 5 --signal USR1@10 ./x", "--signal: expected less than the 5s of --timeout, found 10s", "--timeout 1h"},
		{"a failure that ends nothing", "--on-failure continue --restarts 1 ./x", "--on-failure continue and --restarts", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(words(test.line))
			usage, ok := errors.AsType[*usageError](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, usage.msg, test.msg)
			require.NotEmpty(t, usage.hints)
			require.Contains(t, strings.Join(usage.hints, "\n"), test.hint)
		})
	}
}
