package remote

import (
	_ "embed"
	"fmt"
	"strings"
)

// bootCommand is the command line that starts everything. Login shells from
// dash to csh and fish read it alike: no quote, exclamation mark, backslash or
// newline is inside the quotes. The rest comes over standard input, as one
// line, since read takes not a byte more than that from a pipe; printf makes
// it several.
const bootCommand = `exec /bin/sh -c 'IFS= read -r s; eval "$(printf %b "$s")"'`

//go:embed boot.sh
var bootScript string

// cacheFolders are where a host may keep the program, as shell words. A home
// may be missing, full, or mounted noexec; so may each of the others.
const cacheFolders = `"${XDG_CACHE_HOME:+$XDG_CACHE_HOME/gorun}" "${HOME:+$HOME/.cache/gorun}" ` +
	`"/var/tmp/gorun-$uid" "/tmp/gorun-$uid" "/dev/shm/gorun-$uid"`

// scriptLine returns what bootCommand reads. The script speaks behind marker,
// looks in folders, and runs the program as start says; system and d are those
// of the program at hand.
func scriptLine(marker, system string, d digest, folders string, start Start) (string, error) {
	var b strings.Builder
	doubt := ""
	if start.Doubt {
		doubt = "yes"
	}
	fmt.Fprintf(&b, "m=%s own=%s h=%s n=%d doubt=%s folders=%s\n", marker, shellQuote(system), d.hash, d.size, doubt, shellQuote(folders))
	b.WriteString(`agent() { exec "$1"`)
	for _, arg := range start.Args {
		if strings.ContainsAny(arg, "\x00") {
			return "", fmt.Errorf("argument %q has a zero byte", arg)
		}
		b.WriteString(" " + shellQuote(arg))
	}
	b.WriteString("; }\n")
	for line := range strings.Lines(bootScript) {
		if line = strings.TrimLeft(line, "\t"); line != "\n" && !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	// What printf %b turns back. No other sequence can arise, every backslash
	// being doubled.
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(b.String()) + "\n", nil
}

// shellQuote makes one word of s for /bin/sh.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
