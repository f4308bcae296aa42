package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
)

// candidate is a key to try, with the name by which it is reported.
type candidate struct {
	ssh.Signer
	name string
}

// candidates returns the keys for a login, in the order in which they are
// tried: keys that were asked for, then the agent's others, then the default
// files. (OpenSSH has the agent's before files that were asked for, which
// servers that allow six attempts often answer with a hang-up.) Trouble is
// what was asked for and cannot be used; unused is what of it the user hears
// even if another key is let in.
func (d *Dialer) candidates(login *signing, s *settings) (keys []candidate, trouble, unused []string) {
	var fromAgent []ssh.Signer
	if s.Agent != "" {
		a, err := d.signingAgent(login.ctx, s.Agent)
		if err == nil {
			fromAgent, err = a.keys(login)
		}
		if err != nil {
			trouble = append(trouble, fmt.Sprintf("agent %s: %v", s.Agent, err))
			if d.conf.Agent != "" {
				unused = append(unused, fmt.Sprintf("the signing agent %s is not used: %v", s.Agent, err))
			}
		}
	}
	var certs []*ssh.Certificate
	for _, path := range s.Certificates {
		cert, err := certificate(path)
		if err != nil {
			trouble = append(trouble, err.Error())
			continue
		}
		certs = append(certs, cert)
	}

	used := map[string]bool{} // by wire form
	add := func(signer ssh.Signer, name string) {
		if wire := string(signer.PublicKey().Marshal()); !used[wire] {
			used[wire] = true
			restricted, err := s.Cryptography.restrict(signer)
			if err != nil {
				trouble = append(trouble, fmt.Sprintf("%s: %v", name, err))
				return
			}
			keys = append(keys, candidate{restricted, name})
		}
	}
	read := map[string]bool{} // by path: -i may name a file of the configuration
	addFile := func(file keyFile) {
		if read[file.path] {
			return
		}
		read[file.path] = true
		signer, name, err := d.fileSigner(login, file.path, fromAgent)
		if err != nil {
			if file.explicit || !errors.Is(err, os.ErrNotExist) {
				trouble = append(trouble, err.Error())
			}
			if file.asked {
				unused = append(unused, fmt.Sprintf("the key %s is not used: %v", file.path, withoutPath(err, file.path)))
			}
			return
		}
		own := certs
		if cert, err := certificate(strings.TrimSuffix(file.path, ".pub") + "-cert.pub"); err == nil {
			own = append(own[:len(own):len(own)], cert)
		} else if !errors.Is(err, os.ErrNotExist) {
			trouble = append(trouble, err.Error())
		}
		for _, cert := range own {
			if withCert, err := ssh.NewCertSigner(cert, signer); err == nil {
				add(withCert, name+" with certificate "+cert.KeyId)
			}
		}
		add(signer, name)
	}

	for _, file := range s.Keys {
		if file.explicit {
			addFile(file)
		}
	}
	if !s.IdentitiesOnly {
		for _, signer := range fromAgent {
			add(signer, describe(signer.PublicKey())+" of the agent")
		}
	}
	for _, file := range s.Keys {
		if !file.explicit {
			addFile(file)
		}
	}
	return keys, trouble, unused
}

// withoutPath drops the name of a file from an error, for a message that has it.
func withoutPath(err error, path string) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok && inner.Path == path {
		return inner.Err
	}
	return err
}

// fileSigner returns the signer of a key file: the agent's, if it has the
// key, because that needs no passphrase. Then the public half is enough.
func (d *Dialer) fileSigner(login *signing, path string, fromAgent []ssh.Signer) (ssh.Signer, string, error) {
	public := ssh.PublicKey(nil)
	id, err := d.identity(path)
	if err == nil {
		public = id.public
	} else if text, pubErr := readSmall(strings.TrimSuffix(path, ".pub")+".pub", maxKeySize); pubErr == nil {
		public, _, _, _, _ = ssh.ParseAuthorizedKey(text)
	}
	if public != nil {
		for _, signer := range fromAgent {
			if bytes.Equal(signer.PublicKey().Marshal(), public.Marshal()) {
				return signer, path + " (by the agent)", nil
			}
		}
	}
	if err != nil {
		return nil, "", err
	}
	return &fileSigner{id, login}, path, nil
}
