package libpmi

import _ "embed"

// Library is the shared library for this architecture, "" if there is none.
//
//go:embed libpmi_arm64.so
var Library string
