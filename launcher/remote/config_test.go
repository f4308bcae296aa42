package remote

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/hostfiles"
)

// newTestDialer returns a Dialer of user ann on desk.example.com, whose home
// is a folder of the test, with an ssh_config file of that text.
func newTestDialer(t testing.TB, config string, conf SSH) (*Dialer, string) {
	t.Helper()
	u := localUser{name: "ann", home: t.TempDir(), uid: "1000", host: "desk.example.com"}
	conf.Log = slog.New(slog.DiscardHandler)
	d := &Dialer{conf: conf, log: conf.Log, local: u, logins: make(chan struct{}, 1), warned: map[string]bool{}}
	require.NoError(t, os.MkdirAll(u.home+"/.ssh", 0o700))
	file := u.home + "/.ssh/config"
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	var err error
	d.files, err = readConfigFiles(file, u)
	require.NoError(t, err)
	return d, u.home
}

func TestResolve(t *testing.T) {
	t.Setenv("SSH_AUTH_SOCK", "")
	t.Setenv("SITE", "paris")
	const weird = "# comment\r\n\tHOST=n1\r\n  hostname = \"10.0.0.1\"\r\nUser bob # trailing\r\n"
	tests := []struct {
		name   string
		config string
		conf   SSH
		host   hostfiles.Host
		check  func(t *testing.T, s *settings, home string)
	}{
		{"nothing said", "", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, home string) {
			require.Equal(t, "n1", s.HostName)
			require.Equal(t, 22, s.Port)
			require.Equal(t, "ann", s.User)
			require.Equal(t, "tcp", s.Network)
			require.Equal(t, home+"/.ssh/known_hosts", s.NewKnownHosts)
			require.Equal(t, keyFile{path: home + "/.ssh/id_rsa"}, s.Keys[0])
			require.False(t, s.AcceptNew)
			require.Empty(t, s.Agent)
		}},
		{"first value wins", "Host n*\n Port 2200\n User carl\nHost *\n Port 2300\n User dora\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, 2200, s.Port)
			require.Equal(t, "carl", s.User)
		}},
		{"flags before configuration", "Port 2200\nIdentityFile /c\n", SSH{Port: 2400, Key: "/f"}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, 2400, s.Port)
			require.Equal(t, []keyFile{{"/f", true, true}, {"/c", true, false}}, s.Keys)
		}},
		{"the host's own before flags", "Port 2200\nUser carl\n", SSH{Port: 2400, Key: "/f"}, hostfiles.Host{Name: "n1", Port: 2500, User: "eve", Key: "~/h"}, func(t *testing.T, s *settings, home string) {
			require.Equal(t, 2500, s.Port)
			require.Equal(t, "eve", s.User)
			require.Equal(t, []keyFile{{home + "/h", true, true}, {"/f", true, true}}, s.Keys)
		}},
		{"equals signs, quotes, comments, CRLF", weird, SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, "10.0.0.1", s.HostName)
			require.Equal(t, "bob", s.User)
		}},
		{"negated pattern", "Host !n1 n*\n Port 2200\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, 22, s.Port)
		}},
		{"tokens", "HostName %h.example.com\nIdentityFile ~/%h-%r-%u-%p-%n-%L\nIdentityFile %d/${SITE}/%%\nUserKnownHostsFile ~/kh-%k none\nUser bob\nPort 2200\n",
			SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, home string) {
				require.Equal(t, "n1.example.com", s.HostName)
				require.Equal(t, home+"/n1.example.com-bob-ann-2200-n1-desk", s.Keys[0].path)
				require.Equal(t, home+"/paris/%", s.Keys[1].path)
				require.Equal(t, home+"/kh-n1", s.NewKnownHosts)
			}},
		{"no keys, no known hosts", "IdentityFile none\nUserKnownHostsFile none\nGlobalKnownHostsFile none\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Empty(t, s.Keys)
			require.Empty(t, s.KnownHosts)
			require.Empty(t, s.NewKnownHosts)
		}},
		{"match", "Match host n1 user ann\n Port 2200\nMatch originalhost x,n1 !user bob\n User zoe\nMatch user zoe\n AddressFamily inet6\nMatch final all\n Port 1\n ConnectTimeout 5\nMatch all\n HashKnownHosts yes\n",
			SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
				require.Equal(t, 2200, s.Port)
				require.Equal(t, "zoe", s.User)
				require.Equal(t, "tcp6", s.Network)
				require.True(t, s.HashKnownHosts)
				require.Equal(t, 5*time.Second, s.ConnectTimeout, "final fills what is left")
			}},
		{"match the name that is connected to", "Host n1\n HostName deep.example.com\nMatch host *.example.com\n Port 2200\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, 2200, s.Port)
		}},
		{"a condition we do not know, of no concern", "Match exec \"true\"\n Compression yes\nMatch host other exec false\n Port 1\nHost *\n Port 2200\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, 2200, s.Port)
		}},
		{"proxies that are none", "ProxyJump none\nProxyCommand none\n", SSH{Jump: "none"}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, "n1", s.HostName)
		}},
		{"strictness", "StrictHostKeyChecking accept-new\nConnectTimeout 1m30s\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.True(t, s.AcceptNew)
			require.Equal(t, 90*time.Second, s.ConnectTimeout)
		}},
		{"no strictness is accept-new", "StrictHostKeyChecking no\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.True(t, s.AcceptNew)
		}},
		{"the flag accepts new keys", "StrictHostKeyChecking yes\n", SSH{AcceptNewHostKeys: true}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.True(t, s.AcceptNew)
		}},
		{"alias of the key", "HostKeyAlias Store\n", SSH{}, hostfiles.Host{Name: "n1", Port: 2200}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, "store:22", s.lookupName())
		}},
		{"agent of the flag", "IdentityAgent ~/a\n", SSH{Agent: "/b"}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, "/b", s.Agent)
		}},
		{"agent of the configuration", "IdentityAgent ~/a-%r\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, home string) {
			require.Equal(t, home+"/a-ann", s.Agent)
		}},
		{"agent in a variable", "IdentityAgent $SITE\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Equal(t, "paris", s.Agent)
		}},
		{"no agent", "IdentityAgent SSH_AUTH_SOCK\nIdentitiesOnly yes\n", SSH{}, hostfiles.Host{Name: "n1"}, func(t *testing.T, s *settings, _ string) {
			require.Empty(t, s.Agent)
			require.True(t, s.IdentitiesOnly)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, home := newTestDialer(t, tt.config, tt.conf)
			s, err := d.resolve(t.Context(), tt.host)
			require.NoError(t, err)
			tt.check(t, s, home)
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	tests := []struct {
		name, config string
		conf         SSH
		host         hostfiles.Host
		want         string
	}{
		{"no name", "", SSH{}, hostfiles.Host{}, "expected a host name"},
		{"port", "Port many\n", SSH{}, hostfiles.Host{Name: "n1"}, `config:1: Port: expected 1 to 65535, found "many"`},
		{"family", "AddressFamily ipx\n", SSH{}, hostfiles.Host{Name: "n1"}, `found "ipx"`},
		{"timeout", "ConnectTimeout soon\n", SSH{}, hostfiles.Host{Name: "n1"}, `found "soon"`},
		{"strictness", "StrictHostKeyChecking maybe\n", SSH{}, hostfiles.Host{Name: "n1"}, `found "maybe"`},
		{"token", "IdentityFile ~/%z\n", SSH{}, hostfiles.Host{Name: "n1"}, "%z is unknown"},
		{"variable", "IdentityFile ${NO_SUCH_VARIABLE}/k\n", SSH{}, hostfiles.Host{Name: "n1"}, "NO_SUCH_VARIABLE is not set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := newTestDialer(t, tt.config, tt.conf)
			_, err := d.resolve(t.Context(), tt.host)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestInclude(t *testing.T) {
	d, home := newTestDialer(t, "", SSH{})
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(home, ".ssh", name), []byte(text), 0o600))
	}
	write("config", "Host n1\n Include one.* ~/.ssh/absent\n User late\nHost *\n Port 2300\n")
	write("one.a", "User ann1\nHost n2\n Port 1\n")
	write("one.b", "Port 2200\n")
	var err error
	d.files, err = readConfigFiles(home+"/.ssh/config", d.local)
	require.NoError(t, err)

	s, err := d.resolve(t.Context(), hostfiles.Host{Name: "n1"})
	require.NoError(t, err)
	require.Equal(t, "ann1", s.User)
	require.Equal(t, 2200, s.Port, "a Host line in one file ends with the file")
	s, err = d.resolve(t.Context(), hostfiles.Host{Name: "n2"})
	require.NoError(t, err)
	require.Equal(t, "ann", s.User)
	require.Equal(t, 2300, s.Port, "the whole Include is for n1")

	write("config", "Include config\n")
	_, err = readConfigFiles(home+"/.ssh/config", d.local)
	require.ErrorContains(t, err, "nested more than 16 deep")
}

func TestConfigFilesThatAreNone(t *testing.T) {
	u := localUser{name: "ann", home: t.TempDir()}
	files, err := readConfigFiles("none", u)
	require.NoError(t, err)
	require.Empty(t, files)
	_, err = readConfigFiles(u.home+"/absent", u)
	require.ErrorIs(t, err, os.ErrNotExist)

	for text, isList := range map[string]bool{
		"node1\nnode2\n": true, "# hosts\nnode1:8\n": true, "node1 slots=8\n": true, "node1 slots = 8\n": true,
		"": false, "Host node1\n": false, "Port=22\n": false, "Compression yes\n": false, "Include x\nnode1\n": false,
	} {
		require.Equal(t, isList, looksLikeHosts([]byte(text)), "%q", text)
	}
	_, err = readConfigFiles(writeFile(t, "hosts", "node1:8\nnode2:8\n", 0o600), u)
	require.ErrorContains(t, err, "looks like a list of hosts; did you mean -hostfile?")
}

func TestParseConfigRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"Port 22\nPort\n":       "f:2: expected a keyword and its value",
		"Port =\n":              "f:1: expected a value after Port",
		"IdentityFile \"~/a b":  "f:1: IdentityFile: a quoted value has no end",
		"User bob\nHost # n1\n": "f:2: expected a value after Host",
	} {
		_, err := parseConfig("f", []byte(text))
		require.ErrorContains(t, err, want, "%q", text)
	}
}

// Patterns agree with their definition by recursion.
func TestMatchPattern(t *testing.T) {
	var match func(p, s string) bool
	match = func(p, s string) bool {
		switch {
		case p == "":
			return s == ""
		case p[0] == '*':
			return match(p[1:], s) || s != "" && match(p, s[1:])
		}
		return s != "" && (p[0] == '?' || p[0] == s[0]) && match(p[1:], s[1:])
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern")
		s := rapid.StringMatching(`[ab]{0,10}`).Draw(t, "name")
		require.Equal(t, match(p, s), matchPattern(p, s))
	})
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10": 10 * time.Second, "1m30s": 90 * time.Second, "2H": 2 * time.Hour, "1w": 7 * 24 * time.Hour, "0": 0,
	} {
		got, err := parseTime(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"-1", "x", "1y", "m", "1.5", "2147483647w", "99999999999"} {
		_, err := parseTime(text)
		require.Error(t, err, text)
	}
}

// Any text is parsed or refused, and evaluates for any host.
func FuzzConfig(f *testing.F) {
	f.Add("Host a b\n\tPort 22\nMatch host c exec d\nInclude x\n", "a")
	f.Add("Match host=\"a b\" user x\\ y #z\n", "")
	f.Add("IdentityFile=~/%h\nMatch !all\nMatch user\n", "n1")
	f.Fuzz(func(t *testing.T, text, host string) {
		directives, err := parseConfig("f", []byte(text))
		if err != nil {
			return
		}
		for _, d := range directives {
			require.NotEmpty(t, d.args)
		}
		u := localUser{name: "ann", home: "/home/ann", uid: "1", host: "desk"}
		d := &Dialer{log: slog.New(slog.DiscardHandler), local: u, files: [][]directive{directives}}
		if e, err := evaluate(d.files, host, "", u); err == nil && e.undecided != "" {
			return // ssh would be asked, whose own business that is
		}
		s, err := d.resolve(t.Context(), hostfiles.Host{Name: host})
		if err == nil {
			require.True(t, s.Port > 0 && s.Port < 65536)
		}
	})
}
