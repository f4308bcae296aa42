package remote

import (
	"path"
	"runtime"
	"strings"
)

// uname has what "uname -sm" prints on the systems that Go names.
// Patterns, since 32-bit machines have many names.
var uname = []struct{ goos, goarch, system string }{
	{"linux", "amd64", "Linux x86_64"},
	{"linux", "arm64", "Linux aarch64"},
	{"linux", "ppc64le", "Linux ppc64le"},
	{"linux", "s390x", "Linux s390x"},
	{"linux", "riscv64", "Linux riscv64"},
	{"linux", "loong64", "Linux loongarch64"},
	{"linux", "386", "Linux i?86"},
	{"linux", "arm", "Linux armv*"},
	{"darwin", "arm64", "Darwin arm64"},
	{"darwin", "amd64", "Darwin x86_64"},
	{"freebsd", "amd64", "FreeBSD amd64"},
	{"freebsd", "arm64", "FreeBSD arm64"},
}

// goSystem returns Go's name of what uname -sm printed.
func goSystem(system string) (goos, goarch string, ok bool) {
	for _, u := range uname {
		if ok, _ := path.Match(u.system, system); ok {
			return u.goos, u.goarch, true
		}
	}
	return "", "", false
}

// ownSystem returns what uname -sm prints here, or what it prints nowhere if
// that is not one string.
func ownSystem() string {
	for _, u := range uname {
		if u.goos == runtime.GOOS && u.goarch == runtime.GOARCH && !strings.ContainsAny(u.system, "?*") {
			return u.system
		}
	}
	return "unknown"
}
