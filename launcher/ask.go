package launcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorun/gorun/launcher/wire"
)

// answerLimit bounds how long an agent that is asked something may take in all,
// probes, which have a limit of their own below it, included.
const answerLimit = 10 * time.Second

// ask blocks for the answer of an agent that is not told yet of the job.
func ask[Answer wire.Message](ctx context.Context, h *host, question wire.Message) (answer Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { h.conn.Close() })()
	if err = h.conn.Send(question); err == nil {
		var m wire.Message
		if m, err = h.conn.Receive(); err == nil {
			var ok bool
			if answer, ok = m.(Answer); !ok {
				err = fmt.Errorf("unexpected answer %T of the agent to %T", m, question)
			}
		}
	}
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		err = fmt.Errorf("no answer to %T within %v", question, answerLimit)
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	default:
		err = streamError(h, err)
	}
	return answer, &HostError{Host: h.name, Step: "agent", Err: err}
}
