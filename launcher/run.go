package launcher

import (
	"context"
	"fmt"
	"time"
)

// Run blocks until the job has ended and nothing of it is left, or until what
// is left was named in a warning. The end of ctx is TERM to every rank, grace,
// KILL.
//
// The Result is never nil. The error is nil if all ranks ended with 0, else a
// *PlanError, *HostError, *StartError, *DifferenceError, *ExitError, *JoinError,
// *SignalError, ErrTimeout, which may be in an *UnreachedError, or ctx's cause.
func Run(ctx context.Context, job *Job) (*Result, error) {
	p, err := prepare(job)
	result := &Result{Job: p.id}
	if err == nil {
		err = p.run(ctx, result)
	}
	result.Elapsed, result.Status = time.Since(p.began), ExitStatus(err)
	p.event(Event{Kind: Ended, Attempt: result.Restarts, Rank: -1, Message: fmt.Sprintf("after %v with status %d", result.Elapsed.Round(time.Millisecond), result.Status)})
	return result, err
}

// run makes attempts until one succeeds, or fails in a way that another would
// not change, or Job.Restarts were made. Each has agents, a key and a cluster of
// its own; the job's id, its size and its time limit stay.
func (p *prepared) run(ctx context.Context, result *Result) error {
	defer p.reacher.close()
	for number := 0; ; number++ {
		a := &attempt{prepared: p, number: number}
		err := a.run(ctx, result)
		if number == p.job.Restarts || !a.mayRestart(err) || ctx.Err() != nil {
			return err
		}
		result.Restarts++
		a.restarting(err, result.Restarts)
		if err := p.hold(ctx, restartDelay(result.Restarts)); err != nil {
			return err
		}
	}
}
