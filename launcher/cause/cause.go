// Package cause says in a line what probably ended a process that failed: what
// the kernel tells, what the process said last, or what its signal mostly means.
// It only computes.
package cause

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// End is how a process ended.
type End struct {
	Code    int    // exit status; -1: killed by Signal
	Signal  string // "SIGKILL"; "": none
	Stopped bool   // it was told to end before it did
	OOM     string // what [OutOfMemory] says of it
	Tail    []byte // the last lines of its standard error
}

// Likely says what usually ends a process so; "" if that is clear, or nothing is
// known. The kernel knows best, then the process, then its signal.
func Likely(e End) string {
	switch {
	case e.Code == 0 || e.Stopped:
		return ""
	case e.OOM != "":
		return e.OOM
	case e.Signal == "SIGKILL": // it had no time to say why
		return signalCauses[e.Signal]
	}
	if said := lastWords(e.Tail); said != "" {
		return said
	}
	return signalCauses[e.Signal]
}

// OutOfMemory says what the kernel's out-of-memory killer had to do with an end.
// It may have struck where the process's memory is accounted for, or somewhere
// on its host.
func OutOfMemory(signal string, group, host bool) string {
	switch killed := signal == "SIGKILL"; {
	case group && killed:
		return "out of memory: the kernel killed it"
	case group:
		return "out of memory: the kernel killed a process beside it"
	case host && killed:
		return "probably out of memory: the kernel killed a process of this host"
	}
	return ""
}

var signalCauses = map[string]string{
	"SIGKILL": "killed from outside, or by the kernel for lack of memory",
	"SIGSEGV": "invalid memory access",
	"SIGBUS":  "bus error, often a full /dev/shm or a truncated file",
	"SIGILL":  "built for another processor",
	"SIGXCPU": "the limit of CPU time",
	"SIGXFSZ": "the limit of file sizes",
	"SIGFPE":  "division by zero",
}

// confessions are what programs of this field say when they fail, the more
// telling first: a library that ran out of GPU memory often raises a general
// error after, and that a Python exception.
var confessions = []struct {
	any   []string // what a line has in it, one of these
	title string   // put before the line; "": it speaks for itself
}{
	{[]string{"CUDA out of memory", "CUDA error: out of memory", "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"}, "out of GPU memory"},
	{[]string{"device-side assert", "illegal memory access was encountered", "an illegal instruction was encountered"}, "a CUDA kernel failed"},
	{[]string{"NCCL WARN", "NCCL error", "NCCL Error", "ncclSystemError", "ncclInternalError", "ncclRemoteError", "ncclUnhandledCudaError", "NCCL failure"}, ""},
	{[]string{"CUDA error", "CUDA_ERROR_", "CUDA failure", "CUDA driver version is insufficient", "no CUDA-capable device"}, ""},
	{[]string{"error while loading shared libraries", "symbol lookup error"}, ""},
	{[]string{"No space left on device"}, ""},
	{[]string{"std::bad_alloc", "Cannot allocate memory", "MemoryError"}, "out of memory"},
	{[]string{"MPI_Abort", "MPI_ABORT", "Abort("}, ""},
	{[]string{"panic: ", "fatal error: "}, ""}, // Go
	{[]string{"Assertion `"}, ""},
	{[]string{"terminate called after throwing"}, ""},
	{[]string{"Segmentation fault", "Bus error"}, ""},
}

// lastWords finds in the end of a rank's standard error the line that says why
// it failed; "" if there is none.
func lastWords(tail []byte) string {
	for _, c := range confessions {
		for line := range bytes.Lines(tail) {
			for _, sign := range c.any {
				if !bytes.Contains(line, []byte(sign)) {
					continue
				}
				if c.title == "" {
					return readable(line)
				}
				return c.title + ": " + readable(line)
			}
		}
	}
	return pythonException(tail)
}

// pythonException returns the last line of the last traceback, which names the
// exception: the first that is not indented. An exception that ended the program is
// the last that it said; of others it only told, and went on.
func pythonException(tail []byte) string {
	const begin = "Traceback (most recent call last):"
	at := bytes.LastIndex(tail, []byte(begin))
	if at < 0 {
		return ""
	}
	exception := ""
	for line := range bytes.Lines(tail[at+len(begin):]) {
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case exception != "":
			return ""
		case line[0] != ' ':
			exception = readable(line)
		}
	}
	return exception
}

// maxCause is how much of a line is repeated as a cause.
const maxCause = 200

// readable makes a line fit to stand within one of ours: without colours, and
// short.
func readable(line []byte) string {
	text := strings.ToValidUTF8(string(bytes.TrimSpace(line)), "\uFFFD")
	escaped := false
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\x1b':
			escaped = true
		case escaped:
			escaped = r == '[' || r == ';' || unicode.IsDigit(r) // ECMA-48, 5.4: until a final byte
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, text)
	if len(text) <= maxCause {
		return text
	}
	end := maxCause
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
