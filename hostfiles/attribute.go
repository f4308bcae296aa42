package hostfiles

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Limits of values. Ports are TCP's; the others are ours, far above any host,
// so that sums cannot overflow and a short line cannot fill the memory.
const (
	maxPort  = 65_535
	maxSlots = 1 << 20
	maxGPU   = 127
)

// attribute is a name=value that a line may have. Reading, printing and joining
// the lines of a repeated host all go by the table of them.
type attribute struct {
	name, want string
	get        func(*Host) string       // the value in its shortest form; "": not written
	set        func(*Host, string) bool // reports whether the value is one
}

// attributes are in the order in which they are printed.
var attributes = []attribute{
	number("slots", maxSlots, func(h *Host) *int { return &h.Slots }),
	number("max_slots", maxSlots, func(h *Host) *int { return &h.MaxSlots }),
	text("user", "user=NAME", validUser, func(h *Host) *string { return &h.User }),
	number("port", maxPort, func(h *Host) *int { return &h.Port }),
	text("key", "key=PATH", printable, func(h *Host) *string { return &h.Key }),
	text("jump", "jump=[USER@]HOST[:PORT]", validJump, func(h *Host) *string { return &h.Jump }),
	{"addr", "addr=ADDRESS, an IP address of the host", getAddr, setAddr},
	{"gpus", "gpus=LIST, as 0-3,7 or ^2,3 with numbers to " + strconv.Itoa(maxGPU) + ", none twice", getGPUs, setGPUs},
	text("iface", "iface=NAME or iface=CIDR", validIface, func(h *Host) *string { return &h.Iface }),
	text("rack", "rack=NAME", printable, func(h *Host) *string { return &h.Rack }),
	text("switch", "switch=NAME", printable, func(h *Host) *string { return &h.Switch }),
}

// synonyms are other launchers' names for our attributes.
var synonyms = map[string]string{"max-slots": "max_slots", "username": "user"}

// attributeNames is what is expected where an attribute could stand.
var attributeNames = func() string {
	var names []string
	for _, a := range attributes {
		names = append(names, a.name+"=")
	}
	return "one of " + strings.Join(names, " ")
}()

// attribute reads the next attribute of l into e, and reports whether it could.
func (p *parser) attribute(l *line, e *entry) bool {
	start, column := l.at, l.column()
	name := l.until(func(c byte) bool { return blank(c) || c == '=' })
	canonical := name
	if s, ok := synonyms[name]; ok {
		canonical = s
	}
	i := slices.IndexFunc(attributes, func(a attribute) bool { return a.name == canonical })

	after := l.at
	l.skip()
	assigned := l.accept('=')
	if !assigned && i < 0 {
		l.at = after // what follows is another word
		p.refuse(column, attributeNames, name)
		return false
	}
	value, ok := l.value()
	written := strings.TrimRight(l.text[start:l.at], " \t")
	switch {
	case i < 0:
		p.refuse(column, attributeNames, written)
		return false
	case !assigned:
		p.refuse(column, attributes[i].want, written)
		return false
	case e.columns[canonical] != 0:
		want := canonical + "= only once"
		if canonical == "slots" {
			want += `, and ":N" says it too (a port is port=N)`
		}
		p.refuse(column, want, written)
		return false
	case !ok || !attributes[i].set(&e.Host, value):
		p.refuse(column, attributes[i].want, written)
		return false
	}
	e.columns[canonical] = column
	return true
}

// number makes an attribute of a whole number from 1 to limit.
func number(name string, limit int, field func(*Host) *int) attribute {
	return attribute{
		name: name,
		want: name + "=N, N from 1 to " + strconv.Itoa(limit),
		get: func(h *Host) string {
			if *field(h) == 0 {
				return ""
			}
			return strconv.Itoa(*field(h))
		},
		set: func(h *Host, value string) bool {
			n, ok := decimal(value, limit)
			*field(h) = n
			return ok && n > 0
		},
	}
}

// text makes an attribute of a string that is not empty and valid.
func text(name, want string, valid func(string) bool, field func(*Host) *string) attribute {
	return attribute{
		name: name,
		want: want,
		get:  func(h *Host) string { return *field(h) },
		set: func(h *Host, value string) bool {
			*field(h) = value
			return value != "" && valid(value)
		},
	}
}

func getAddr(h *Host) string { return h.Addr }

func setAddr(h *Host, value string) bool {
	if inner, ok := strings.CutPrefix(value, "["); ok {
		if value, ok = strings.CutSuffix(inner, "]"); !ok {
			return false
		}
	}
	h.Addr = value
	addr, ok := address(value)
	return ok && !addr.IsUnspecified() && !addr.IsMulticast()
}

// validIface accepts the name of an interface or a CIDR.
func validIface(s string) bool {
	if strings.Contains(s, "/") {
		_, err := netip.ParsePrefix(s)
		return err == nil
	}
	return interfaceName(s)
}

// validJump leaves the form to ssh, but for what it would take for an option
// or for several words.
func validJump(s string) bool {
	return printable(s) && s[0] != '-' && !strings.Contains(s, " ")
}

// decimal reads a number from 0 to limit, in decimal digits only: "010" is ten.
func decimal(s string, limit int) (int, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > uint64(limit) {
		return 0, false
	}
	return int(n), true
}
