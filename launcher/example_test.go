package launcher_test

import (
	"context"
	"fmt"
	"os"

	"github.com/gorun/gorun/launcher"
)

// A program that starts ranks names the gorun binary that serves as agent.
func Example() {
	agent, err := os.Executable() // the tests' own binary is one
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := launcher.Run(context.Background(), &launcher.Job{
		Apps:    []launcher.App{{Args: []string{"sh", "-c", "exit $GORUN_RANK"}, Ranks: 2}},
		Streams: launcher.Streams{Stdout: os.Stdout, Stderr: os.Stderr},
		Agent:   agent,
	})
	fmt.Println(result.First.Rank, err != nil, launcher.ExitStatus(err))
	// Output: 1 true 1
}
