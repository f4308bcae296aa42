package cause

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOfStep(t *testing.T) {
	for _, tt := range []struct{ name, said, want string }{
		{"nothing", "", ""},
		{"other errors", "srun: error: node1: task 0: Killed\n", ""},
		{"cancelled", "slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-31T12:00:00 ***\nsrun: error: n1: task 0: Killed\n",
			"Slurm: STEP 7.0 ON n1 CANCELLED AT 2026-01-31T12:00:00"},
		{"over its time", "noise\nslurmstepd: error: *** STEP 7.12 ON gpu-04 CANCELLED AT 2026-01-31T12:00:00 DUE TO TIME LIMIT ***\n",
			"Slurm: STEP 7.12 ON gpu-04 CANCELLED AT 2026-01-31T12:00:00 DUE TO TIME LIMIT"},
		{"cut off", "slurmstepd: error: *** STEP 7.12 ON gpu-04 CANCELLED AT", ""},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, OfStep(tt.said)) })
	}
}
