package remote

import (
	"os"
	"path/filepath"
	"strings"
)

// keyFile is a private key to try.
type keyFile struct {
	path     string
	explicit bool // not one of OpenSSH's defaults
	asked    bool // by -i or key=
}

// defaultKeys are the files tried where none is configured, in OpenSSH's
// order.
var defaultKeys = []string{"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"}

// keyFiles returns the keys to try: those asked for, the configured ones, or
// else the defaults.
func keyFiles(e *evaluation, t tokens, u localUser, asked []string) ([]keyFile, error) {
	var keys []keyFile
	for _, path := range asked {
		if path != "" {
			keys = append(keys, keyFile{path: u.expandHome(path), explicit: true, asked: true})
		}
	}
	configured := e.each("identityfile")
	for _, path := range configured {
		if strings.EqualFold(path, "none") {
			continue
		}
		path, err := t.expand("IdentityFile", path)
		if err != nil {
			return nil, err
		}
		keys = append(keys, keyFile{path: u.expandHome(path), explicit: true})
	}
	if len(keys) == 0 && configured == nil {
		for _, name := range defaultKeys {
			keys = append(keys, keyFile{path: filepath.Join(u.home, ".ssh", name)})
		}
	}
	return keys, nil
}

// agentSocket returns the path of the signing agent's socket, or "".
func (d *Dialer) agentSocket(e *evaluation, t tokens) (string, error) {
	socket := d.conf.Agent
	if socket == "" {
		socket = e.first("identityagent")
	}
	switch {
	case strings.EqualFold(socket, "none"):
		return "", nil
	case socket == "", socket == "SSH_AUTH_SOCK":
		socket = "${SSH_AUTH_SOCK}"
	case socket[0] == '$' && !strings.HasPrefix(socket, "${"):
		socket = "${" + socket[1:] + "}"
	}
	if socket == "${SSH_AUTH_SOCK}" && os.Getenv("SSH_AUTH_SOCK") == "" {
		return "", nil
	}
	socket, err := t.expand("IdentityAgent", socket)
	return d.local.expandHome(socket), err
}
