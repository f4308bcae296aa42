//go:build linux

package agent

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/wire"
)

// Without these nothing tells a stopped job that its launcher's host died.
func TestBeatsGoOnInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		a := &agent{conn: wire.NewConn(ours), began: time.Now(), start: &share{Start: &wire.Start{Timeout: int64(10 * time.Second)}}}
		a.pausing.since = time.Now()
		a.ctx, a.cancel = context.WithCancelCause(t.Context())
		a.wg.Go(a.keepLease)
		launcher := wire.NewConn(theirs)
		defer func() {
			a.cancel(nil)
			a.wg.Wait()
			launcher.Close()
			a.conn.Close()
		}()
		time.Sleep(24 * time.Hour) // it reads nothing, and the beats do not pile up
		for range 3 {
			m, err := launcher.Receive()
			require.NoError(t, err)
			require.IsType(t, &wire.Heartbeat{}, m)
		}
		require.Greater(t, time.Since(a.began), 24*time.Hour, "the third is a new one")
		require.NoError(t, a.ctx.Err(), "a pause takes as long as it takes")
	})
}
