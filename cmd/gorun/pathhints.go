package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// pathHints returns what to do about a file of this host that is missing.
func pathHints(err error) []string {
	if missing, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return homeHints(missing.Path)
	}
	return nil
}

// homeHints returns what to write for a path that begins with the sign of the
// home folder, which gorun gets to see only where the shell did not replace
// it; nil for any other path.
func homeHints(path string) []string {
	rest, found := strings.CutPrefix(path, "~")
	home, err := os.UserHomeDir()
	if !found || rest != "" && rest[0] != '/' || err != nil {
		return nil
	}
	return []string{`the shell replaces "~" only where a word begins, outside of quotation marks: ` + quoted(filepath.Join(home, rest))}
}
