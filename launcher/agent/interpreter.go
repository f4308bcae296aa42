//go:build linux

package agent

import (
	"bufio"
	"debug/elf"
	"io"
	"os"
	"strings"
)

// maxFirstLine is how much the kernel reads of a script's first line
// (BINPRM_BUF_SIZE).
const maxFirstLine = 256

// interpreter returns what a program's file says is to be started for it: what
// the first line of a script names or, of another program, the dynamic loader;
// "" if it names none.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, maxFirstLine)).ReadString('\n')
	if command, ok := strings.CutPrefix(line, "#!"); ok {
		command, _, _ = strings.Cut(strings.Trim(command, " \t\n"), " ")
		command, _, _ = strings.Cut(command, "\t")
		return command
	}
	program, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	for _, p := range program.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name, _ := io.ReadAll(io.LimitReader(p.Open(), maxFirstLine))
		return strings.TrimRight(string(name), "\x00")
	}
	return ""
}

// missingInterpreter says what is wrong with a program that is there, and which
// the kernel does not find all the same, and what to do about it.
func missingInterpreter(path string) (problem, hint string) {
	name := interpreter(path)
	if unix, crlf := strings.CutSuffix(name, "\r"); crlf {
		return "its first line ends in CR LF, so that it names an interpreter that nobody has",
			"lines that end as in Unix, beginning with #!" + unix + `: sed -i 's/\r$//' ` + path
	}
	if name == "" {
		name = "that it names"
	}
	return "its interpreter " + name + ": no such file or directory",
		"install " + name + " on the host, or have the program name another: the first line of a script (#!), or the dynamic loader that a program is linked for"
}
