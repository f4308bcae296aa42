// Package verdict decides what a job has failed of: who failed first, and why.
// A [Verdict] takes what became known of an attempt, one [Fact] after the other,
// and says when the ranks are to be stopped. It does no I/O and reads no clock.
//
// # Who was first
//
// Ranks' ends are ordered by the clocks of their hosts, not by when the launcher
// heard of them: of all facts this is the one that comes late. What the launcher
// itself decides or sees, such as a signal, a time limit or a lost host, is a
// fact when it takes it, since that is what it acts on.
//
// The first failure decides, and stops the job. After that nothing counts but
// the ends of ranks that were under way to the launcher: a rank that its agent
// had told to end is not to blame for how it did. A job that is to continue is
// not stopped by the failure of a rank or a host; what stops it all the same
// has decided it.
package verdict

// Fact is something that bears on how a job ends: [Exit], [Loss], [End],
// [AllEnded] or [OutputLost].
type Fact interface{ fact() }

// Loss is a host that is lost, which Why tells. It stops a job that is not to
// continue.
type Loss struct{ Why error }

// End is what ends a job whether or not it is to continue: a signal, a time
// limit, a program that cannot be started, ranks that would wait for ever.
type End struct{ Why error }

// AllEnded is that no rank runs any more. What comes later cannot have been the
// reason.
type AllEnded struct{}

// OutputLost is that output of ranks could not be written. It makes a failure
// even of a job that has ended well.
type OutputLost struct{ Why error }

func (Exit) fact()       {}
func (Loss) fact()       {}
func (End) fact()        {}
func (AllEnded) fact()   {}
func (OutputLost) fact() {}

// Verdict is what is known of how an attempt at a job ends. The zero Verdict is
// that of one that nothing has happened to.
type Verdict struct {
	Continue bool // the failure of a rank or a host does not stop the job

	decided  bool   // nothing counts any more but ranks' ends
	reason   error  // what stopped the job, if not a rank
	lost     error  // of a job that continues: the host that was lost before any rank failed
	failures []Exit // of ranks by themselves
}

// Take notes a fact and says whether it stops the ranks, if they were not stopped
// yet. AllEnded has none to stop, and OutputLost leaves it to who gives up the output
// whether they are.
func (v *Verdict) Take(f Fact) (stop bool) {
	switch f := f.(type) {
	case Exit:
		if !f.Failed() {
			return false
		}
		v.failures = append(v.failures, f)
		v.decided = v.decided || !v.Continue
		return !v.Continue
	case Loss:
		if !v.Continue {
			v.decide(f.Why)
			return true
		}
		if !v.decided && v.lost == nil && len(v.failures) == 0 {
			v.lost = f.Why
		}
		return false
	case AllEnded:
		v.decided = true
		return false
	case OutputLost:
		v.decide(f.Why)
		if v.Reason() == nil && len(v.failures) == 0 {
			v.reason = f.Why
		}
		return false
	case End:
		v.decide(f.Why)
	}
	return true
}

func (v *Verdict) decide(why error) {
	if !v.decided {
		v.decided, v.reason = true, why
	}
}

// Reason is what the job has failed of, nil if of a rank, which First is then,
// or of nothing.
func (v *Verdict) Reason() error {
	if v.reason != nil {
		return v.reason
	}
	return v.lost
}

// First returns the rank whose failure decided; false if none did.
func (v *Verdict) First() (rank int, ok bool) {
	if v.Reason() != nil || len(v.failures) == 0 {
		return 0, false
	}
	return first(v.failures).Rank, true
}
