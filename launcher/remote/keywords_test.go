package remote

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gorun/gorun/hostfiles"
)

// The keywords of ssh_config(5) of OpenSSH 10.
const manual = `Host Match AddKeysToAgent AddressFamily BatchMode BindAddress BindInterface CanonicalDomains
	CanonicalizeFallbackLocal CanonicalizeHostname CanonicalizeMaxDots CanonicalizePermittedCNAMEs
	CASignatureAlgorithms CertificateFile ChannelTimeout CheckHostIP Ciphers ClearAllForwardings Compression
	ConnectionAttempts ConnectTimeout ControlMaster ControlPath ControlPersist DynamicForward
	EnableEscapeCommandline EnableSSHKeysign EscapeChar ExitOnForwardFailure FingerprintHash
	ForkAfterAuthentication ForwardAgent ForwardX11 ForwardX11Timeout ForwardX11Trusted GatewayPorts
	GlobalKnownHostsFile GSSAPIAuthentication GSSAPIDelegateCredentials HashKnownHosts HostbasedAcceptedAlgorithms
	HostbasedAuthentication HostKeyAlgorithms HostKeyAlias Hostname IdentitiesOnly IdentityAgent IdentityFile
	IgnoreUnknown Include IPQoS KbdInteractiveAuthentication KbdInteractiveDevices KexAlgorithms KnownHostsCommand
	LocalCommand LocalForward LogLevel LogVerbose MACs NoHostAuthenticationForLocalhost NumberOfPasswordPrompts
	ObscureKeystrokeTiming PasswordAuthentication PermitLocalCommand PermitRemoteOpen PKCS11Provider Port
	PreferredAuthentications ProxyCommand ProxyJump ProxyUseFdpass PubkeyAcceptedAlgorithms PubkeyAuthentication
	RefuseConnection RekeyLimit RemoteCommand RemoteForward RequestTTY RequiredRSASize RevokedHostKeys
	SecurityKeyProvider SendEnv ServerAliveCountMax ServerAliveInterval SessionType SetEnv StdinNull
	StreamLocalBindMask StreamLocalBindUnlink StrictHostKeyChecking SyslogFacility Tag TCPKeepAlive Tunnel
	TunnelDevice UpdateHostKeys User UserKnownHostsFile VerifyHostKeyDNS VersionAddendum VisualHostKey
	WarnWeakCrypto XAuthLocation`

func TestEveryKeywordOfTheManualHasAUse(t *testing.T) {
	for _, name := range strings.Fields(manual) {
		require.NotEqual(t, unknown, keywords[strings.ToLower(name)], name)
	}
	for name, want := range map[string]use{
		"Ciphers": honoured, "MACs": honoured, "KexAlgorithms": honoured, "HostKeyAlgorithms": honoured,
		"PubkeyAcceptedAlgorithms": honoured, "CASignatureAlgorithms": honoured, "RequiredRSASize": honoured,
		"BindAddress": honoured, "AddressFamily": honoured, "ConnectTimeout": honoured, "CertificateFile": honoured,
		"HostKeyAlias": honoured, "GlobalKnownHostsFile": honoured, "IgnoreUnknown": honoured,
		"BindInterface": beyond, "RevokedHostKeys": beyond, "PKCS11Provider": beyond, "SetEnv": beyond,
		"KnownHostsCommand": beyond, "PermitLocalCommand": beyond,
		"RekeyLimit": harmless, "SecurityKeyProvider": harmless, "SendEnv": harmless, "RemoteCommand": harmless,
		"RequestTTY": harmless, "Tag": harmless, "ForwardAgent": harmless, "UseKeychain": harmless,
		"Cyphers": unknown, "Hosts": unknown,
	} {
		require.Equal(t, want, keywords[strings.ToLower(name)], name)
	}
}

func TestWhatIsNoKeywordIsNoneForSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("needs ssh in PATH")
	}
	for _, name := range []string{"cyphers", "hosts", "identityfiles", "nosuchthing"} {
		config := filepath.Join(t.TempDir(), "config")
		require.NoError(t, os.WriteFile(config, []byte(name+" yes\n"), 0o600))
		said, err := exec.Command("ssh", "-G", "-F", config, "n1").CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(said), "Bad configuration option: "+name)
		require.ErrorContains(t, dialerOf(t, name+" yes\n").Check(hostfiles.Host{Name: "n1"}), name)
	}
}

func TestUnknownKeywords(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"one":                       {"Cyphers aes128-ctr\n", `:1: expected a keyword of ssh_config, found "cyphers"`},
		"of another host":           {"Host other\nFrob yes\n", `:2: expected a keyword of ssh_config, found "frob"`},
		"ignored":                   {"IgnoreUnknown Frob*,x\nFrobnicate yes\n", ""},
		"ignored too late":          {"Frob yes\nIgnoreUnknown frob\n", `found "frob"`},
		"ignored for another host":  {"Host other\nIgnoreUnknown frob\nHost *\nFrob yes\n", `found "frob"`},
		"those that only some know": {"UseKeychain yes\nGSSAPIKeyExchange no\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := dialerOf(t, c.config)
			err := d.Check(hostfiles.Host{Name: "n1"})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// dialerOf returns a Dialer that has one file of configuration.
func dialerOf(t *testing.T, config string) *Dialer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	d, err := NewDialer(SSH{Config: path})
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func TestCryptographyOfTheConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		check  func(*testing.T, *settings)
	}{
		"what we have of a list": {"Ciphers aes256-ctr,3des-secret,aes128-ctr\n", func(t *testing.T, s *settings) {
			require.Equal(t, []string{"aes256-ctr", "aes128-ctr"}, s.Cryptography.Ciphers)
			require.Empty(t, s.beyondUs())
		}},
		"no host key's": {"HostKeyAlgorithms sk-only@example.com\n", func(t *testing.T, s *settings) {
			require.Contains(t, s.beyondUs(), ":1: hostkeyalgorithms sk-only@example.com")
		}},
		"nothing of it": {"Ciphers 3des-secret\n", func(t *testing.T, s *settings) {
			require.Contains(t, s.beyondUs(), ":1: ciphers 3des-secret")
		}},
		"more": {"MACs +hmac-sha1-96\n", func(t *testing.T, s *settings) {
			require.Equal(t, append(ssh.SupportedAlgorithms().MACs, "hmac-sha1-96"), s.Cryptography.MACs)
		}},
		"fewer": {"KexAlgorithms -curve25519*,mlkem*\n", func(t *testing.T, s *settings) {
			require.NotEmpty(t, s.Cryptography.KeyExchanges)
			require.NotContains(t, strings.Join(s.Cryptography.KeyExchanges, ","), "curve25519-")
		}},
		"first": {"KexAlgorithms ^ecdh-sha2-nistp256\n", func(t *testing.T, s *settings) {
			require.Equal(t, "ecdh-sha2-nistp256", s.Cryptography.KeyExchanges[0])
			require.Len(t, s.Cryptography.KeyExchanges, len(ssh.SupportedAlgorithms().KeyExchanges))
		}},
		"nothing is said": {"User x\n", func(t *testing.T, s *settings) { require.Zero(t, s.Cryptography) }},
		"keys of the user's": {"PubkeyAcceptedAlgorithms -ssh-rsa,rsa-*\n", func(t *testing.T, s *settings) {
			require.False(t, s.Cryptography.PublicKeys.allow("rsa-sha2-512"))
			require.True(t, s.Cryptography.PublicKeys.allow("ssh-ed25519"))
		}},
		"by an older name": {"PubkeyAcceptedKeyTypes ssh-ed25519\n", func(t *testing.T, s *settings) {
			require.True(t, s.Cryptography.PublicKeys.allow("ssh-ed25519"))
			require.False(t, s.Cryptography.PublicKeys.allow("ecdsa-sha2-nistp256"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := dialerOf(t, c.config).resolve(t.Context(), hostfiles.Host{Name: "n1"})
			require.NoError(t, err)
			c.check(t, s)
		})
	}
}
