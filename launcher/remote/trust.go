package remote

import (
	"fmt"
	"path/filepath"
	"strings"
)

// acceptsNewKeys reads StrictHostKeyChecking. We cannot ask in the middle of
// a launch to many hosts, so ask means yes. We never skip the check, so no
// means accept-new: it still lets unknown hosts in, and a changed key does not
// go unnoticed.
func (d *Dialer) acceptsNewKeys(e *evaluation) (bool, error) {
	if d.conf.AcceptNewHostKeys {
		return true, nil
	}
	switch v := e.first("stricthostkeychecking"); strings.ToLower(v) {
	case "", "yes", "true", "ask":
		return false, nil
	case "accept-new":
		return true, nil
	case "no", "false", "off":
		d.log.Info("StrictHostKeyChecking no is taken as accept-new: changed host keys are refused", "at", e.pos("stricthostkeychecking"))
		return true, nil
	default:
		return false, fmt.Errorf("%s: StrictHostKeyChecking: expected yes, accept-new, ask or no, found %q", e.pos("stricthostkeychecking"), v)
	}
}

// knownHostsFiles returns the files to look in and the one that new keys go
// to.
func knownHostsFiles(e *evaluation, t tokens, u localUser) (files []string, add string, err error) {
	ssh := filepath.Join(u.home, ".ssh")
	for _, list := range []struct {
		keyword  string
		defaults []string
	}{
		{"UserKnownHostsFile", []string{filepath.Join(ssh, "known_hosts"), filepath.Join(ssh, "known_hosts2")}},
		{"GlobalKnownHostsFile", []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}},
	} {
		names := e.list(strings.ToLower(list.keyword))
		if names == nil {
			files = append(files, list.defaults...)
		}
		for _, name := range names {
			if strings.EqualFold(name, "none") {
				continue
			}
			name, err := t.expand(list.keyword, name)
			if err != nil {
				return nil, "", err
			}
			files = append(files, u.expandHome(name))
		}
		if list.keyword == "UserKnownHostsFile" && len(files) > 0 {
			add = files[0]
		}
	}
	return files, add, nil
}
