package cause

import "strings"

// OfStep returns what Slurm's daemon said when it ended the step in which an
// agent ran, for a job that was cancelled, over its time or preempted; "" if it
// did not. said is what came on the step's standard error, where the daemon
// writes a line such as
//
//	slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-31T12:00:00 DUE TO TIME LIMIT ***
func OfStep(said string) string {
	for line := range strings.Lines(said) {
		_, verdict, ok := strings.Cut(line, "error: *** ")
		if verdict, _, closed := strings.Cut(verdict, " ***"); ok && closed && strings.Contains(verdict, " CANCELLED AT ") {
			return "Slurm: " + verdict
		}
	}
	return ""
}
