package remote

import (
	"fmt"
	"slices"
	"strings"
)

// AuthError says that a host did not let the user in.
type AuthError struct {
	User    string
	Methods []string // what the server accepts: "publickey", "password"
	Keys    []string // those it was offered, in order
	Asked   bool     // the user was asked for a password, a code or the like
	Trouble []string // why keys and agents that were asked for could not be used
	Err     error    // what ended the authentication

	hardware          string // a key that would have been let in, and that only ssh can use; "": none
	gssapi, hostBased bool   // the configuration allows these
}

func (e *AuthError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "user %s was not let in: ", e.User)
	switch {
	case len(e.Keys) > 0:
		fmt.Fprintf(&b, "tried %s", strings.Join(e.Keys, ", "))
	case e.Asked:
		b.WriteString("the answers were not accepted")
	default:
		b.WriteString("no key to try")
	}
	for _, t := range e.Trouble {
		fmt.Fprintf(&b, "; %s", t)
	}
	if len(e.Methods) > 0 {
		fmt.Fprintf(&b, "; the server accepts %s", strings.Join(e.Methods, ", "))
	}
	if e.Err != nil && !e.explains(e.Err.Error()) {
		fmt.Fprintf(&b, " (%v)", e.Err)
	}
	b.WriteString("; give another key with -i or key=, or add one to ssh-agent")
	return b.String()
}

// explains says whether the rest of the message has what cause says: that there
// is nothing left to try, or why something could not be used.
func (e *AuthError) explains(cause string) bool {
	return strings.Contains(cause, "no supported methods remain") ||
		slices.ContainsFunc(e.Trouble, func(t string) bool { return strings.Contains(cause, t) })
}

func (e *AuthError) Unwrap() error { return e.Err }
