//go:build linux

package agent

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// hostsOwn are NCCL's variables that may well differ from host to host: those of
// what interfaces are called there, and those that name the host itself.
var hostsOwn = []string{ifnameVar, "NCCL_OOB_NET_IFNAME", rasVar, "NCCL_HOSTID"}

// ncclSettings returns what NCCL is set to by a rank's environment and by the
// files that it reads beside it (src/misc/param.cc of NCCL 2.27): the user's or
// the one that NCCL_CONF_FILE names, then the system's. What comes first counts.
func ncclSettings(env []string, system string) []string {
	settings := map[string]string{}
	take := func(entry string) {
		name, value, ok := strings.Cut(entry, "=")
		if _, known := settings[name]; ok && !known && strings.HasPrefix(name, "NCCL_") && !slices.Contains(hostsOwn, name) {
			settings[name] = value
		}
	}
	for _, entry := range env {
		take(entry)
	}
	user := lookupEnv(env, "NCCL_CONF_FILE")
	if home := lookupEnv(env, "HOME"); user == "" && home != "" {
		user = filepath.Join(home, ".nccl.conf")
	}
	for _, file := range []string{user, system} {
		for line := range strings.Lines(readConf(file)) {
			take(strings.TrimRight(line, "\r\n"))
		}
	}
	var list []string
	for name, value := range settings {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// maxConf bounds what is read of a file of NCCL's settings.
const maxConf = 64 << 10

// readConf returns what a file of settings says, "" if there is none.
func readConf(path string) string {
	f, _, err := openRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxConf))
	return string(b)
}
