package hostfiles

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds the length of a host's name in bytes (RFC 1035, section
// 2.3.4, less the length octet and the root).
const maxName = 253

// maxIface bounds the name of an interface in bytes (Linux: IFNAMSIZ less the
// terminating zero).
const maxIface = 15

// validName accepts host names, the aliases of ssh_config, and addresses of
// IPv4. Names are taken verbatim: neither dots nor dashes separate anything.
func validName(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '-' || s[0] == '.' {
		return false // ssh would take "-x" for an option
	}
	for _, r := range s {
		if r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	if strings.Contains(s, ".") && strings.Trim(s, "0123456789.") == "" {
		_, ok := address(s) // 10.0.0.256 is a slip, no name
		return ok
	}
	return utf8.ValidString(s)
}

// validUser accepts what OpenSSH accepts as a user (valid_ruser in its ssh.c):
// nothing that a shell or ssh itself could take for something else.
func validUser(s string) bool {
	return printable(s) && s[0] != '-' && !strings.ContainsAny(s, " '`\";&<>|(){}") && !strings.HasSuffix(s, `\`)
}

// interfaceName accepts what Linux accepts (dev_valid_name in net/core/dev.c).
func interfaceName(s string) bool {
	return s != "" && len(s) <= maxIface && s != "." && s != ".." && printable(s) && !strings.ContainsAny(s, "/: ")
}

// address reads an IP address. Its zone, if any, could be an interface, and
// leaves the brackets around it readable.
func address(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(s)
	zone := addr.Zone()
	return addr, err == nil && (zone == "" || interfaceName(zone) && !strings.ContainsAny(zone, "[]"))
}

// printable accepts text that shows as it is: no control characters, no blanks
// but the space, nothing that is not UTF-8.
func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}
