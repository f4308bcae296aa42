package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// patience is how long scripts wait for what must come.
const patience = 30 * time.Second

// paused is a script command: "paused STATUS RANKS LASTS SIGNAL -- program
// args…" runs a program and sends it TSTP when so many lines "ready PID" were
// printed. When it and the processes PID have stopped, it lets LASTS pass,
// sends SIGNAL, and requires the exit status, -1 for a death by signal, and
// that no PID lives.
func paused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 6 || args[4] != "--" {
		ts.Fatalf("usage: paused STATUS RANKS LASTS SIGNAL -- program args…")
	}
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	ranks, err := strconv.Atoi(args[1])
	ts.Check(err)
	lasts, err := time.ParseDuration(args[2])
	ts.Check(err)

	path, err := exec.LookPath(args[5])
	ts.Check(err)
	cmd := exec.Command(path, args[6:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = scriptEnviron(ts)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(stdout)
	var pids []int
	for len(pids) < ranks && lines.Scan() {
		var pid int
		if n, _ := fmt.Sscanf(lines.Text(), "ready %d", &pid); n == 1 {
			pids = append(pids, pid)
		}
	}
	ts.Check(cmd.Process.Signal(syscall.SIGTSTP))
	await(ts, "the job has stopped", func() bool {
		return !slices.ContainsFunc(append(pids, cmd.Process.Pid), func(pid int) bool { return state(pid) != "T" })
	})
	time.Sleep(lasts)
	ts.Check(cmd.Process.Signal(unix.SignalNum("SIG" + args[3])))
	hung := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer hung.Stop()
	rest, _ := io.ReadAll(stdout)
	cmd.Wait() // its error only says that the status is not 0
	if found := cmd.ProcessState.ExitCode(); found != status {
		ts.Fatalf("expected exit status %d, found %d\n%s%s", status, found, rest, &stderr)
	}
	await(ts, "the ranks are gone", func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool { return state(pid) != "" && state(pid) != "Z" })
	})
}

// scriptEnviron is the environment of what scripts' commands start.
func scriptEnviron(ts *testscript.TestScript) []string {
	env := []string{"GORACE=" + noRaceSleep}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

// state returns a process's state as ps has it, "" if it has ended.
func state(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	return string(b[bytes.LastIndexByte(b, ')')+2:][:1])
}

func await(ts *testscript.TestScript, what string, done func() bool) {
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("expected within %v: %s", patience, what)
		}
	}
}

// interactive is a script command: "interactive FILE" has an interactive shell
// on a terminal of its own. Lines of FILE that begin with "> " are typed, ^Z
// being a key; those that begin with "< " are awaited, in order, as part of
// what comes out.
func interactive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: interactive FILE")
	}
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	ts.Check(err)
	defer ours.Close()
	fd := int(ours.Fd())
	ts.Check(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	ts.Check(err)
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)

	shell := exec.Command("/bin/sh", "-i")
	shell.Dir = ts.MkAbs(".")
	shell.Env = append(scriptEnviron(ts), "PS1=shell> ", "ENV=")
	shell.Stdin, shell.Stdout, shell.Stderr = tty, tty, tty
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(shell.Start())
	tty.Close()
	out := make(chan string)
	go func() {
		defer close(out)
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			if n > 0 {
				out <- string(buf[:n])
			}
			if err != nil { // EIO: nobody has the terminal any more
				return
			}
		}
	}()
	defer func() {
		shell.Process.Kill()
		for range out {
		}
		shell.Wait()
	}()

	seen := ""
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		text := strings.TrimSuffix(line[min(2, len(line)):], "\n")
		if strings.HasPrefix(line, "> ") {
			if text += "\n"; text == "^Z\n" {
				text = "\x1a"
			}
			_, err := io.WriteString(ours, text)
			ts.Check(err)
			continue
		}
		for end := time.After(patience); !strings.Contains(seen, text); {
			select {
			case more, ok := <-out:
				if seen += more; !ok {
					ts.Fatalf("expected %q, found %q and the end of the shell", text, seen)
				}
			case <-end:
				ts.Fatalf("expected %q, found %q", text, seen)
			}
		}
		_, seen, _ = strings.Cut(seen, text)
	}
}
