package nccl_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/nccl"
)

func TestQ(t *testing.T) {
	const n = 3
	id, err := nccl.NewUniqueID(nil)
	require.NoError(t, err)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for rank := range n {
		wg.Go(func() {
			errs[rank] = func() error {
				c, err := nccl.InitRank(t.Context(), rank, n, []nccl.UniqueID{id}, nil)
				if err != nil {
					return err
				}
				defer c.Close()
				x := make([]float64, 1000000)
				for i := range x {
					x[i] = float64(rank + i)
				}
				nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
				if err := c.Wait(context.Background()); err != nil {
					return err
				}
				for i := range x {
					if x[i] != float64(3+3*i) {
						return errors.New("wrong")
					}
				}
				return c.Close()
			}()
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}
