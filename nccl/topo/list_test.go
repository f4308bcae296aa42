package topo_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/nccl/topo"
)

func TestParseList(t *testing.T) {
	for text, want := range map[string][]int{
		"0":        {0},
		"0-3,8\n":  {0, 1, 2, 3, 8},
		"":         nil,
		"8190,191": {8190, 191},
	} {
		list, ok := topo.ParseList(text)
		require.True(t, ok, text)
		require.Equal(t, want, list, text)
	}
	for _, text := range []string{"x", "1-", "-1", "3-1", "8192", "0-8192", "1 2", "0-8191,0-8191", "99999999999999999999"} {
		_, ok := topo.ParseList(text)
		require.False(t, ok, text)
	}
}

func TestFormatListIsTheKernelsForm(t *testing.T) {
	for want, list := range map[string][]int{
		"":             nil,
		"0-1":          {0, 1},
		"0-3,8,10-11":  {11, 10, 8, 3, 2, 1, 0},
		"5":            {5},
		"0,2,4,6-7,63": {0, 2, 4, 6, 7, 63},
	} {
		require.Equal(t, want, topo.FormatList(list))
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfDistinct(rapid.IntRange(0, 300), rapid.ID).Draw(t, "list")
		again, ok := topo.ParseList(topo.FormatList(list))
		require.True(t, ok)
		require.Equal(t, slices.Sorted(slices.Values(list)), again)
	})
}

func FuzzParseList(f *testing.F) {
	for _, s := range []string{"0-3,8", "", ",", "0-8191", "1-1,1", "3-1", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, ok := topo.ParseList(s)
		require.LessOrEqual(t, len(list), 8192)
		if ok && slices.IsSorted(list) && len(slices.Compact(slices.Clone(list))) == len(list) {
			again, _ := topo.ParseList(topo.FormatList(list))
			require.Equal(t, list, again)
		}
	})
}
