//go:build linux

package agent

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/wire"
)

func TestOpenMPITellsItsVersionByTheNameOfItsFile(t *testing.T) {
	for file, want := range map[string]bool{
		"":                                    false, // not found
		"/usr/lib/libmpi.so.40":               false,
		"/usr/lib/libmpi.so.40.10.4":          false, // 3.1
		"/usr/lib/libmpi.so.40.30.4":          false, // 4.1
		"/opt/openmpi5/lib/libmpi.so.40.40.6": true,
	} {
		require.Equal(t, want, isOpenMPI5(file), "%q", file)
	}
}

func TestOpenMPIKeepsEveryBitOfAJobsNumber(t *testing.T) {
	numbers := map[uint64]bool{}
	for attempt := range 100 {
		n := fluxJob(&share{Start: &wire.Start{Job: fmt.Sprint(attempt), Attempt: attempt}})
		require.Zero(t, n&^0x7fff7fff)
		numbers[n] = true
	}
	require.Len(t, numbers, 100)
}
