package remote

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// algorithms says which algorithms of a kind may be used: a list of patterns, the
// first that both sides have counts; or with +, - or ^ before it, a change of the
// list that is usual (ssh_config(5), Ciphers). "": the usual ones.
type algorithms string

// of returns those that may be used, given the usual ones and what else there is.
func (a algorithms) of(usual, others []string) []string {
	change, patterns := a.parse()
	var named []string
	for _, p := range patterns {
		for _, name := range slices.Concat(usual, others) {
			if matchPattern(p, name) && !slices.Contains(named, name) {
				named = append(named, name)
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(usual), func(name string) bool { return slices.Contains(named, name) })
	switch change {
	case '+':
		return append(slices.Clone(usual), slices.DeleteFunc(named, func(name string) bool { return slices.Contains(usual, name) })...)
	case '-':
		return rest
	case '^':
		return append(named, rest...)
	}
	if a == "" {
		return usual
	}
	return named
}

// hostKeys returns the algorithms of host keys that may be used. Those of the keys
// that are known come first, as in usual, whatever the order of the list: another
// key of the host would be an unknown one. A certificate that is not usual is of no
// use.
func (a algorithms) hostKeys(usual []string) []string {
	named := a.of(usual, slices.Concat(ssh.SupportedAlgorithms().HostKeys, ssh.InsecureAlgorithms().HostKeys))
	if change, _ := a.parse(); change == '^' {
		return named
	}
	known := slices.DeleteFunc(slices.Clone(usual), func(name string) bool { return !slices.Contains(named, name) })
	return append(known, slices.DeleteFunc(named, func(name string) bool {
		return slices.Contains(usual, name) || strings.Contains(name, "-cert-v01@")
	})...)
}

// allow says whether one of them may be, which is usual.
func (a algorithms) allow(name string) bool {
	change, patterns := a.parse()
	listed := slices.ContainsFunc(patterns, func(p string) bool { return matchPattern(p, name) })
	switch change {
	case '-':
		return !listed
	case '+', '^':
		return true
	}
	return a == "" || listed
}

func (a algorithms) parse() (change byte, patterns []string) {
	list := string(a)
	if list != "" && strings.ContainsRune("+-^", rune(list[0])) {
		change, list = list[0], list[1:]
	}
	return change, strings.Split(list, ",")
}

// cryptography is what the configuration says of algorithms.
type cryptography struct {
	Ciphers, MACs, KeyExchanges []string // nil: x/crypto's

	HostKeys, PublicKeys, Authorities algorithms
	MinRSA                            int // bits; 0: x/crypto's
}

// setCryptography fills it in. What x/crypto has nothing of is left to ssh.
func (s *settings) setCryptography(e *evaluation) (err error) {
	c := &s.Cryptography
	has, weak := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	for _, kind := range []struct {
		keyword       string
		to            *[]string
		usual, others []string
	}{
		{"ciphers", &c.Ciphers, has.Ciphers, weak.Ciphers},
		{"macs", &c.MACs, has.MACs, weak.MACs},
		{"kexalgorithms", &c.KeyExchanges, has.KeyExchanges, weak.KeyExchanges},
	} {
		v := e.first(kind.keyword)
		if v == "" {
			continue
		}
		if *kind.to = algorithms(v).of(kind.usual, kind.others); len(*kind.to) == 0 && s.Unsupported == "" {
			s.Unsupported = fmt.Sprintf("%s: %s %s", e.pos(kind.keyword), kind.keyword, v)
		}
	}
	c.HostKeys = algorithms(e.first("hostkeyalgorithms"))
	if len(c.HostKeys.of(has.HostKeys, weak.HostKeys)) == 0 && s.Unsupported == "" {
		s.Unsupported = fmt.Sprintf("%s: hostkeyalgorithms %s", e.pos("hostkeyalgorithms"), c.HostKeys)
	}
	c.Authorities = algorithms(e.first("casignaturealgorithms"))
	c.PublicKeys = algorithms(e.first("pubkeyacceptedalgorithms"))
	if v := e.first("pubkeyacceptedkeytypes"); c.PublicKeys == "" {
		c.PublicKeys = algorithms(v)
	}
	if v := e.first("requiredrsasize"); v != "" {
		if c.MinRSA, err = strconv.Atoi(v); err != nil || c.MinRSA < 0 {
			return fmt.Errorf("%s: RequiredRSASize: expected a number of bits, found %q", e.pos("requiredrsasize"), v)
		}
	}
	return nil
}

// checkHostKey refuses a host's key that the configuration does not allow.
func (c *cryptography) checkHostKey(key ssh.PublicKey) error {
	if cert, ok := key.(*ssh.Certificate); ok && !c.Authorities.allow(cert.Signature.Format) {
		return fmt.Errorf("its certificate is signed by %s, which CASignatureAlgorithms %s does not allow", cert.Signature.Format, c.Authorities)
	}
	if bits := rsaBits(key); bits != 0 && bits < c.MinRSA {
		return fmt.Errorf("its RSA key has %d bits, expected %d (RequiredRSASize)", bits, c.MinRSA)
	}
	return nil
}

// errNotAllowed is why a key of the user's is not tried.
var errNotAllowed = errors.New("PubkeyAcceptedAlgorithms and RequiredRSASize do not allow it")

// restrict returns a signer that uses only the algorithms that are allowed.
func (c *cryptography) restrict(signer ssh.Signer) (ssh.Signer, error) {
	key := signer.PublicKey()
	if bits := rsaBits(key); bits != 0 && bits < c.MinRSA {
		return nil, errNotAllowed
	}
	if plain(key).Type() != ssh.KeyAlgoRSA {
		if !c.PublicKeys.allow(key.Type()) {
			return nil, errNotAllowed
		}
		return signer, nil
	}
	// An RSA key signs in several ways, which the names of certificates tell too.
	ways := []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA}
	certified := map[string]string{
		ssh.KeyAlgoRSASHA512: ssh.CertAlgoRSASHA512v01, ssh.KeyAlgoRSASHA256: ssh.CertAlgoRSASHA256v01, ssh.KeyAlgoRSA: ssh.CertAlgoRSAv01,
	}
	_, isCert := key.(*ssh.Certificate)
	allowed := slices.DeleteFunc(slices.Clone(ways), func(way string) bool {
		if isCert {
			way = certified[way]
		}
		return !c.PublicKeys.allow(way)
	})
	s, ok := signer.(ssh.AlgorithmSigner)
	switch {
	case len(allowed) == 0:
		return nil, errNotAllowed
	case !ok || len(allowed) == len(ways):
		return signer, nil
	}
	return ssh.NewSignerWithAlgorithms(s, allowed)
}

// rsaBits returns the length of an RSA key, 0 for another.
func rsaBits(key ssh.PublicKey) int {
	k, ok := plain(key).(ssh.CryptoPublicKey)
	if !ok {
		return 0
	}
	if public, ok := k.CryptoPublicKey().(*rsa.PublicKey); ok {
		return public.N.BitLen()
	}
	return 0
}
