//go:build linux

package agent

import (
	"os"
	"path/filepath"
	"strings"
)

// libraryFolders is where programs usually find a library that no variable leads
// them to.
var libraryFolders = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
	"/usr/local/lib", "/usr/local/cuda/lib64",
}

// findLibrary returns the file to which a library's name leads, whose own name
// ends in the version; "" if it is not found. path is LD_LIBRARY_PATH.
func findLibrary(name, path string) string {
	for _, folder := range append(filepath.SplitList(path), libraryFolders...) {
		if file, err := filepath.EvalSymlinks(filepath.Join(folder, name)); err == nil {
			return file
		}
	}
	return ""
}

// driverVersion returns the version of NVIDIA's driver that a file tells, "" if
// there is none. The file begins, in one of two forms, with
//
//	NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug …
//	NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release …
func driverVersion(file string) string {
	b, _ := os.ReadFile(file)
	line, _, _ := strings.Cut(string(b), "\n")
	for word := range strings.FieldsSeq(line) {
		if strings.Contains(word, ".") && strings.Trim(word, "0123456789.") == "" {
			return word
		}
	}
	return ""
}
