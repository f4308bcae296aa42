//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous"
)

// rank does what the words behind its program say, one after the other:
//
//	meet      open the job and pass a barrier of all ranks
//	print N   write N bytes to standard output, in lines
//	read      read standard input to its end
//	wait      until it is told to end
//	fail      exit with status 3
func rank(ctx context.Context, r *call) (status int) {
	for words := r.args[1:]; len(words) > 0; words = words[1:] {
		var err error
		switch words[0] {
		case "meet":
			err = meet(ctx, r.env)
		case "print":
			if len(words) < 2 {
				err = fmt.Errorf("print: expected a number of bytes")
				break
			}
			words = words[1:]
			err = printLines(r.stdout, words[0])
		case "read":
			_, err = io.Copy(io.Discard, r.stdin)
		case "wait":
			<-ctx.Done()
		case "fail":
			return 3
		default:
			err = fmt.Errorf("%q is nothing that a rank here can do", words[0])
		}
		if err != nil {
			fmt.Fprintln(r.stderr, err)
			return 1
		}
	}
	return 0
}

func meet(ctx context.Context, env []string) error {
	world, err := rankenv.Parse(env)
	if err != nil {
		return err
	}
	job, err := rendezvous.Open(ctx, &rendezvous.Config{World: &world, Address: "unix:" + world.Socket})
	if err != nil {
		return err
	}
	defer job.Close()
	return job.Barrier(ctx, "all")
}

func printLines(w io.Writer, size string) error {
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	line := append(bytes.Repeat([]byte("x"), 99), '\n')
	block := bytes.Repeat(line, 300)
	for n > 0 {
		some := block[:min(n, len(block))]
		if _, err := w.Write(some); err != nil {
			return err
		}
		n -= len(some)
	}
	return nil
}
