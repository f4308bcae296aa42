package launcher

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorun/gorun/launcher/wire"
)

// ports is where the job listens; prepare has refused what is no range.
func (j *Job) ports() wire.PortRange {
	r, _ := parsePorts(j.Ports)
	return r
}

// parsePorts reads a range of ports, "A-B".
func parsePorts(s string) (wire.PortRange, error) {
	if s == "" {
		return wire.PortRange{}, nil
	}
	a, b, _ := strings.Cut(s, "-")
	first, errFirst := strconv.ParseUint(a, 10, 16)
	last, errLast := strconv.ParseUint(b, 10, 16)
	if errFirst != nil || errLast != nil || first == 0 || last < first {
		return wire.PortRange{}, fmt.Errorf("--ports: expected two port numbers from 1 to 65535, as 40000-40099, found %q", s)
	}
	return wire.PortRange{First: int(first), Last: int(last)}, nil
}
