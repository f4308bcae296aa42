package hostfiles_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden; read them before you commit them")

func lines(hosts []hostfiles.Host) string {
	var b strings.Builder
	for _, h := range hosts {
		fmt.Fprintln(&b, h)
	}
	return b.String()
}

// withoutPos makes hosts comparable that were read from different places.
func withoutPos(hosts []hostfiles.Host) []hostfiles.Host {
	bare := make([]hostfiles.Host, len(hosts))
	for i, h := range hosts {
		h.Pos, h.Turns = hostfiles.Pos{}, nil
		bare[i] = h
	}
	return bare
}

func TestSamples(t *testing.T) {
	samples, err := filepath.Glob("*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	for _, sample := range samples {
		t.Run(sample, func(t *testing.T) {
			hosts, err := hostfiles.ReadFile(sample)
			require.NoError(t, err)
			golden := filepath.Join("testdata", strings.TrimSuffix(sample, ".txt")+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(lines(hosts)), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), lines(hosts))

			again, err := hostfiles.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, withoutPos(hosts), withoutPos(again))
		})
	}
}

func TestParse(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"one host, no newline", "node1", "node1\n"},
		{"the last letter counts", "ab", "ab\n"},
		{"CRLF", "a slots=2\r\nb\r\n", "a slots=2\nb\n"},
		{"CR at the end of the file", "a\r", "a\n"},
		{"byte order mark", "\ufeffa:2\n", "a slots=2\n"},
		{"blanks everywhere", "\t a \t slots=2\t \n  \n\t", "a slots=2\n"},
		{"comments", "#x\na # gpu box\n//y\nb // z\n  # w", "a\nb\n"},
		{"a comment needs a blank before it", "a key=/k#1\nb key=//nfs/k", "a key=/k#1\nb key=//nfs/k\n"},
		{"blanks around =", "a slots =\t2 port= 22", "a slots=2 port=22\n"},
		{"leading zeros are decimal", "a:010 port=0022", "a slots=10 port=22\n"},
		{"names are verbatim", "w.1.foo.net\nw.2.foo.net\nhost1-10\nn_1\nfünf", "w.1.foo.net\nw.2.foo.net\nhost1-10\nn_1\nfünf\n"},
		{"a number is slots", "h:2222", "h slots=2222\n"},
		{"synonyms", "a username=lee max-slots=3", "a max_slots=3 user=lee\n"},
		{"user in front", "lee@a:2", "a slots=2 user=lee\n"},
		{"user with an @", "lee@example.org@a", "a user=lee@example.org\n"},
		{"IPv6", "::1\n[::2]\n[::3]:2\nfe80::1%lo\n::4:2", "[::1]\n[::2]\n[::3] slots=2\n[fe80::1%lo]\n[::4:2]\n"},
		{"quoted values", `a key="/my key" rack="a\\b\"c=d"`, `a key="/my key" rack="a\\b\"c=d"` + "\n"},
		{"backslash in a bare value", `a key=c:\id`, `a key=c:\id` + "\n"},
		{"range", "n[9-11]", "n9\nn10\nn11\n"},
		{"padded range", "n[08-10,1,001]", "n08\nn09\nn10\nn1\nn001\n"},
		{"range outgrows its width", "n[98-101]", "n98\nn99\nn100\nn101\n"},
		{"range with everything", "u@n[1-2]:4 rack=r", "n1 slots=4 user=u rack=r\nn2 slots=4 user=u rack=r\n"},
		{"range of one with an address", "n[1] addr=10.0.0.1", "n1 addr=10.0.0.1\n"},
		{"repeated in a range", "n[1-2,2]", "n1\nn2 slots=2\n"},
		{"repeated host adds slots", "a:2\nb\na slots=3", "a slots=5\nb\n"},
		{"repeated in another case", "Node1:2\nnode1:3", "Node1 slots=5\n"},
		{"repeated without a number", "a\na\na:2", "a slots=4\n"},
		{"repeated address in other words", "[::1]:1\n0:0::1", "[::1] slots=2\n"},
		{"port and user make other hosts", "a\na port=22\nb@a", "a\na port=22\na user=b\n"},
		{"repeated with user and port only", "u@a port=2\na port=2 user=u", "a slots=2 user=u port=2\n"},
		{"attributes over several lines", "a gpus=0\na rack=r gpus=0", "a gpus=0 rack=r\n"},
		{"attributes declare no slots", "a\na rack=r\nb:2\nb rack=r", "a rack=r\nb slots=2 rack=r\n"},
		{"gpus keep their order", "a gpus=3,0-2,5", "a gpus=3,0-2,5\n"},
		{"gpus to skip", "a gpus=^1", "a gpus=^1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hosts, err := hostfiles.Parse("hosts", strings.NewReader(tt.text))
			require.NoError(t, err)
			require.Equal(t, tt.want, lines(hosts))
		})
	}
}

func TestParseFields(t *testing.T) {
	hosts, err := hostfiles.Parse("hosts", strings.NewReader("\n"+
		`  lee@[fe80::1%ib0]:2 max_slots=4 port=2222 key="/k 1" jump=b1,kim@b2:22 addr=[fd00::1] gpus=0-2 iface=ib0 rack=r1 switch=s1`+"\n"))
	require.NoError(t, err)
	require.Equal(t, []hostfiles.Host{{
		Name: "fe80::1%ib0", User: "lee", Key: "/k 1", Jump: "b1,kim@b2:22", Addr: "fd00::1",
		Iface: "ib0", Rack: "r1", Switch: "s1", Port: 2222, Slots: 2, MaxSlots: 4, GPUs: []int{0, 1, 2},
		Turns: []int{0}, Pos: hostfiles.Pos{File: "hosts", Line: 2, Column: 3},
	}}, hosts)
}

func TestHostsKnowTheirTurns(t *testing.T) {
	hosts, err := hostfiles.Parse("hosts", strings.NewReader("a\nb[1-2] slots=2\na\nb1\n"))
	require.NoError(t, err)
	var turns [][]int
	for _, h := range hosts {
		turns = append(turns, h.Turns)
	}
	require.Equal(t, [][]int{{0, 3}, {1, 4}, {2}}, turns)
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", `hosts:1:1: expected a host, found nothing`},
		{"only comments", "# a\n\n// b\n", `hosts:1:1: expected a host, found nothing`},
		{"slots that are none", "node7\nnode8 slots=x", `hosts:2:7: expected slots=N, N from 1 to 1048576, found "slots=x"`},
		{"zero slots", "a slots=0", `hosts:1:3: expected slots=N, N from 1 to 1048576, found "slots=0"`},
		{"negative slots", "a slots=-1", `hosts:1:3: expected slots=N, N from 1 to 1048576, found "slots=-1"`},
		{"slots past all bounds", "a slots=99999999999999999999", `hosts:1:3: expected slots=N, N from 1 to 1048576, found "slots=99999999999999999999"`},
		{"no value", "a slots= # none", `hosts:1:3: expected slots=N, N from 1 to 1048576, found "slots="`},
		{"no equals sign", "a slots 4", `hosts:1:3: expected slots=N, N from 1 to 1048576, found "slots 4"`},
		{"no equals sign, no value", "a slots", `hosts:1:3: expected slots=N, N from 1 to 1048576, found "slots"`},
		{"zero after the colon", "a:0", `hosts:1:3: expected a number of slots after ":" (an IPv6 address before it needs brackets), found "0"`},
		{"nothing after the colon", "a:", `hosts:1:3: expected a number of slots after ":" (an IPv6 address before it needs brackets), found nothing`},
		{"name after an address", "10.0.0.1 slave1", `hosts:1:10: expected one of slots= max_slots= user= port= key= jump= addr= gpus= iface= rack= switch=, found "slave1"`},
		{"unknown attribute", "a slot=2", `hosts:1:3: expected one of slots= max_slots= user= port= key= jump= addr= gpus= iface= rack= switch=, found "slot=2"`},
		{"two numbers of slots", "h:2 slots=3", `hosts:1:5: expected slots= only once, and ":N" says it too (a port is port=N), found "slots=3"`},
		{"a port behind the colon", "[::1]:2222 slots=2", `hosts:1:12: expected slots= only once, and ":N" says it too (a port is port=N), found "slots=2"`},
		{"attribute twice", "h port=1 port=1", `hosts:1:10: expected port= only once, found "port=1"`},
		{"synonym twice", "u@h username=v", `hosts:1:5: expected user= only once, found "username=v"`},
		{"port out of range", "h port=65536", `hosts:1:3: expected port=N, N from 1 to 65535, found "port=65536"`},
		{"more slots than at most", "h slots=4 max_slots=2", `hosts:1:1: expected at most 2 slots, as max_slots says, for h, found "slots=4"`},
		{"more slots together", "h slots=1 max_slots=2\nh:2", `hosts:2:1: expected at most 2 slots, as max_slots says, for h, found "slots=3"`},
		{"too many slots together", "h slots=1048576\n h", `hosts:2:2: expected at most 1048576 slots for h, found "slots=1048577"`},
		{"attributes disagree", "h rack=a\nh rack=\"b c\"", `hosts:2:3: expected rack=a for h, as before, found "rack=\"b c\""`},
		{"gpus disagree", "h gpus=0-1\nh gpus=0,2", `hosts:2:3: expected gpus=0-1 for h, as before, found "gpus=0,2"`},
		{"gpu twice", "h gpus=0-1,1", `hosts:1:3: expected gpus=LIST, as 0-3,7 or ^2,3 with numbers to 127, none twice, found "gpus=0-1,1"`},
		{"gpu past all bounds", "h gpus=0-4000000000", `hosts:1:3: expected gpus=LIST, as 0-3,7 or ^2,3 with numbers to 127, none twice, found "gpus=0-4000000000"`},
		{"addr that is a name", "h addr=ib0", `hosts:1:3: expected addr=ADDRESS, an IP address of the host, found "addr=ib0"`},
		{"addr of no host", "h addr=0.0.0.0", `hosts:1:3: expected addr=ADDRESS, an IP address of the host, found "addr=0.0.0.0"`},
		{"addr for a range", "h[1-2] addr=10.0.0.1", `hosts:1:8: expected addr= beside one host only, found "a range of 2"`},
		{"iface too long", "h iface=sixteencharacter", `hosts:1:3: expected iface=NAME or iface=CIDR, found "iface=sixteencharacter"`},
		{"iface no CIDR", "h iface=10.0.0.0/33", `hosts:1:3: expected iface=NAME or iface=CIDR, found "iface=10.0.0.0/33"`},
		{"jump that is an option", "h jump=-oProxyCommand", `hosts:1:3: expected jump=[USER@]HOST[:PORT], found "jump=-oProxyCommand"`},
		{"user for a shell", "h user=`id`", "hosts:1:3: expected user=NAME, found \"user=`id`\""},
		{"no user before the @", "@h", `hosts:1:1: expected the name of a user before "@", found nothing`},
		{"host that is an option", "-oProxyCommand=x", `hosts:1:1: expected a host: letters, digits, "-", "_" and ".", or an IP address, found "-oProxyCommand=x"`},
		{"host that starts with an option after a user", "u@-x", `hosts:1:3: expected a host: letters, digits, "-", "_" and ".", or an IP address, found "-x"`},
		{"Open MPI's exclusion", "^h", `hosts:1:1: expected a host: letters, digits, "-", "_" and ".", or an IP address, found "^h"`},
		{"comment without a blank", "a#b", `hosts:1:1: expected a host: letters, digits, "-", "_" and ".", or an IP address, found "a#b"`},
		{"no such IPv4 address", "10.0.0.256", `hosts:1:1: expected a host: letters, digits, "-", "_" and ".", or an IP address, found "10.0.0.256"`},
		{"no such IPv6 address", "a:b:2", `hosts:1:1: expected an IPv6 address, found "a:b:2"`},
		{"bracket left open", "[::1", `hosts:1:1: expected "]" after an IPv6 address, found "[::1"`},
		{"no colon after the bracket", "[::1]2", `hosts:1:6: expected ":" or nothing after an IPv6 address in brackets, found "2"`},
		{"range left open", "n[1-2", `hosts:1:2: expected "]" at the end of a range, found "[1-2"`},
		{"range of nothing", "n[]", `hosts:1:3: expected numbers, as 7 or 01-16, in a range, found nothing`},
		{"range backwards", "n[1,3-2]", `hosts:1:5: expected numbers, as 7 or 01-16, in a range, found "3-2"`},
		{"range of letters", "n[a-c]", `hosts:1:3: expected numbers, as 7 or 01-16, in a range, found "a-c"`},
		{"range with two widths", "n[1-016]", `hosts:1:3: expected numbers, as 7 or 01-16, in a range, found "1-016"`},
		{"range of too many", "n[1-65537]", `hosts:1:3: expected at most 65536 hosts, found "1-65537"`},
		{"ranges of too many", "n[0-255][0-255][0-1]", `hosts:1:1: expected at most 65536 hosts, found "n[0-255][0-255][0-1]"`},
		{"ranges of too many together", "n[1-65535]\nm[1-2]", `hosts:2:1: expected at most 65536 hosts, found "m[1-2]"`},
		{"quotation mark left open", `h key="/k rack=r`, `hosts:1:3: expected key=PATH, found "key=\"/k rack=r"`},
		{"text glued to a quoted value", `h key="/k"x rack=r`, `hosts:1:3: expected key=PATH, found "key=\"/k\"x"`},
		{"unknown escape", `h key="\n"`, `hosts:1:3: expected key=PATH, found "key=\"\\n\""`},
		{"value missing before the next", "h key= rack=r", `hosts:1:3: expected key=PATH, found "key= rack=r"`},
		{"NUL", "h\x00", `hosts:1:1: expected a host: letters, digits, "-", "_" and ".", or an IP address, found "h\x00"`},
		{"control character in a value", "h key=\x1b[2J", `hosts:1:3: expected key=PATH, found "key=\x1b[2J"`},
		{"not UTF-8", "h rack=\xff", `hosts:1:3: expected rack=NAME, found "rack=\xff"`},
		{"every problem of a line and of the file", "a port=0 slots=0\nb\nc:x", "" +
			`hosts:1:3: expected port=N, N from 1 to 65535, found "port=0"` + "\n" +
			`hosts:1:10: expected slots=N, N from 1 to 1048576, found "slots=0"` + "\n" +
			`hosts:3:3: expected a number of slots after ":" (an IPv6 address before it needs brackets), found "x"`},
		{"long words are cut", "h " + strings.Repeat("x", 1000), `hosts:1:3: expected one of slots= max_slots= user= port= key= jump= addr= gpus= iface= rack= switch=, found "` + strings.Repeat("x", 64) + `"…`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hosts, err := hostfiles.Parse("hosts", strings.NewReader(tt.text))
			require.EqualError(t, err, tt.want)
			require.Nil(t, hosts)
		})
	}
}

func TestSyntaxErrorFields(t *testing.T) {
	_, err := hostfiles.Parse("hosts", strings.NewReader("a\n\tb slots=x"))
	syntax, ok := errors.AsType[*hostfiles.SyntaxError](err)
	require.True(t, ok)
	require.Equal(t, &hostfiles.SyntaxError{
		Pos:   hostfiles.Pos{File: "hosts", Line: 2, Column: 4},
		Want:  "slots=N, N from 1 to 1048576",
		Found: "slots=x",
	}, syntax)
}

func TestParseBoundsItsInput(t *testing.T) {
	t.Run("a megabyte of hosts", func(t *testing.T) {
		var b strings.Builder
		for i := 0; b.Len() < 1<<20; i++ {
			fmt.Fprintf(&b, "node%05d.cluster.example slots=8\n", i)
		}
		hosts, err := hostfiles.Parse("hosts", strings.NewReader(b.String()))
		require.NoError(t, err)
		require.Len(t, hosts, strings.Count(b.String(), "\n"))
	})
	t.Run("the most hosts in one range", func(t *testing.T) {
		hosts, err := hostfiles.Parse("hosts", strings.NewReader("n[1-65536]"))
		require.NoError(t, err)
		require.Len(t, hosts, 65536)
		require.Equal(t, "n65536", hosts[65535].Name)
	})
	t.Run("one host more", func(t *testing.T) {
		_, err := hostfiles.Parse("hosts", strings.NewReader("n[1-65536]\nx"))
		require.EqualError(t, err, `hosts:2:1: expected at most 65536 hosts, found "x"`)
	})
	t.Run("a file that never ends", func(t *testing.T) {
		_, err := hostfiles.Parse("zero", zeros{})
		require.EqualError(t, err, `zero:1:1: expected at most 16777216 bytes, found "more"`)
	})
	t.Run("a long name after a large range", func(t *testing.T) {
		_, err := hostfiles.Parse("hosts", strings.NewReader("n[1-65536]"+strings.Repeat("x", 1<<20)))
		require.ErrorContains(t, err, "hosts:1:1: expected a host of at most 253 bytes")
	})
	t.Run("many problems", func(t *testing.T) {
		_, err := hostfiles.Parse("hosts", strings.NewReader(strings.Repeat("!\n", 1<<20)))
		require.Equal(t, 100, strings.Count(err.Error(), "\n"))
		require.ErrorContains(t, err, "hosts: too many problems; the rest was not read")
	})
	t.Run("a reader that fails", func(t *testing.T) {
		_, err := hostfiles.Parse("hosts", iotest.ErrReader(io.ErrUnexpectedEOF))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestReadFile(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		_, err := hostfiles.ReadFile(filepath.Join(t.TempDir(), "hosts"))
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("a folder", func(t *testing.T) {
		dir := t.TempDir()
		_, err := hostfiles.ReadFile(dir)
		require.ErrorContains(t, err, dir)
	})
	t.Run("standard input", func(t *testing.T) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		defer r.Close()
		stdin := os.Stdin
		os.Stdin = r
		defer func() { os.Stdin = stdin }()
		_, err = w.WriteString("a:2\n")
		require.NoError(t, err)
		require.NoError(t, w.Close())

		hosts, err := hostfiles.ReadFile("-")
		require.NoError(t, err)
		require.Equal(t, []hostfiles.Host{{Name: "a", Slots: 2, Turns: []int{0}, Pos: hostfiles.Pos{File: "standard input", Line: 1, Column: 1}}}, hosts)
	})
}

func TestParseList(t *testing.T) {
	tests := []struct{ name, list, want string }{
		{"every form", "a:2,b[01-03,7]:8,[::1]:2,user@c,::2", "a slots=2\nb01 slots=8\nb02 slots=8\nb03 slots=8\nb7 slots=8\n[::1] slots=2\nc user=user\n[::2]\n"},
		{"blanks around commas", " a ,\tb ", "a\nb\n"},
		{"repeated", "a,a,a:2", "a slots=4\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hosts, err := hostfiles.ParseList(tt.list)
			require.NoError(t, err)
			require.Equal(t, tt.want, lines(hosts))
		})
	}
}

func TestParseListRefuses(t *testing.T) {
	const host = `expected a host: letters, digits, "-", "_" and ".", or an IP address`
	tests := []struct{ name, list, want string }{
		{"nothing", "", `host list:1:1: expected a host, found nothing`},
		{"an empty entry", "a,,b", `host list:1:3: ` + host + `, found nothing`},
		{"a comma at the end", "a,", `host list:1:3: ` + host + `, found nothing`},
		{"attributes", "a slots=2", `host list:1:1: ` + host + `, found "a slots=2"`},
		{"bad slots", "a, b:x", `host list:1:6: expected a number of slots after ":" (an IPv6 address before it needs brackets), found "x"`},
		{"bracket left open", "a,b[1,2", `host list:1:4: expected "]" at the end of a range, found "[1,2"`},
		{"too long", strings.Repeat("a", 16<<20+1), `host list:1:1: expected at most 16777216 bytes, found "more"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hosts, err := hostfiles.ParseList(tt.list)
			require.EqualError(t, err, tt.want)
			require.Nil(t, hosts)
		})
	}
}
