package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// rankecho is the ranks' program in scripts. Its first word says what to do:
//
//	env [NAME…]          print these variables, or all, sorted
//	exit STATUS [RANK]   exit with STATUS, if RANK is ours or absent; else with 0
//	die SIGNAL [RANK]    the same with a signal, which is "KILL"
//	read                 print standard input line by line, and its end
//	wait                 print "ready", then the signals that come; QUIT ends
//	stay                 print "ready" and ignore INT and TERM
func rankecho() {
	args := os.Args[1:]
	rank := os.Getenv("GORUN_RANK")
	ours := len(args) < 3 || args[2] == rank
	switch args[0] {
	case "env":
		names := args[1:]
		if len(names) == 0 {
			all := os.Environ()
			slices.Sort(all)
			for _, v := range all {
				fmt.Println(v)
			}
		}
		for _, name := range names {
			value, ok := os.LookupEnv(name)
			if !ok {
				value = "(unset)"
			}
			fmt.Printf("%s=%s\n", name, value)
		}
	case "exit":
		if status, err := strconv.Atoi(args[1]); err == nil && ours {
			fmt.Fprintf(os.Stderr, "rank %s exits with %d\n", rank, status)
			os.Exit(status)
		}
	case "die":
		if ours {
			syscall.Kill(os.Getpid(), unix.SignalNum("SIG"+args[1]))
			select {} // until the signal has come
		}
	case "read":
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Printf("%s read %s\n", rank, lines.Text())
		}
		fmt.Printf("%s read to the end\n", rank)
	case "wait":
		c := make(chan os.Signal, 8)
		signal.Notify(c, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT, syscall.SIGWINCH)
		fmt.Println("ready")
		for s := range c {
			fmt.Printf("%s got %s\n", rank, unix.SignalName(s.(syscall.Signal)))
			if s == syscall.SIGQUIT {
				return
			}
		}
	case "stay":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		fmt.Println("ready")
		<-make(chan struct{})
	}
}
