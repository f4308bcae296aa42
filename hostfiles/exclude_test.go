package hostfiles_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
)

const cluster = `
a gpus=0-3
b[1-3]
c port=1
c port=2 user=lee
::1
`

func parse(t *testing.T, text string) []hostfiles.Host {
	t.Helper()
	hosts, err := hostfiles.Parse("hosts", strings.NewReader(text))
	require.NoError(t, err)
	return hosts
}

func TestExclude(t *testing.T) {
	tests := []struct{ name, list, want string }{
		{"nothing", "", "a gpus=0-3\nb1\nb2\nb3\nc port=1\nc user=lee port=2\n[::1]\n"},
		{"hosts and ranges", "b[1-2],[0::1]", "a gpus=0-3\nb3\nc port=1\nc user=lee port=2\n"},
		{"every host of the name", "c,b[1-3],::1", "a gpus=0-3\n"},
		{"one user's", "lee@c,b[1-3],::1", "a gpus=0-3\nc port=1\n"},
		{"listed GPUs", "a:0,2-3,b[1-3],c,::1", "a gpus=1\n"},
		{"GPUs of a host that may use all", "b1:1,0,b[2-3],a,c,[::1]:5", "b1 gpus=^0-1\n[::1] gpus=^5\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hosts := parse(t, cluster)
			left, err := hostfiles.Exclude(hosts, tt.list)
			require.NoError(t, err)
			require.Equal(t, tt.want, lines(left))
			require.Equal(t, parse(t, cluster), hosts, "the argument was changed")
			require.Equal(t, withoutPos(left), withoutPos(parse(t, lines(left))))
		})
	}
}

func TestExcludeRefuses(t *testing.T) {
	tests := []struct{ name, list, want string }{
		{"a host that is not there", "a,z", `exclude list:1:3: expected one of the 7 hosts, found "z"`},
		{"part of a range", "b[3-4]", `exclude list:1:1: expected one of the 7 hosts, found "b4"`},
		{"another user", "kim@c", `exclude list:1:1: expected one of the 7 hosts, found "c"`},
		{"all hosts", "a,b[1-3],c,::1", `exclude list:1:1: expected a list that leaves a host, found "a,b[1-3],c,::1"`},
		{"all GPUs", "a:0-3", `exclude list:1:3: expected some of the GPUs that a may use, not all, found "0-3"`},
		{"a GPU it does not use", "a:0,4", `exclude list:1:3: expected some of the GPUs that a may use, not all, found "0,4"`},
		{"a GPU twice", "b1:0,0", `exclude list:1:4: expected GPUs, as 0,2-3, with numbers to 127, none twice, found "0,0"`},
		{"a GPU in two entries", "b1:0,b1:0", `exclude list:1:9: expected some of the GPUs that b1 may use, not all, found "0"`},
		{"no GPUs", "a:", `exclude list:1:3: expected GPUs, as 0,2-3, with numbers to 127, none twice, found nothing`},
		{"no host", ",", `exclude list:1:1: expected a host: letters, digits, "-", "_" and ".", or an IP address, found nothing` + "\n" +
			`exclude list:1:2: expected a host: letters, digits, "-", "_" and ".", or an IP address, found nothing`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hosts := parse(t, cluster)
			left, err := hostfiles.Exclude(hosts, tt.list)
			require.EqualError(t, err, tt.want)
			require.Nil(t, left)
			require.Equal(t, parse(t, cluster), hosts, "the argument was changed")
		})
	}
}
