package remote

import (
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"
)

const maxCertSize = 1 << 20

// certificate returns the certificate in a file.
func certificate(path string) (*ssh.Certificate, error) {
	text, err := readSmall(path, maxCertSize)
	if err != nil {
		return nil, err
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	cert, ok := key.(*ssh.Certificate)
	if !ok {
		return nil, fmt.Errorf("%s: expected a certificate, found a plain %s key", path, key.Type())
	}
	// Zero is the beginning of time, and all ones its end (OpenSSH's
	// PROTOCOL.certkeys).
	now := uint64(time.Now().Unix())
	if cert.ValidBefore != ssh.CertTimeInfinity && now >= cert.ValidBefore {
		return nil, fmt.Errorf("%s: the certificate has expired, on %s", path, time.Unix(int64(cert.ValidBefore), 0).Format(time.DateTime))
	}
	if now < cert.ValidAfter {
		return nil, fmt.Errorf("%s: the certificate is valid only from %s on", path, time.Unix(int64(cert.ValidAfter), 0).Format(time.DateTime))
	}
	return cert, nil
}
