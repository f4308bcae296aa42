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
		{"alone", nil, 0, "hello from rank 0 of 1 on "},
		{"help", []string{"-h"}, 0, "usage: hello\n"},
		{"unknown flag", []string{"--bogus", "x"}, 2, "-bogus\nusage: hello\n"},
		{"an argument", []string{"x"}, 2, "usage: hello\n"},
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
