package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/gorun/gorun/hostfiles"
)

// hosts reads the host list that the command names, or else the file that
// GORUN_HOSTFILE does; nil if there is neither. Its error is a *usageError.
func (c *command) hosts() ([]hostfiles.Host, error) {
	if len(c.hostList) > 0 {
		hosts, err := hostfiles.ParseList(strings.Join(c.hostList, ","))
		return hosts, refusedHosts("-H: ", err)
	}
	if c.hostfile != "" {
		hosts, err := hostfiles.ReadFile(c.hostfile)
		return hosts, refusedHosts("", err)
	}
	if name := os.Getenv("GORUN_HOSTFILE"); name != "" {
		hosts, err := hostfiles.ReadFile(name)
		return hosts, refusedHosts("GORUN_HOSTFILE: ", err)
	}
	return nil, nil
}

// refusedHosts adds to a host list's problems how a host is written.
func refusedHosts(by string, err error) error {
	if err == nil {
		return nil
	}
	hint := "a host is written: node1 slots=8, node1:8 or user@node1 port=2222"
	if errors.Is(err, fs.ErrNotExist) {
		hint = "without a file: gorun -H node1:8,node2:8 …"
	}
	return refusal(by+err.Error(), hint)
}

// checkSSHConfig refuses a host list given as -F, which is a list of hosts to
// other launchers and ssh's configuration to ssh and to us.
func checkSSHConfig(name string) error {
	if name == "" || name == "none" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return refusal(fmt.Sprintf("-F: %v", err), "-F none reads no ssh_config at all")
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.FieldsFunc(lines.Text(), func(r rune) bool { return r == ' ' || r == '\t' })
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		// Every line of an ssh_config has a keyword and a value; the value may
		// stand behind "=". No keyword is followed by slots=N.
		if strings.Contains(lines.Text(), "slots=") || len(words) == 1 && !strings.Contains(words[0], "=") {
			return refusal("-F: expected an ssh_config, found the host list "+name, "gorun -hostfile "+quoted(name)+" …")
		}
	}
	return nil // an unreadable rest is the SSH client's to refuse
}
