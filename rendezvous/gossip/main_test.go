package gossip_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Memberlist does not wait for its goroutines: one that probes ends with the
// probe's time-out, up to a second after Close.
func TestMain(m *testing.M) {
	if key := os.Getenv(rankKey); key != "" {
		if err := beRank(key); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if code == 0 {
		var err error
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			if err = goleak.Find(); err == nil { // waits between its looks
				break
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
