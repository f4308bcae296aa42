package hostfiles_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
)

// checkParsed holds for whatever a parser returned: either hosts, which are
// read again from what they print, or problems with a place, one at least.
func checkParsed(t *testing.T, hosts []hostfiles.Host, err error) {
	if err != nil {
		require.Nil(t, hosts)
		_, ok := errors.AsType[*hostfiles.SyntaxError](err)
		require.True(t, ok, "%v", err)
		return
	}
	require.NotEmpty(t, hosts)
	again, err := hostfiles.Parse("again", strings.NewReader(lines(hosts)))
	require.NoError(t, err)
	require.Equal(t, withoutPos(hosts), withoutPos(again))
}

func FuzzParse(f *testing.F) {
	samples, err := filepath.Glob("*.txt")
	require.NoError(f, err)
	for _, sample := range samples {
		text, err := os.ReadFile(sample)
		require.NoError(f, err)
		f.Add(string(text))
	}
	for _, text := range []string{
		"", "\ufeffa\r\n", "a#b", "u@[::1%x]:2", "n[1-2][3-4]:5 gpus=^0", "fe80::1%a]b", `a key="\"\\" rack = "x`,
		"a slots=1\na slots=1 max_slots=1", "[1-2]", "a@b@c", "::1\n0::1", "a key=//x user=\"a=b\"",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := hostfiles.Parse("hosts", strings.NewReader(text))
		checkParsed(t, hosts, err)
	})
}

func FuzzParseList(f *testing.F) {
	for _, list := range []string{"", "a:2,b[01-04]:8,[::1]:2,user@c", "a,,b", "n[1,2", "::1%x,y", " a , b\t", "a,a:3"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		hosts, err := hostfiles.ParseList(list)
		checkParsed(t, hosts, err)
		if err != nil {
			return
		}
		left, err := hostfiles.Exclude(hosts, list)
		if err == nil {
			// The slots of the list are GPUs to Exclude.
			require.LessOrEqual(t, len(left), len(hosts))
			checkParsed(t, left, nil)
		}
	})
}
