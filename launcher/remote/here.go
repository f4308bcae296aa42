package remote

import (
	"os"
	"strings"

	"github.com/gorun/gorun/hostfiles"
)

// IsLocal says whether h is the host this process runs on: localhost,
// 127.0.0.1, ::1 or the name of this host, written without port, user, key or
// jump host. Who writes one of these means to log in. 127.0.0.2 and the other
// addresses of the loopback network are hosts like any other.
func IsLocal(h hostfiles.Host) bool {
	self, err := os.Hostname()
	if err != nil {
		self = "localhost"
	}
	return isLocal(h, self)
}

// isLocal is IsLocal on the host that calls itself self. The first label of
// our full name counts as ours; a full name is not taken for ours because of
// its first label.
func isLocal(h hostfiles.Host, self string) bool {
	if h.Port != 0 || h.User != "" || h.Key != "" || h.Jump != "" {
		return false
	}
	label, _, _ := strings.Cut(self, ".")
	for _, name := range []string{"localhost", "127.0.0.1", "::1", self, label} {
		if name != "" && strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}
