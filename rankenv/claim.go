package rankenv

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
)

// field is one of the numbers of a World. They come in pairs, a place and the
// number of places, and a launcher tells both or neither.
type field int

const (
	rank field = iota
	size
	localRank
	localSize
	node
	nodes
	fields // their number
)

var fieldNames = [fields]string{"rank", "size", "local rank", "local size", "node", "nodes"}

// claim is what the variables of one launcher say.
type claim struct {
	names  [fields]string // of the variables; "": not told
	values [fields]int
	world  World // all but the numbers above
}

func (c *claim) told(f field) bool { return c.names[f] != "" }

// variables are an environment by name.
type variables map[string]string

// reader reads the variables of one launcher. If they are not there, the claim
// tells no rank and there is no problem.
type reader func(variables) (claim, []error)

// claim reads the numbers that are in the variables called names, "" where the
// launcher has none, and checks that they are places in a world.
func (env variables) claim(by Launcher, names [fields]string) (c claim, errs []error) {
	c.world.By = by
	limit := math.MaxInt32
	for place := rank; place < fields; place += 2 {
		count := place + 1
		x, n := env[names[place]], env[names[count]]
		if x == "" && n == "" {
			if place == rank {
				return c, nil // the set is not there
			}
			continue
		}
		if err := env.missing(names[place], names[count]); err != nil {
			errs = append(errs, err)
			continue
		}
		want := fmt.Sprintf("a number from 1 to %d", limit)
		if place != rank {
			want += ", at most " + names[size]
		}
		total, ok := decimal(n, limit)
		if !ok || total == 0 {
			errs = append(errs, &VarError{names[count], n, want})
			if place == rank {
				return c, errs // what follows is limited by it
			}
			continue
		}
		i, ok := decimal(x, total-1)
		if !ok {
			errs = append(errs, &VarError{names[place], x, fmt.Sprintf("a number from 0 to %d, below %s", total-1, names[count])})
		}
		if place == rank {
			limit = total
		}
		c.names[place], c.values[place] = names[place], i
		c.names[count], c.values[count] = names[count], total
	}
	return c, errs
}

// missing returns an error if one of two variables is there and the other not.
func (env variables) missing(a, b string) error {
	switch {
	case env[a] == "" && env[b] != "":
		return &VarError{Name: a, Want: "a value beside " + b + "=" + env[b]}
	case env[a] != "" && env[b] == "":
		return &VarError{Name: b, Want: "a value beside " + a + "=" + env[a]}
	}
	return nil
}

// count reads a number that may be missing: then it is 0.
func (env variables) count(name string) (int, error) {
	if env[name] == "" {
		return 0, nil
	}
	n, ok := decimal(env[name], math.MaxInt32)
	if !ok {
		return 0, &VarError{name, env[name], "a number"}
	}
	return n, nil
}

// hostPort reads host:port, with an IPv6 address in brackets; it may be missing.
func (env variables) hostPort(name string) (string, error) {
	value := env[name]
	if value == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(value)
	if err != nil || !isHost(host) || !isPort(port) {
		return "", &VarError{name, value, "host:port, an IPv6 address in brackets"}
	}
	return net.JoinHostPort(host, port), nil
}

// isHost accepts what can be a name or an address, without brackets.
func isHost(s string) bool {
	return s != "" && !strings.ContainsAny(s, "[]/ \t\r\n")
}

// isPort accepts the numbers of TCP's ports, but for 0, which is none to reach.
func isPort(s string) bool {
	n, ok := decimal(s, math.MaxUint16)
	return ok && n > 0
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
