package nccl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/nccl"
)

var benchSizes = []int{8, 512, 8 << 10, 64 << 10, 1 << 20, 8 << 20}

// overTCP returns two ranks in this process that talk over loopback, as ranks
// of two processes do.
func overTCP(b *testing.B) nccl.Comms {
	id, err := nccl.NewUniqueID(nil)
	require.NoError(b, err)
	comms, errs := make(nccl.Comms, 2), make([]error, 2)
	var wg sync.WaitGroup
	for rank := range comms {
		wg.Go(func() { comms[rank], errs[rank] = nccl.InitRank(b.Context(), rank, 2, []nccl.UniqueID{id}, nil) })
	}
	wg.Wait()
	require.NoError(b, errors.Join(errs...))
	b.Cleanup(func() { comms.Close() })
	return comms
}

// BenchmarkAllReduce is one call and its Wait, of two ranks at once. MB/s are
// of the data, which is also bus bandwidth: two ranks send each byte once.
func BenchmarkAllReduce(b *testing.B) {
	for name, make := range map[string]func(*testing.B) nccl.Comms{
		"tcp":     overTCP,
		"process": func(b *testing.B) nccl.Comms { return all(b, 2, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			for _, size := range benchSizes {
				b.Run(fmt.Sprint(size), func(b *testing.B) { benchAllReduce(b, make(b), size) })
			}
		})
	}
}

func benchAllReduce(b *testing.B, comms nccl.Comms, size int) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	err := each(comms, func(c *nccl.Comm) error {
		x := make([]float32, size/4)
		for range b.N {
			nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
			if err := c.Wait(context.Background()); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(b, err)
}

// BenchmarkPingPong is the floor: the same bytes both ways over two plain
// connections of package net.
func BenchmarkPingPong(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(b, err)
			defer l.Close()
			dialed, err := net.Dial("tcp", l.Addr().String())
			require.NoError(b, err)
			defer dialed.Close()
			accepted, err := l.Accept()
			require.NoError(b, err)
			defer accepted.Close()
			b.SetBytes(int64(size))
			errs := make([]error, 2)
			var wg sync.WaitGroup
			for i, conn := range []net.Conn{dialed, accepted} {
				wg.Go(func() { errs[i] = exchange(conn, make([]byte, size), b.N) })
			}
			wg.Wait()
			require.NoError(b, errors.Join(errs...))
		})
	}
}

// exchange sends and receives x, n times.
func exchange(conn net.Conn, x []byte, n int) error {
	in := make([]byte, len(x))
	for range n {
		var sending sync.WaitGroup
		var sendErr error
		if len(x) <= 64<<10 {
			_, sendErr = conn.Write(x)
		} else {
			sending.Go(func() { _, sendErr = conn.Write(x) })
		}
		_, err := io.ReadFull(conn, in)
		sending.Wait()
		if err = errors.Join(err, sendErr); err != nil {
			return err
		}
	}
	return nil
}
