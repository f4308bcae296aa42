package stdio_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/gorun/gorun/launcher/stdio"
)

// BenchmarkMerger feeds chunks of 32 KiB of four ranks in turn, as agents send
// them: lines do not end where chunks do.
func BenchmarkMerger(b *testing.B) {
	line := append(bytes.Repeat([]byte("x"), 70), '\n')
	benchmarks := map[string]struct {
		line []byte
		tag  string
	}{
		"lines":        {line, ""},
		"tagged lines": {line, stdio.HostRank},
		"timed lines":  {line, "{time} {host}:{rank}| "},
		"short lines":  {[]byte("epoch 1\n"), stdio.HostRank},
		"no newline":   {bytes.Repeat([]byte{0}, 71), ""},
		"10 KB lines":  {append(bytes.Repeat([]byte("x"), 10_000), '\n'), ""},
	}
	for name, bm := range benchmarks {
		b.Run(name, func(b *testing.B) {
			const size = 32 << 10
			text := bytes.Repeat(bm.line, 4*size/len(bm.line)+1)
			tag, err := stdio.ParseTag(bm.tag)
			if err != nil {
				b.Fatal(err)
			}
			m := stdio.NewMerger(stdio.Config{Screen: -1, Ranks: on("node1", "node1", "node2", "node2"), Tag: tag})
			now := time.Now()
			b.SetBytes(size)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now = now.Add(time.Microsecond)
				data := text[i/4%4*size:][:size]
				m.Add(now, stdio.Chunk{Rank: i % 4, Time: now, Data: data})
			}
		})
	}
}
