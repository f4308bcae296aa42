package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/internal/testhost/sshserver"
	"github.com/gorun/gorun/launcher"
)

// TestMain makes gorun and rankecho commands of the scripts: both are copies
// of this test binary. A copy that gorun starts as its agent has gorun's name
// or, where it was staged, another one; the verb tells.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		main()
	}
	testscript.Main(m, map[string]func(){
		"gorun":    main,
		"rankecho": rankecho,
		"ask":      ask,
	})
}

// TestScripts runs testdata/script: one script for each behaviour that users
// rely on.
func TestScripts(t *testing.T) {
	sshserver.Cache = t.TempDir() // gorun is this test binary, which is large
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", noRaceSleep)
			env.Setenv("CPU", firstCPU())
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "gpu" { // this machine has one
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			gpus, err := os.ReadDir("/proc/driver/nvidia/gpus")
			return err == nil && len(gpus) > 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       exits,
			"interactive": interactive,
			"paused":      paused,
			"signalled":   signalled,
			"sshd":        sshd,
		},
	})
}

// firstCPU is the lowest CPU that the tests may use.
func firstCPU() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return "0"
	}
	cpu := 0
	for cpu < len(set)*64 && !set.IsSet(cpu) {
		cpu++
	}
	return strconv.Itoa(cpu)
}

// noRaceSleep is GORACE for the scripts' many short processes: under the race
// detector each of them would else sleep for a second before it exits.
const noRaceSleep = "atexit_sleep_ms=0"

// exits is a script command: "exits STATUS program args…" runs a program and
// requires its exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS program args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	found := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		found = exit.ExitCode()
	}
	if found != want {
		ts.Fatalf("expected exit status %d, found %d", want, found)
	}
}

// signalled is a script command: "signalled STATUS RANKS SIGNALS… -- program
// args…" runs a program and requires its exit status. Whenever so many lines
// "ready" have been printed, it sends the next of SIGNALS, "INT" or "HUP,TERM".
// What the program prints goes to the files stdout and stderr.
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	end := slices.Index(args, "--")
	if neg || end < 3 {
		ts.Fatalf("usage: signalled STATUS RANKS SIGNAL… -- program args…")
	}
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	ranks, err := strconv.Atoi(args[1])
	ts.Check(err)

	path, err := exec.LookPath(args[end+1])
	ts.Check(err)
	cmd := exec.Command(path, args[end+2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"GORACE=" + noRaceSleep}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stderr, err := os.Create(ts.MkAbs("stderr"))
	ts.Check(err)
	defer stderr.Close()
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer cmd.Process.Kill()

	var printed bytes.Buffer
	ready, signals := 0, args[2:end]
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Fprintln(&printed, lines.Text())
		if lines.Text() != "ready" {
			continue
		}
		if ready++; ready%ranks != 0 || len(signals) == 0 {
			continue
		}
		for name := range strings.SplitSeq(signals[0], ",") {
			ts.Check(cmd.Process.Signal(unix.SignalNum("SIG" + name)))
		}
		signals = signals[1:]
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout"), printed.Bytes(), 0o666))
	cmd.Wait() // its error only says that the status is not 0
	if found := cmd.ProcessState.ExitCode(); found != status {
		said, _ := os.ReadFile(stderr.Name())
		ts.Fatalf("expected exit status %d, found %d\n%s%s", status, found, printed.Bytes(), said)
	}
}

// sshd is a script command: it starts an SSH server that ends with the script,
// writes its line to the file hosts, and sets CONFIG and KNOWN_HOSTS to the
// client's files. Its argument is what is wrong: nothing, "unknown" or "forged"
// for what the client knows of the host's key, "rejecting" for the server.
func sshd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: sshd [unknown|forged|rejecting]")
	}
	fault := strings.Join(args, "")
	ts.Check(os.Mkdir(ts.MkAbs("sshd"), 0o700))
	server, err := sshserver.New(ts.MkAbs("sshd"), sshserver.Config{
		Faults: sshserver.Faults{RejectKeys: fault == "rejecting"},
	})
	ts.Check(err)
	ts.Defer(func() { server.Close() })
	switch fault {
	case "unknown":
		ts.Check(server.ForgetKnownHosts())
	case "forged":
		ts.Check(server.ForgeKnownHosts())
	}
	ts.Check(os.WriteFile(ts.MkAbs("hosts"), []byte(server.Line()+"\n"), 0o666))
	ts.Setenv("CONFIG", server.Config)
	ts.Setenv("KNOWN_HOSTS", server.KnownHosts)
}

// ask is a script command's program: it puts a question and prints the answer.
// With an argument it gives up after that time.
func ask() {
	ctx := context.Background()
	if len(os.Args) > 1 {
		limit, err := duration(os.Args[1], "1")
		if err != nil {
			panic(err)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	answer, err := newPrompt().ask(ctx, launcher.Question{Host: "node1", Text: "passphrase?"})
	fmt.Printf("answer %q, error %v\n", answer, err)
}
