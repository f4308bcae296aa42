//go:build linux

package agent

import (
	"context"
	"log/slog"
	"strings"

	"github.com/gorun/gorun/launcher/wire"
)

// notices is the slog.Handler by which what a library warns of reaches the
// user: a sentence of the message and its attributes.
type notices struct{ conn *wire.Conn }

func (n notices) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (n notices) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(" " + a.String())
		return true
	})
	return n.conn.Send(&wire.Notice{Text: b.String()})
}

func (n notices) WithAttrs([]slog.Attr) slog.Handler { return n }
func (n notices) WithGroup(string) slog.Handler      { return n }
