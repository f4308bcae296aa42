package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/rankenv"
)

// rankecho is the ranks' program in scripts. Its first word says what to do:
//
//	env [NAME…]          print these variables, or all, sorted
//	cpus                 print "RANK has LIST", the CPUs that the kernel lets this process use
//	exit STATUS [RANK]   exit with STATUS, if RANK is ours or absent; else with 0
//	read                 print standard input line by line, and its end
//	wait                 print "ready", and each signal and "ready" again; QUIT ends
//	world                print the world that the environment tells, if it is consistent
//	rest                 print "ready" and the process's id, catch TSTP, end with CONT
//	stay                 print "ready", and again at each INT and TERM
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
	case "cpus":
		status, _ := os.ReadFile("/proc/self/status")
		_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:\t")
		list, _, _ = strings.Cut(list, "\n")
		fmt.Printf("%s has %s\n", rank, list)
	case "exit":
		if status, err := strconv.Atoi(args[1]); err == nil && ours {
			fmt.Fprintf(os.Stderr, "rank %s exits with %d\n", rank, status)
			os.Exit(status)
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
			fmt.Println("ready")
		}
	case "world":
		w, err := rankenv.Current()
		fmt.Printf("%v, error %v\n", w, err)
	case "rest":
		c := make(chan os.Signal, 8)
		signal.Notify(c, syscall.SIGTSTP, syscall.SIGCONT)
		fmt.Println("ready", os.Getpid())
		for s := range c {
			if s == syscall.SIGCONT {
				return
			}
		}
	case "stay":
		c := make(chan os.Signal, 8)
		signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
		fmt.Println("ready")
		for range c {
			fmt.Println("ready")
		}
	}
}
