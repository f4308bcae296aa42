package remote

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// localUser is whoever runs this process.
type localUser struct {
	name, home, uid string
	host            string // this host's name
}

func currentUser() (localUser, error) {
	u := localUser{uid: strconv.Itoa(os.Getuid())}
	account, err := user.Current()
	if err == nil {
		u.name, u.home = account.Username, account.HomeDir
	}
	// HOME goes before the account's folder, so that a job in a container or
	// with a borrowed home finds the keys it was given.
	if home, homeErr := os.UserHomeDir(); homeErr == nil {
		u.home = home
	}
	if u.name == "" {
		u.name = os.Getenv("USER")
	}
	if u.name == "" || u.home == "" {
		return u, fmt.Errorf("who is logged in: uid %s has no name or no home folder (set USER and HOME): %w", u.uid, err)
	}
	if u.host, err = os.Hostname(); err != nil {
		u.host = "localhost"
	}
	return u, nil
}

// expandHome replaces a leading ~ or ~name by a home folder. An unknown name
// leaves the path alone.
func (u localUser) expandHome(path string) string {
	if !strings.HasPrefix(path, "~") {
		return path
	}
	name, rest, _ := strings.Cut(path[1:], "/")
	home := u.home
	if name != "" {
		account, err := user.Lookup(name)
		if err != nil {
			return path
		}
		home = account.HomeDir
	}
	return filepath.Join(home, rest)
}

// tokens are the % sequences of ssh_config(5), section TOKENS, for one host.
type tokens map[byte]string

func (s *settings) tokens(u localUser) tokens {
	short, _, _ := strings.Cut(u.host, ".")
	alias := s.HostKeyAlias
	if alias == "" {
		alias = s.Name
	}
	t := tokens{
		'%': "%", 'd': u.home, 'h': s.HostName, 'i': u.uid, 'k': alias, 'L': short, 'l': u.host,
		'n': s.Name, 'p': strconv.Itoa(s.Port), 'r': s.User, 'u': u.name, 'j': "",
	}
	return t.with('j', "")
}

// with returns the tokens with another value for one, and the hash of all.
func (t tokens) with(token byte, value string) tokens {
	t = maps.Clone(t)
	t[token] = value
	hash := sha1.Sum([]byte(t['l'] + t['h'] + t['p'] + t['r'] + t['j']))
	t['C'] = hex.EncodeToString(hash[:])
	return t
}

// expand replaces % sequences and ${VARIABLES} in a value of keyword.
func (t tokens) expand(keyword, value string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == '%':
			if i++; i == len(value) {
				return "", fmt.Errorf("%s %s: a %% stands at the end", keyword, value)
			}
			text, ok := t[value[i]]
			if !ok {
				return "", fmt.Errorf("%s %s: %%%c is unknown", keyword, value, value[i])
			}
			out.WriteString(text)
		case strings.HasPrefix(value[i:], "${"):
			name, _, ok := strings.Cut(value[i+2:], "}")
			if !ok {
				return "", fmt.Errorf("%s %s: ${ has no end", keyword, value)
			}
			text, ok := os.LookupEnv(name)
			if !ok {
				return "", fmt.Errorf("%s %s: the variable %s is not set", keyword, value, name)
			}
			out.WriteString(text)
			i += len("${}") + len(name) - 1
		default:
			out.WriteByte(value[i])
		}
	}
	return out.String(), nil
}
