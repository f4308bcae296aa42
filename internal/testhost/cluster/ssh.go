//go:build linux

package cluster

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/crypto/ssh"
)

// keyName is the file name of the users' private key, which ssh tries by itself.
const keyName = "id_ed25519"

// sshdConfig is the path of sshd's configuration on a host.
const sshdConfig = hostFolder + "/sshd_config"

// A keyPair is an SSH key in the forms files want it.
type keyPair struct {
	private string // PEM
	public  string // one line, as in authorized_keys
}

// credentials are the keys of one cluster: the users share one, every host has
// its own.
type credentials struct {
	cluster *Cluster
	user    keyPair
	hosts   []keyPair // by index
}

func newCredentials(c *Cluster) (*credentials, error) {
	k := &credentials{cluster: c}
	var err error
	if k.user, err = newKeyPair(User); err != nil {
		return nil, err
	}
	for _, h := range c.all() {
		pair, err := newKeyPair(h.Name)
		if err != nil {
			return nil, err
		}
		k.hosts = append(k.hosts, pair)
	}
	return k, nil
}

func newKeyPair(comment string) (keyPair, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	block, err := ssh.MarshalPrivateKey(private, comment)
	if err != nil {
		return keyPair{}, err
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{
		private: string(pem.EncodeToMemory(block)),
		public:  string(ssh.MarshalAuthorizedKey(key)),
	}, nil
}

// clientFiles are the contents of what ssh needs to log in.
type clientFiles struct {
	config, knownHosts, key string
}

// clientFiles returns the files for a folder, to which the configuration refers.
func (k *credentials) clientFiles(dir string) clientFiles {
	var config, known strings.Builder
	for _, h := range k.cluster.all() {
		names := []string{h.Name, h.Addr.String()}
		if h.Addr6.IsValid() {
			names = append(names, h.Name+"-v6", h.Addr6.String())
		}
		fmt.Fprintf(&known, "%s %s", strings.Join(names, ","), k.hosts[h.index].public)
		if h.Login != User {
			fmt.Fprintf(&config, "Host %s\n\tUser %s\n\n", strings.Join(names, " "), h.Login)
		}
	}
	fmt.Fprintf(&config, `Host *
	User %s
	IdentityFile %s
	IdentitiesOnly yes
	UserKnownHostsFile %s
	GlobalKnownHostsFile /dev/null
	StrictHostKeyChecking yes
	BatchMode yes
`, User, path.Join(dir, keyName), path.Join(dir, "known_hosts"))
	return clientFiles{config.String(), known.String(), k.user.private}
}

// sshdFiles are the host's key and sshd's configuration. The users' key is not
// looked for in a home, since there may be none.
func (h *Host) sshdFiles() []file {
	key := path.Join(hostFolder, "ssh_host_ed25519_key")
	authorized := path.Join(hostFolder, "authorized_keys")
	var config strings.Builder
	if h.variant.SSHD != "" {
		config.WriteString(h.variant.SSHD + "\n")
	}
	fmt.Fprintln(&config, "ListenAddress 0.0.0.0")
	if h.Addr6.IsValid() {
		fmt.Fprintln(&config, "ListenAddress ::")
	}
	fmt.Fprintf(&config, `HostKey %s
AuthorizedKeysFile %s
AllowUsers %s
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PidFile none
PrintMotd no
PrintLastLog no
Subsystem sftp internal-sftp
`, key, authorized, h.Login)
	const readable, secret fs.FileMode = 0o644, 0o600
	return []file{
		{Path: key, Data: h.cluster.credentials.hosts[h.index].private, Mode: secret},
		{Path: authorized, Data: h.cluster.credentials.user.public, Mode: readable},
		{Path: sshdConfig, Data: config.String(), Mode: secret},
	}
}
