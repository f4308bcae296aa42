package pmi

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func reader(s string) *bufio.Reader { return bufio.NewReaderSize(strings.NewReader(s), maxLine) }

// The lines are MPICH 4.0.2's and Open MPI 4.1's, under Hydra and a Flux shim.
func TestLines(t *testing.T) {
	for line, want := range map[string]message{
		"cmd=init pmi_version=1 pmi_subversion=1": newMessage("init", "pmi_version", "1", "pmi_subversion", "1"),
		"cmd=barrier_in": newMessage("barrier_in"),
		"cmd=put kvsname=kvs_1 key=-bcast-1-0 value=2F6465762F": newMessage("put", "kvsname", "kvs_1", "key", "-bcast-1-0", "value", "2F6465762F"),
		"cmd=put kvsname=k key=1-0-key0 value=QUJD RA==  = ":    newMessage("put", "kvsname", "k", "key", "1-0-key0", "value", "QUJD RA==  = "),
		"cmd=put kvsname=k key=a b value=":                      newMessage("put", "kvsname", "k", "key", "a b", "value", ""),
		"  cmd=get  kvsname=k  key=x ":                          newMessage("get", "kvsname", "k", "key", "x"),
		"cmd=abort exitcode=42":                                 newMessage("abort", "exitcode", "42"),
	} {
		m, err := parseLine(line)
		require.NoError(t, err, line)
		require.Equal(t, want.command, m.command)
		require.ElementsMatch(t, want.fields, m.fields, line)
	}
	for _, line := range []string{"", " ", "cmd=", "put key=x", "key=x cmd=put", "value=x", "=x", "\x00\xff"} {
		_, err := parseLine(line)
		require.Error(t, err, "%q", line)
	}
}

func TestLinesAreBounded(t *testing.T) {
	_, err := readLine(reader("cmd=put value=" + strings.Repeat("x", maxLine) + "\n"))
	require.EqualError(t, err, "a line is longer than 8192 bytes")
}

func TestSpawnIsOneMessage(t *testing.T) {
	r := reader("mcmd=spawn\nnprocs=2\nexecname=./a b\ntotspawns=1\nargcnt=0\nendcmd\ncmd=finalize\n")
	m, err := readLine(r)
	require.NoError(t, err)
	require.Equal(t, message{command: "spawn"}, m)
	m, err = readLine(r)
	require.NoError(t, err)
	require.Equal(t, "finalize", m.command)
}

// The frames are those of Slurm's libpmi2 22.05 and, of the other direction,
// Hydra's.
func TestFrames(t *testing.T) {
	for frame, want := range map[string]message{
		"38    cmd=fullinit;pmirank=0;threaded=FALSE;": newMessage("fullinit", "pmirank", "0", "threaded", "FALSE"),
		"    36cmd=kvs-put;key=k0;value=a=b;;c=0;;;":   newMessage("kvs-put", "key", "k0", "value", "a=b;c=0;"),
		"000014cmd=kvs-fence;":                         newMessage("kvs-fence"),
	} {
		m, err := readFrame(reader(frame))
		require.NoError(t, err, frame)
		require.Equal(t, want.command, m.command)
		require.ElementsMatch(t, want.fields, m.fields, frame)
	}
	for name, frame := range map[string]string{
		"no number":     "abcdefcmd=x;",
		"nothing":       "     0",
		"negative":      "    -1cmd=x;",
		"too long":      "999999cmd=x;",
		"cut short":     "    99cmd=x;",
		"no terminator": "     5cmd=x",
		"no command":    "     6key=x;",
		"field unnamed": "     9cmd=x;=y;",
		"no value":      "     8cmd=x;y;",
	} {
		_, err := readFrame(reader(frame))
		require.Error(t, err, name)
	}
}

func TestFrameOfAReply(t *testing.T) {
	b := appendFrame([]byte("before"), newMessage("kvs-get-response", "found", "TRUE", "value", "a;b", "rc", "0"))
	require.Equal(t, "before    48cmd=kvs-get-response;found=TRUE;value=a;;b;rc=0;", string(b))
}

func FuzzLine(f *testing.F) {
	f.Add("cmd=init pmi_version=1 pmi_subversion=1")
	f.Add("cmd=put kvsname=k key=a b value=QUJD RA==")
	f.Add("mcmd=spawn")
	f.Fuzz(func(t *testing.T, line string) {
		m, err := parseLine(line)
		if err != nil || strings.Contains(line, "\n") {
			return
		}
		again, err := readLine(reader(string(appendLine(nil, m))))
		require.NoError(t, err)
		require.Equal(t, m.command, again.command)
		require.Equal(t, m.get("value"), again.get("value"))
	})
}

func FuzzFrame(f *testing.F) {
	f.Add("38    cmd=fullinit;pmirank=0;threaded=FALSE;")
	f.Add("    36cmd=kvs-put;key=k0;value=a=b;;c=0;;;")
	f.Add("999999cmd=x;")
	f.Fuzz(func(t *testing.T, frame string) {
		m, err := readFrame(reader(frame))
		if err != nil {
			return
		}
		again, err := readFrame(reader(string(appendFrame(nil, m))))
		if len(m.command)+len(frame) < maxFrame/4 {
			require.NoError(t, err)
			require.Equal(t, m, again)
		}
	})
}
