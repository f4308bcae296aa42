package gossip

import (
	"bytes"
	"context"
	"log"
	"log/slog"
)

// memberlistLog returns a logger of memberlist's kind that writes to l. Its
// lines begin with a level in brackets. What it calls errors and warnings
// concerns single packets and connections and is tried again, so it is
// information here; what a person should know this package says itself.
func memberlistLog(l *slog.Logger) *log.Logger {
	return log.New(lineWriter{l}, "", 0)
}

type lineWriter struct{ log *slog.Logger }

func (w lineWriter) Write(line []byte) (int, error) {
	level, text := slog.LevelDebug, bytes.TrimSpace(line)
	if end := bytes.IndexByte(text, ']'); end > 0 && text[0] == '[' {
		switch string(text[1:end]) {
		case "ERR", "WARN":
			level = slog.LevelInfo
		}
		text = bytes.TrimSpace(text[end+1:])
	}
	w.log.Log(context.Background(), level, string(text))
	return len(line), nil
}
