//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// The accounts of every host. They exist in the hosts' own /etc/passwd only.
const (
	// User is the ordinary user's name.
	User = "gorun"
	// UID is the number of the ordinary user and of its group.
	UID = 4242
	// Root is the other user with a shell.
	Root = "root"
)

// A Variant says how a host differs from a plain one.
type Variant struct {
	// Login is the user whom the SSH configuration names for this host: User or
	// Root. Empty: User. Only that user may log in.
	Login string

	// Shell is the login shell of both users, an absolute path. Empty: /bin/bash.
	Shell string

	// NoHome leaves out the ordinary user's home, which that user cannot create.
	NoHome bool

	// NoExec lists private folders mounted noexec: some of /tmp, /var/tmp,
	// /dev/shm, /run, /home, /root.
	NoExec []string

	// Size limits private folders, in bytes. Absent: half of the memory.
	Size map[string]int64

	// SSHD holds lines for the top of sshd_config; sshd takes the first value of
	// a keyword.
	SSHD string
}

// Varied returns the four variants that launchers must cope with: login as
// root, no home, noexec /tmp, and csh as login shell.
func Varied() []Variant {
	return []Variant{
		{Login: Root},
		{NoHome: true},
		{NoExec: []string{"/tmp"}},
		{Shell: "/bin/tcsh"},
	}
}

func (v *Variant) validate() error {
	var problems []error
	if v.Login != "" && v.Login != User && v.Login != Root {
		problems = append(problems, fmt.Errorf("login %q: expected %s or %s", v.Login, User, Root))
	}
	if v.NoHome && v.Login == Root {
		problems = append(problems, errors.New("no home: expected the login of the ordinary user"))
	}
	if v.Shell != "" {
		if _, err := os.Stat(v.Shell); err != nil {
			problems = append(problems, fmt.Errorf("shell: %w", err))
		}
	}
	private := func(path string) bool {
		return slices.ContainsFunc(privateFolders, func(f folder) bool { return f.Path == path })
	}
	for _, path := range v.NoExec {
		if !private(path) {
			problems = append(problems, fmt.Errorf("noexec %q: not a private folder", path))
		}
	}
	for path, size := range v.Size {
		if !private(path) || size <= 0 {
			problems = append(problems, fmt.Errorf("size %d of %q: expected a positive size of a private folder", size, path))
		}
	}
	return errors.Join(problems...)
}
