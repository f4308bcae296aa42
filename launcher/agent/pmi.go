//go:build linux

package agent

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gorun/gorun/launcher/wire"
	"github.com/gorun/gorun/rankenv"
	"github.com/gorun/gorun/rendezvous/pmi"
)

// A program that is linked with a client of PMI inherits a connection (PMI_FD).
// What else may turn out to be one, an interpreter or a script, is told a port
// (PMI_PORT), which costs a host one listener, and a rank nothing: most programs
// never ask. For the same reason what is wrapped gets the port: sudo and its like
// close what they inherit.

// pmiFD is where a rank finds its connection, behind its door.
const pmiFD = doorFD + 1

// startPMI makes the server for the ranks' PMI, if they get its variables.
func (s *services) startPMI(a *agent) error {
	if !slices.Contains(launchers(a.start), rankenv.PMI) || len(a.host().Ranks) == 0 {
		return nil
	}
	conf := pmi.Config{
		Job: fmt.Sprintf("%s_%d", a.start.Job, a.start.Attempt), Hosts: s.roster, Node: a.start.Node, Exchange: s.Node,
		Joined: func(rank int) {
			a.present(rank)
			s.Open(s.ctx, 0, rank)
		},
		Aborted:  a.aborted,
		Vanished: a.vanished,
	}
	appOf := a.appOf()
	for rank := range len(appOf) {
		conf.Apps = append(conf.Apps, appOf[rank])
	}
	var err error
	s.pmi, err = pmi.NewServer(s.ctx, conf)
	return err
}

// servePMI gets the server ready for programs, before the first is started.
func (s *services) servePMI(programs []*program) error {
	if s.pmi == nil || !slices.ContainsFunc(programs, func(p *program) bool { return !p.inheritsPMI }) {
		return nil
	}
	l, addr, err := listenForPMI()
	if err != nil {
		return err
	}
	if err := s.agent.lookout.add(l, s.answerPMI); err != nil {
		unix.Close(l)
		return fmt.Errorf("listen for PMI: %w", err)
	}
	s.pmiPort = addr
	return nil
}

// answerPMI is called when the first rank connects, or none can any more.
func (s *services) answerPMI(fd int, _, hungUp bool) {
	f := os.NewFile(uintptr(fd), "PMI")
	defer f.Close()
	if hungUp {
		return
	}
	l, err := net.FileListener(f)
	if err != nil {
		s.pmiFailed(fmt.Errorf("listen for PMI: %w", err))
		return
	}
	s.wg.Go(func() {
		if err := s.pmi.ServePort(s.ctx, l, s.pmiFailed); err != nil {
			s.pmiFailed(err)
		}
	})
}

// listenForPMI opens the port, as a bare descriptor: the first socket of package
// net's finds out what the kernel knows of IPv6, which takes a tenth of a
// millisecond, and most jobs of one host have no other. Of the job's ports
// (--ports) it is none: no firewall is on the way.
func listenForPMI() (fd int, addr string, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, "", fmt.Errorf("listen for PMI: %w", os.NewSyscallError("socket", err))
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if err = unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback.As4()}); err == nil {
		err = unix.Listen(fd, 4096) // at most: the kernel has its own limit (somaxconn)
	}
	if err == nil {
		var name unix.Sockaddr
		if name, err = unix.Getsockname(fd); err == nil {
			return fd, netip.AddrPortFrom(loopback, uint16(name.(*unix.SockaddrInet4).Port)).String(), nil
		}
	}
	unix.Close(fd)
	return -1, "", fmt.Errorf("listen for PMI: %w", err)
}

// pmiFailed tells the user what is wrong with a rank's use of PMI.
func (s *services) pmiFailed(err error) { s.agent.conn.Send(&wire.Notice{Text: err.Error()}) }

// pmiConnection returns the rank's end of a connection, which the caller closes
// after the fork; nil if p's ranks do not inherit one.
func (s *services) pmiConnection(p *program, rank int) (*os.File, error) {
	if s.pmi == nil || !p.inheritsPMI {
		return nil, nil
	}
	conn, rankEnd, err := pmi.NewPair()
	if err != nil {
		return nil, err
	}
	s.wg.Go(func() {
		if err := s.pmi.Serve(s.ctx, conn, rank); err != nil {
			s.pmiFailed(err)
		}
	})
	return rankEnd, nil
}

// pmiEnv returns what leads a rank to the server.
func (s *services) pmiEnv(p *program, rank int) []string {
	switch {
	case s.pmi == nil:
		return nil
	case p.inheritsPMI:
		return pmiFDEnv()
	}
	return pmiPortEnv(s.pmiPort, rank)
}

func pmiFDEnv() []string { return []string{"PMI_FD=" + strconv.Itoa(pmiFD)} }

func pmiPortEnv(addr string, rank int) []string {
	return []string{"PMI_PORT=" + addr, "PMI_ID=" + strconv.Itoa(rank)}
}

// showPMI returns what pmiEnv would for a rank of app with that environment, if
// the server were started. The port is one that is free now. A program that is
// not there, or not yet, may be anything.
func (a *agent) showPMI(app wire.App, rank int, dir string, env []string) ([]string, error) {
	if !slices.Contains(launchers(a.start), rankenv.PMI) {
		return nil, nil
	}
	path, err := findProgram(app.Args[0], dir, lookupEnv(env, "PATH"))
	if err == nil && !wraps(app, rank) && readLinkage(path).asks(lookupEnv(env, "LD_LIBRARY_PATH")).byPMI() {
		return pmiFDEnv(), nil
	}
	fd, addr, err := listenForPMI()
	if err != nil {
		return nil, err
	}
	unix.Close(fd)
	return pmiPortEnv(addr, rank), nil
}

// speaksPMI says whether a rank has used PMI, so that there is more to know of
// its end than its status.
func (s *services) speaksPMI(rank int) bool { return s.pmi != nil && s.pmi.Speaks(rank) }

// aborted ends a rank as far as the job is concerned: it has asked for the end of
// all, with a status. Its process follows by itself, or is told with the others.
// After the job has begun to end, it is nothing that counts.
func (a *agent) aborted(number, status int) {
	at := timeNow()
	a.mu.Lock()
	r := a.rank(number)
	if r == nil || r.told || a.keeper != nil {
		a.mu.Unlock()
		return
	}
	if !a.failed {
		a.failed = true
		a.noteDying(at)
	}
	r.aborted = true
	a.mu.Unlock()
	a.tellEnd(r, &wire.Exited{Rank: number, Code: abortStatus(status), Aborted: true, Clock: int64(at.Sub(a.began))})
}

// abortStatus is what an abort's status becomes as that of a process; an abort
// with 0 is none that has ended well.
func abortStatus(status int) int {
	if status &= 0xff; status != 0 {
		return status
	}
	return 1
}
