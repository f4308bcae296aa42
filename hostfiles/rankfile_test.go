package hostfiles_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
)

func TestParseRankfile(t *testing.T) {
	ranks, err := hostfiles.ParseRankfile("ranks", strings.NewReader("\ufeff# two boxes\r\n"+
		"rank 1=n1.ib slot=0-3,8\n"+
		"\trank 0 = [fe80::1%ib0]  slots = 1:0,2;0:* // both packages\n"+
		"rank 010=+n1"))
	require.NoError(t, err)
	require.Equal(t, []hostfiles.Rank{
		{Rank: 1, Host: "n1.ib", Cores: []hostfiles.Cores{{-1, 0, 3}, {-1, 8, 8}}, Pos: hostfiles.Pos{File: "ranks", Line: 2, Column: 1}},
		{Rank: 0, Host: "fe80::1%ib0", Cores: []hostfiles.Cores{{1, 0, 0}, {1, 2, 2}, {0, 0, -1}}, Pos: hostfiles.Pos{File: "ranks", Line: 3, Column: 2}},
		{Rank: 10, Host: "+n1", Pos: hostfiles.Pos{File: "ranks", Line: 4, Column: 1}},
	}, ranks)
}

func TestParseRankfileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                           `ranks:1:1: expected a rank, found nothing`,
		"a slots=2":                  `ranks:1:1: expected rank N=HOST slot=CORES, found "a"`,
		"rank x=a":                   `ranks:1:6: expected the number of a rank, to 1048576, found "x"`,
		"rank 1=a\nrank 1=b":         `ranks:2:6: expected every rank once, found "1"`,
		"rank 1 a":                   `ranks:1:8: expected "=" and a host behind the rank, found "a"`,
		"rank 1=":                    `ranks:1:8: expected a host, or +n0 for the first of the list, found nothing`,
		"rank 1=+x":                  `ranks:1:8: expected a host, or +n0 for the first of the list, found "+x"`,
		"rank 1=a,b slot=0":          `ranks:1:8: expected a host, or +n0 for the first of the list, found "a,b"`,
		"rank 1=a core=0":            `ranks:1:10: expected slot=CORES, found "core"`,
		"rank 1=a slot=p0":           `ranks:1:15: expected cores, as 0-3,8 or, of package 1, 1:0-3, found "p0"`,
		"rank 1=a slot=3-1":          `ranks:1:15: expected cores, as 0-3,8 or, of package 1, 1:0-3, found "3-1"`,
		"rank 1=a slot=":             `ranks:1:15: expected cores, as 0-3,8 or, of package 1, 1:0-3, found nothing`,
		"rank 1=a slot=0 1":          `ranks:1:17: expected nothing behind the cores, found "1"`,
		"rank 0=a slot=0\nrank 1=a/": `ranks:2:8: expected a host, or +n0 for the first of the list, found "a/"`,
	} {
		_, err := hostfiles.ParseRankfile("ranks", strings.NewReader(text))
		require.EqualError(t, err, want, "%q", text)
	}
}

func FuzzParseRankfile(f *testing.F) {
	f.Add("rank 0=n1 slot=0-3\nrank 1=+n1 slot=1:*;0:0,2 # x\n")
	f.Add("rank 0 = [::1]\r\nrank 1=a slots = *")
	f.Add("rank 0=a\nrank 0=b")
	f.Fuzz(func(t *testing.T, text string) {
		ranks, err := hostfiles.ParseRankfile("ranks", strings.NewReader(text))
		if err != nil {
			require.Empty(t, ranks)
			return
		}
		seen := map[int]bool{}
		for _, r := range ranks {
			require.False(t, seen[r.Rank])
			seen[r.Rank] = true
			require.NotEmpty(t, r.Host)
			for _, c := range r.Cores {
				require.True(t, c.Last < 0 || c.First <= c.Last)
			}
		}
	})
}
