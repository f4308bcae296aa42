package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
	})
}

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
	answer, err := newPrompt().ask(ctx, "node1", "passphrase?")
	fmt.Printf("answer %q, error %v\n", answer, err)
}
