package sshserver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gorun/gorun/hostfiles"
)

// Config is a server. The zero Config is a well-behaved one on 127.0.0.1.
type Config struct {
	Addr  netip.Addr // to listen on; zero: 127.0.0.1
	Shell string     // the users' login shell; "": /bin/sh
	Home  string     // "": a new folder; it need not exist
	Path  string     // the users' PATH; "": /usr/bin:/bin
	Env   []string   // "NAME=value", more of a login's environment

	Banner      string // sent before authentication
	Noise       string // what the shell's start files print on standard output
	StderrNoise string // and on standard error

	// Exec runs commands in this process, instead of a shell that runs them in
	// another; nil: the shell. Its channel is closed when it returns.
	Exec func(command string, channel ssh.Channel) (status int)

	AnyKey bool          // let in whoever has any key
	UserCA ssh.PublicKey // lets in whoever has a certificate of it, and nobody else; nil: keys count
	HostCA ssh.Signer    // certifies the server's key; nil: it has no certificate

	Password    string     // lets the user in too; "": none does
	Questions   []Question // that let the user in by their answers; nil: none
	Instruction string     // sent with the questions
	BothFactors bool       // a key, and then the answers

	Faults Faults // those it starts with
}

// Question is one of keyboard-interactive authentication (RFC 4256).
type Question struct {
	Text   string
	Echo   bool
	Answer string
}

// Faults are what a server does wrong. The zero Faults is nothing.
type Faults struct {
	Silent        bool          // take connections and send nothing
	MaxStartups   int           // drop connections while so many have not authenticated; 0: never
	Drop          int           // drop so many connections, then no more
	LoginDelay    time.Duration // before a login is let in or rejected
	RejectKeys    bool          // let nobody in
	RefuseExec    bool          // run no commands
	RefuseForward bool          // make no connections for clients
	CloseAfter    int64         // cut the connection after so many bytes of standard output; 0: never
}

// Server is a running server.
type Server struct {
	Host                    // how to log in to it
	Home, Dir string        // the users' home; the server's files
	HostKey   ssh.PublicKey // what it shows to clients

	conf     Config
	listener net.Listener
	sshConf  *ssh.ServerConfig

	mu       sync.Mutex
	faults   Faults
	closed   bool
	conns    map[net.Conn]bool
	waiting  int // connections that have not authenticated
	logins   int
	forwards int          // connections made for clients
	total    int          // connections that were taken
	pids     map[int]bool // of commands, which lead process groups
	serving  sync.WaitGroup
}

// Host is what a client must know to log in.
type Host struct {
	Addr       netip.AddrPort
	User       string
	Key        string // file of a private key that is let in
	KnownHosts string // file with the server's key
	Config     string // ssh_config file that says all of this for every host, and nothing of the user's own
}

// Entry returns the host as a hostfile's line gives it.
func (h Host) Entry() hostfiles.Host {
	return hostfiles.Host{Name: h.Addr.Addr().String(), Port: int(h.Addr.Port()), User: h.User, Key: h.Key}
}

// Line returns that line.
func (h Host) Line() string {
	return fmt.Sprintf("%s port=%d user=%s key=%s", h.Addr.Addr(), h.Addr.Port(), h.User, h.Key)
}

// Start starts a server that ends with the test.
func Start(t testing.TB, conf Config) *Server {
	t.Helper()
	s, err := New(t.TempDir(), conf)
	if err != nil {
		t.Fatalf("start an SSH server: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// New starts a server that keeps its files in dir. The caller closes it.
func New(dir string, conf Config) (*Server, error) {
	s := &Server{
		Dir: dir, Home: conf.Home,
		conf: conf, faults: conf.Faults,
		conns: map[net.Conn]bool{}, pids: map[int]bool{},
	}
	if s.Home == "" {
		s.Home = filepath.Join(dir, "home")
		if err := os.Mkdir(s.Home, 0o700); err != nil {
			return nil, err
		}
	}
	s.User = "tester"
	clientKey, err := newKeyFile(filepath.Join(dir, "id_ed25519"))
	if err != nil {
		return nil, err
	}
	s.Key = filepath.Join(dir, "id_ed25519")
	hostSigner, err := newSigner()
	if err != nil {
		return nil, err
	}
	s.HostKey = hostSigner.PublicKey()
	s.sshConf = s.serverConfig(clientKey)
	s.sshConf.AddHostKey(hostSigner)
	if conf.HostCA != nil {
		cert, err := certify(hostSigner, conf.HostCA)
		if err != nil {
			return nil, err
		}
		s.sshConf.AddHostKey(cert)
	}

	addr := conf.Addr
	if !addr.IsValid() {
		addr = netip.MustParseAddr("127.0.0.1")
	}
	if s.listener, err = net.Listen("tcp", netip.AddrPortFrom(addr, 0).String()); err != nil {
		return nil, err
	}
	s.Addr = s.listener.Addr().(*net.TCPAddr).AddrPort()
	if err := s.writeClientFiles(dir, s.HostKey); err != nil {
		s.listener.Close()
		return nil, err
	}
	s.serving.Go(s.accept)
	return s, nil
}

// Set changes the faults for what comes.
func (s *Server) Set(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

func (s *Server) current() Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}

// Logins returns how many logins were let in.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// Connections returns how many connections there were, dropped ones too.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Commands returns how many commands are running, those included whose
// session has ended.
func (s *Server) Commands() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pids)
}

// Cut ends every connection, as a broken network would with the processes
// staying.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// Close ends the server, its connections, and what commands have left
// running. It may be repeated.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.listener.Close()
	s.Cut()
	s.killAll()
	s.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		if !s.admit(c) {
			c.Close()
			continue
		}
		s.serving.Go(func() {
			defer s.forget(c)
			s.serve(c)
		})
	}
}

// admit decides whether a connection may begin, and counts it.
func (s *Server) admit(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.total++
	if s.faults.Drop > 0 {
		s.faults.Drop--
		return false
	}
	if s.faults.MaxStartups > 0 && s.waiting >= s.faults.MaxStartups {
		return false
	}
	s.waiting++
	s.conns[c] = true
	return true
}

// authenticated notes the end of a connection's authentication.
func (s *Server) authenticated() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
}

// loggedIn counts a login, before the client hears of it.
func (s *Server) loggedIn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins++
}

func (s *Server) forget(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Cache is where the commands of all servers keep what they cache, as if their
// homes were one on a file server (XDG_CACHE_HOME); "": in their own. Tests that
// start many agents set it before the first server starts, so that these are
// stored once.
var Cache string

// login is the environment of a command.
func (s *Server) login() []string {
	path := s.conf.Path
	if path == "" {
		path = "/usr/bin:/bin"
	}
	var shared []string
	if Cache != "" {
		shared = []string{"XDG_CACHE_HOME=" + Cache}
	}
	return slices.Concat(shared, []string{
		"HOME=" + s.Home, "USER=" + s.User, "LOGNAME=" + s.User, "PATH=" + path, "SHELL=" + s.shell(),
		"SSH_CONNECTION=" + s.Addr.Addr().String() + " 0 " + s.Addr.Addr().String() + " " + strconv.Itoa(int(s.Addr.Port())),
	}, s.conf.Env)
}

func (s *Server) shell() string {
	if s.conf.Shell == "" {
		return "/bin/sh"
	}
	return s.conf.Shell
}
