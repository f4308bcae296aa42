package launcher

import "strings"

// noProcess is what shells and the Go runtime say, in lower case, when the kernel
// grants them no other process or thread (fork(2) and clone(2), EAGAIN).
var noProcess = []string{"cannot fork", "resource temporarily unavailable", "failed to create new os thread"}

// exhaustionHint says what to do about a host on which an agent did not start, or
// ended, because the user may have no more processes there; "" if that is not why.
func exhaustionHint(err error) string {
	said := strings.ToLower(err.Error())
	for _, words := range noProcess {
		if strings.Contains(said, words) {
			return "raise the limit of the user's processes there, which counts threads (ulimit -u, or /etc/security/limits.conf), or run fewer ranks there"
		}
	}
	return ""
}
