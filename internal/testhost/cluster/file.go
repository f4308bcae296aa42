//go:build linux

package cluster

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A file is put on a host at boot.
type file struct {
	Path string // below a private folder
	Data string
	Mode fs.FileMode // with fs.ModeDir it is a folder
	ID   int         // owner and group
	Over string      // file of /etc that it stands in for, unless the machine has none
}

func writeFiles(files []file) error {
	for _, f := range files {
		var err error
		if f.Mode.IsDir() {
			err = os.Mkdir(f.Path, f.Mode.Perm())
		} else {
			err = os.WriteFile(f.Path, []byte(f.Data), f.Mode)
		}
		if err != nil {
			return err
		}
		if err := os.Chown(f.Path, f.ID, f.ID); err != nil {
			return err
		}
		if f.Over == "" {
			continue
		}
		if err := mount(f.Path, f.Over, "", unix.MS_BIND, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// An account is a user with a shell.
type account struct {
	name string
	id   uint32
	home string
}

func (h *Host) account(user string) (account, error) {
	switch user {
	case User:
		return account{User, UID, "/home/" + User}, nil
	case Root:
		return account{Root, 0, "/root"}, nil
	}
	return account{}, fmt.Errorf("user %q on %s: expected %s or %s", user, h.Name, User, Root)
}

// settings returns what the host's first process has to do.
func (h *Host) settings() settings {
	return settings{
		Name:    h.Name,
		Folders: h.variant.folders(),
		Share:   h.share,
		Files:   append(h.systemFiles(), h.homeFiles()...),
	}
}

// systemFiles are the files of /etc that tell one host from another, and those
// of sshd.
func (h *Host) systemFiles() []file {
	var id [16]byte
	rand.Read(id[:])
	etc := func(name string, mode fs.FileMode, lines ...string) file {
		return file{
			Path: path.Join(hostFolder, name),
			Data: strings.Join(lines, "\n") + "\n",
			Mode: mode,
			Over: path.Join("/etc", name),
		}
	}
	return append([]file{
		{Path: hostFolder, Mode: fs.ModeDir | 0o755},
		{Path: "/run/sshd", Mode: fs.ModeDir | 0o755}, // for sshd's unprivileged child
		etc("passwd", 0o644,
			"root:x:0:0:root:/root:"+h.Shell,
			"sshd:x:102:65534::/run/sshd:/usr/sbin/nologin",
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
			fmt.Sprintf("%s:x:%d:%d:ordinary user:/home/%[1]s:%[4]s", User, UID, UID, h.Shell)),
		// A star is no password but, unlike an exclamation mark, no lock either.
		etc("shadow", 0o600, "root:*:19000:0:99999:7:::", "sshd:!:19000::::::", "nobody:*:19000:0:99999:7:::", User+":*:19000:0:99999:7:::"),
		etc("group", 0o644, "root:x:0:", "tty:x:5:", "nogroup:x:65534:", fmt.Sprintf("%s:x:%d:", User, UID)),
		etc("nsswitch.conf", 0o644, "passwd: files", "group: files", "shadow: files", "hosts: files", "networks: files", "protocols: files", "services: files"),
		etc("hostname", 0o644, h.Name),
		etc("machine-id", 0o444, fmt.Sprintf("%x", id)),
		etc("hosts", 0o644, h.hosts()...),
	}, h.sshdFiles()...)
}

// hosts returns the lines of /etc/hosts. Debian's installer gives a host's own
// name an address of the loopback network; programs that publish what their name
// resolves to fail on such hosts, so these are like that.
func (h *Host) hosts() []string {
	lines := []string{
		"127.0.0.1 localhost",
		"127.0.1.1 " + h.Name,
		"::1 localhost ip6-localhost ip6-loopback",
	}
	for _, peer := range h.cluster.all() {
		if peer != h {
			lines = append(lines, peer.Addr.String()+" "+peer.Name)
		}
		if peer.Addr6.IsValid() {
			lines = append(lines, peer.Addr6.String()+" "+peer.Name+"-v6")
		}
	}
	return lines
}

// homeFiles are the homes and what ssh needs in them. On the head both users
// have that, elsewhere the login user.
func (h *Host) homeFiles() []file {
	var files []file
	for _, user := range []string{Root, User} {
		account, _ := h.account(user)
		id := int(account.id)
		if user == h.Login && h.variant.NoHome {
			continue
		}
		if user != Root { // whose home is a private folder
			files = append(files, file{Path: account.home, Mode: fs.ModeDir | 0o700, ID: id})
		}
		if user != h.Login && h.index != 0 {
			continue
		}
		dir := path.Join(account.home, ".ssh")
		client := h.cluster.credentials.clientFiles(dir)
		files = append(files,
			file{Path: dir, Mode: fs.ModeDir | 0o700, ID: id},
			file{Path: path.Join(dir, "config"), Data: client.config, Mode: 0o600, ID: id},
			file{Path: path.Join(dir, "known_hosts"), Data: client.knownHosts, Mode: 0o600, ID: id},
			file{Path: path.Join(dir, keyName), Data: client.key, Mode: 0o600, ID: id},
		)
	}
	return files
}

// Files lists what is in the given folders of the host, absolute paths, with all
// that is below them, folders included. A missing folder has nothing in it.
// Without arguments it lists what is in the folders for temporary files: /tmp,
// /var/tmp, /dev/shm and /run, but for what sshd has there. Folders shared with
// the machine are passed over.
func (h *Host) Files(dirs ...string) ([]string, error) {
	if len(dirs) == 0 {
		dirs = []string{"/tmp", "/var/tmp", "/dev/shm", "/run"}
	}
	var files []string
	for _, dir := range dirs {
		top := strings.TrimPrefix(path.Clean(dir), "/")
		err := fs.WalkDir(h.Root.FS(), cmp.Or(top, "."), func(name string, _ fs.DirEntry, err error) error {
			switch full := "/" + name; {
			case errors.Is(err, fs.ErrNotExist):
				return nil // gone since its folder was read
			case err != nil:
				return err
			case full == hostFolder || full == "/run/sshd":
				return fs.SkipDir
			case name == top:
				return nil
			case slices.Contains(h.share, full):
				return fs.SkipDir
			case slices.ContainsFunc(h.share, func(dir string) bool { return strings.HasPrefix(dir, full+"/") }):
				return nil // it leads to a shared folder
			default:
				files = append(files, full)
				return nil
			}
		})
		if err != nil {
			return nil, fmt.Errorf("files of %s: %w", h.Name, err)
		}
	}
	return files, nil
}
