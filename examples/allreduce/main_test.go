package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain runs the program in the copies of the test binary that the tests
// start.
func TestMain(m *testing.M) {
	if os.Getenv("EXAMPLE_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		want string // part of what is printed
	}{
		{"alone", []string{"-n", "10", "-iters", "1"}, 0, "1 ranks added 10 elements: "},
		{"help", []string{"-h"}, 0, "usage: allreduce [-n elements] [-iters times]\n"},
		{"an argument", []string{"-n", "10", "x"}, 2, "usage: allreduce "},
		{"no elements", []string{"-n", "0"}, 2, "expected -n from 1 to 1073741824"},
		{"more than fit", []string{"-n", "99999999999999"}, 2, "found 99999999999999 and 10"},
		{"more than a number can be", []string{"-n", "99999999999999999999"}, 2, "invalid value"},
		{"no time", []string{"-iters", "0"}, 2, "-iters of at least 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.Command(self, test.args...)
			cmd.Env = []string{"EXAMPLE_MAIN=1", "GORACE=atexit_sleep_ms=0"} // alone, of whatever launcher
			printed, _ := cmd.CombinedOutput()                               // the exit status says it
			require.Equal(t, test.code, cmd.ProcessState.ExitCode(), "%s", printed)
			require.Contains(t, string(printed), test.want)
		})
	}
}
