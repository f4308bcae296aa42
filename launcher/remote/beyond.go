package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/gorun/gorun/hostfiles"
)

// What this package cannot do, OpenSSH's ssh does in its stead. There are two
// kinds. A directive that decides by itself who the host is or how the user logs
// in is seen in the configuration. Whether a server wants a key that is in a
// piece of hardware, or Kerberos, is known only when it has let in with nothing
// else.

// unsupported returns the first directive of the first kind that is in force, by
// name, and where it stands, or "".
func unsupported(e *evaluation) string {
	for _, keyword := range slices.Sorted(maps.Keys(e.values)) {
		if v := e.first(keyword); keywords[keyword] == beyond && !strings.EqualFold(v, "none") && !isNo(v) {
			return fmt.Sprintf("%s: %s %s", e.pos(keyword), keyword, v)
		}
	}
	return ""
}

// beyondUs says why only ssh can log in to the host, or to one on the way; "":
// we can.
func (s *settings) beyondUs() string {
	for ; s != nil; s = s.Jump {
		if s.Unsupported != "" {
			return s.Unsupported
		}
	}
	return ""
}

// errHardware is why a key cannot sign here.
var errHardware = errors.New("the key is in a security key, which needs a touch")

// retryWithSystem has ssh log in where the server that sent auth asks for what
// only ssh can do. Otherwise it returns err.
func (d *Dialer) retryWithSystem(ctx context.Context, h hostfiles.Host, auth *AuthError, err error) (*Conn, error) {
	switch {
	case auth.hardware != "":
		return d.dialSystem(h, auth.hardware, true)
	case auth.gssapi && slices.Contains(auth.Methods, "gssapi-with-mic") && hasTicket(ctx):
		return d.dialSystem(h, "no key was let in, and the server accepts Kerberos", false,
			"-o", "PreferredAuthentications=gssapi-with-mic,gssapi-keyex")
	case auth.hostBased && slices.Contains(auth.Methods, "hostbased"):
		return d.dialSystem(h, "no key was let in, and the server accepts HostbasedAuthentication", false,
			"-o", "PreferredAuthentications=hostbased")
	}
	return nil, err
}

// hasTicket says whether the user has a Kerberos ticket. Distributions turn
// GSSAPIAuthentication on for everyone.
func hasTicket(ctx context.Context) bool {
	return exec.CommandContext(ctx, "klist", "-s").Run() == nil
}

// securityKey returns the public half, from the file beside it, of a key whose
// other half is in a piece of hardware (OpenSSH's PROTOCOL.u2f). It returns nil if
// it is another key.
func securityKey(path string) ssh.PublicKey {
	text, err := readSmall(path+".pub", maxKeySize)
	if err != nil {
		return nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil || public.Type() != ssh.KeyAlgoSKED25519 && public.Type() != ssh.KeyAlgoSKECDSA256 {
		return nil
	}
	return public
}
