package cause

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLikely(t *testing.T) {
	const traceback = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    main()\n  File \"train.py\", line 2, in main\n    raise ValueError(\"no such file\")\n"
	for name, c := range map[string]struct {
		end  End
		want string
	}{
		"nothing known":         {End{Code: 3, Tail: []byte("hello\n")}, ""},
		"success":               {End{Tail: []byte("CUDA error: x\n")}, ""},
		"told to end":           {End{Code: -1, Signal: "SIGKILL", Stopped: true}, ""},
		"the kernel killed it":  {End{Code: -1, Signal: "SIGKILL", Tail: []byte("NCCL WARN x\n"), OOM: "out of memory: the kernel killed it"}, "out of memory: the kernel killed it"},
		"somebody killed it":    {End{Code: -1, Signal: "SIGKILL", Tail: []byte("NCCL WARN x\n")}, "killed from outside, or by the kernel for lack of memory"},
		"a bare signal":         {End{Code: -1, Signal: "SIGSEGV"}, "invalid memory access"},
		"an abort, and why":     {End{Code: -1, Signal: "SIGABRT", Tail: []byte("x: y.c:3: main: Assertion `n > 0' failed.\n")}, "x: y.c:3: main: Assertion `n > 0' failed."},
		"a Python exception":    {End{Code: 1, Tail: []byte("noise\n" + traceback + "ValueError: no such file\n")}, "ValueError: no such file"},
		"the last of several":   {End{Code: 1, Tail: []byte(traceback + "KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n" + traceback + "ValueError: 2\n")}, "ValueError: 2"},
		"one that was handled":  {End{Code: 4, Tail: []byte(traceback + "FileNotFoundError: x\nfalling back\n")}, ""},
		"a traceback cut off":   {End{Code: 1, Tail: []byte(traceback)}, ""},
		"GPU memory":            {End{Code: 1, Tail: []byte(traceback + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")}, "out of GPU memory: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."},
		"CUDA before Python":    {End{Code: 1, Tail: []byte("CUDA error: out of memory\n" + traceback + "RuntimeError: x\n")}, "out of GPU memory: CUDA error: out of memory"},
		"NCCL":                  {End{Code: 1, Tail: []byte("node1:1:2 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.2 failed\nlater\n")}, "node1:1:2 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.2 failed"},
		"MPI":                   {End{Code: 9, Tail: []byte("Abort(9) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 9) - process 0\n")}, "Abort(9) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 9) - process 0"},
		"Go":                    {End{Code: 2, Tail: []byte("panic: runtime error: index out of range [1] with length 1\n\ngoroutine 1 [running]:\n")}, "panic: runtime error: index out of range [1] with length 1"},
		"a shell's word for it": {End{Code: 139, Tail: []byte("run.sh: line 1: 7 Segmentation fault      (core dumped) ./x\n")}, "run.sh: line 1: 7 Segmentation fault      (core dumped) ./x"},
		"colours":               {End{Code: 1, Tail: []byte("\x1b[31mCUDA error: unspecified launch failure\x1b[0m\r\n")}, "CUDA error: unspecified launch failure"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, Likely(c.end))
		})
	}
}

func TestACauseIsShort(t *testing.T) {
	cause := Likely(End{Code: 1, Tail: []byte("NCCL WARN " + strings.Repeat("ü", 1000) + "\xff\n")})
	require.True(t, utf8.ValidString(cause))
	require.LessOrEqual(t, len(cause), maxCause+len("…"))
}
