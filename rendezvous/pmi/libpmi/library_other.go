//go:build !linux || (!amd64 && !arm64)

package libpmi

// Library is the shared library for this architecture, "" if there is none.
const Library = ""
