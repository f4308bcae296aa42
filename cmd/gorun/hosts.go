package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/hostfiles/allocation"
)

// hosts reads the host list that the command names, or else what a batch
// scheduler says, or else the file that GORUN_HOSTFILE names; nil if there is
// none of them. Its error is a *usageError.
//
// The scheduler goes before the variable, which may stand in a user's profile
// for the hosts outside of any job. A job that strayed to them would run on
// hosts that are not its own.
func (c *command) hosts() ([]hostfiles.Host, error) {
	if c.programs[0].hosts != nil {
		return c.ownHosts()
	}
	if len(c.hostList) > 0 {
		return c.listedHosts()
	}
	if c.hostfile != "" {
		hosts, err := hostfiles.ReadFile(c.hostfile)
		return hosts, c.refusedHosts("", err)
	}
	name := os.Getenv("GORUN_HOSTFILE")
	if c.job.Allocation != "none" {
		a, err := allocation.Current()
		// One of which a part is missing is none; the launcher warns of it.
		if bad, ok := errors.AsType[*allocation.VariableError](err); ok && !bad.Incomplete {
			return nil, c.refusedAllocation(bad)
		}
		if a != nil {
			if name != "" {
				c.notes = append(c.notes, fmt.Sprintf("GORUN_HOSTFILE is not read: the hosts are those of %v (--allocation none: not)", a))
			}
			return a.Hosts, nil
		}
	}
	if name != "" {
		hosts, err := hostfiles.ReadFile(name)
		return hosts, c.refusedHosts("GORUN_HOSTFILE: ", err)
	}
	c.noteHostVariables()
	return nil, nil
}

// listedHosts returns the hosts that -H names: of -hostfile's, if that is there too,
// as Open MPI has it. Slots of -H take the place of the file's.
func (c *command) listedHosts() ([]hostfiles.Host, error) {
	hosts, err := hostfiles.ParseList(strings.Join(c.hostList, ","))
	if err != nil {
		return nil, c.refusedHosts("-H: ", err)
	}
	if c.hostfile == "" {
		c.noteHostfile(hosts)
		return hosts, nil
	}
	file, err := hostfiles.ReadFile(c.hostfile)
	if err != nil {
		return nil, c.refusedHosts("", err)
	}
	var chosen []hostfiles.Host
	for _, h := range hosts {
		before := len(chosen)
		for _, entry := range file {
			if sameHost(h, entry) {
				entry.Slots, entry.Turns = cmp.Or(h.Slots, entry.Slots), h.Turns
				chosen = append(chosen, entry)
			}
		}
		if len(chosen) == before {
			var names []string
			for _, entry := range file {
				names = append(names, entry.Name)
			}
			return nil, refusal(fmt.Sprintf("-H: expected hosts of %s, which are %s, found %s", c.hostfile, listed(names), h.Name),
				"without the file: "+c.withoutFlag("hostfile"))
		}
	}
	return chosen, nil
}

// sameHost reports whether an entry of a hostfile is of the host that a list names,
// of whatever user if that names none. Case makes no difference (RFC 4343).
func sameHost(named, entry hostfiles.Host) bool {
	return strings.EqualFold(named.Name, entry.Name) && (named.User == "" || named.User == entry.User)
}

// noteHostfile notes that GORUN_HOSTFILE says of a host how to log in to it, and is
// not read.
func (c *command) noteHostfile(hosts []hostfiles.Host) {
	name := os.Getenv("GORUN_HOSTFILE")
	if name == "" || name == "-" {
		return
	}
	file, _ := hostfiles.ReadFile(name) // it is no matter what is in it where hosts are named
	for _, entry := range file {
		if entry.Port == 0 && entry.User+entry.Key+entry.Jump == "" {
			continue
		}
		if slices.ContainsFunc(hosts, func(h hostfiles.Host) bool { return sameHost(h, entry) }) {
			c.notes = append(c.notes, fmt.Sprintf("of %s GORUN_HOSTFILE says how to log in, but with -H it is not read; to choose among its hosts: %s",
				entry.Name, c.withFlag("hostfile", name)))
			return
		}
	}
}

// refusedAllocation tells how to go on without a scheduler's variables that make
// no sense.
func (c *command) refusedAllocation(err *allocation.VariableError) error {
	return refusal(err.Error(),
		fmt.Sprintf("if this shell is in no job of %s any more: unset %s", err.Scheduler, err.Name),
		"to leave the allocation out of account: "+c.withFlag("allocation", "none"))
}

// refusedHosts adds to a host list's problems what a host list is.
func (c *command) refusedHosts(by string, err error) error {
	withoutFile := "without a file: " + c.line().typed([]string{"-H", "node1:8,node2:8", "…"})
	switch hint := "a host is written: node1 slots=8, node1:8 or user@node1 port=2222"; {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EISDIR):
		return refusal(by+err.Error()+"; expected a file", withoutFile)
	case errors.Is(err, fs.ErrNotExist):
		return refusal(by+err.Error(), append(pathHints(err), withoutFile)...)
	default:
		return refusal(by+hostProblems(err), hint)
	}
}

// hostProblems returns the first problems of a host list. A file that is none
// at all has one on every line.
func hostProblems(err error) string {
	const enough = 3
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err.Error()
	}
	problems := joined.Unwrap()
	for _, p := range problems {
		if syntax, ok := errors.AsType[*hostfiles.SyntaxError](p); ok && strings.Contains(syntax.Found, "\x00") {
			return fmt.Sprintf("%s: expected a list of hosts, found a file that is not text", syntax.Pos.File)
		}
	}
	text := errors.Join(problems[:min(enough, len(problems))]...).Error()
	if more := len(problems) - enough; more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}

// checkSSHConfig refuses a host list given as -F, which is a list of hosts to
// other launchers and ssh's configuration to ssh and to us.
func (c *command) checkSSHConfig() error {
	name := c.job.SSH.Config
	if name == "" || name == "none" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return refusal(fmt.Sprintf("-F: %v", err), append(pathHints(err), "-F none reads no ssh_config at all")...)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return refusal("-F: expected an ssh_config, found the folder "+name, "-F none reads no ssh_config at all")
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "\x00") {
			return refusal("-F: expected an ssh_config, found a file that is not text: "+name, "-F none reads no ssh_config at all")
		}
		words := strings.FieldsFunc(lines.Text(), func(r rune) bool { return r == ' ' || r == '\t' })
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		// Every line of an ssh_config has a keyword and a value; the value may
		// stand behind "=". No keyword is followed by slots=N.
		if strings.Contains(lines.Text(), "slots=") || len(words) == 1 && !strings.Contains(words[0], "=") {
			return refusal("-F: expected an ssh_config, found the host list "+name, c.line().typed([]string{"-hostfile", name, "…"}))
		}
	}
	return nil // an unreadable rest is the SSH client's to refuse
}

// checkKey refuses a file behind -i that is no key: srun and bsub have their ranks
// read it. What cannot be read is the SSH client's to judge, as it is of OpenSSH's.
func checkKey(name string) error {
	f, err := os.Open(name)
	if name == "" || err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 4<<10)
	n, err := io.ReadFull(f, head)
	if n == 0 && err != io.EOF { // a folder, for one
		return nil
	}
	head = head[:n]
	if bytes.Contains(head, []byte("PRIVATE KEY")) || bytes.Contains(head, []byte("ssh-")) || bytes.Contains(head, []byte("sk-")) || bytes.HasPrefix(head, []byte("ecdsa-")) {
		return nil // PEM and OpenSSH's own form, or a public half whose other is with the signing agent
	}
	return refusal("-i: expected a private key to log in with, found a file that is none: "+name, "for ranks to read it: gorun … <"+quoted(name))
}
