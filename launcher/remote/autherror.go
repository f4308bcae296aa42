package remote

import (
	"fmt"
	"strings"
)

// AuthError says that a host let the user in with none of the keys.
type AuthError struct {
	User    string
	Methods []string // what the server accepts: "publickey", "password"
	Keys    []string // those it was offered, in order
	Trouble []string // why keys and agents that were asked for could not be used
	Err     error    // what ended the authentication
}

func (e *AuthError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "user %s was not let in: ", e.User)
	if len(e.Keys) == 0 {
		b.WriteString("no key to try")
	} else {
		fmt.Fprintf(&b, "tried %s", strings.Join(e.Keys, ", "))
	}
	for _, t := range e.Trouble {
		fmt.Fprintf(&b, "; %s", t)
	}
	if len(e.Methods) > 0 {
		fmt.Fprintf(&b, "; the server accepts %s", strings.Join(e.Methods, ", "))
	}
	fmt.Fprintf(&b, " (%v); gorun logs in with keys only: give one with -i or key=, or add it to ssh-agent", e.Err)
	return b.String()
}

func (e *AuthError) Unwrap() error { return e.Err }
