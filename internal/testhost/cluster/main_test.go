//go:build linux

package cluster_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// holdVariable makes the test binary a program that holds a cluster and waits to
// be killed.
const holdVariable = "TESTHOST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdVariable) != "" {
		os.Exit(hold())
	}
	goleak.VerifyTestMain(m)
}
