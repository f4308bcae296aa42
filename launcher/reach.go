package launcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/address"
	"github.com/gorun/gorun/launcher/remote"
	"github.com/gorun/gorun/launcher/wire"
)

// reacher starts agents.
type reacher struct {
	job     *Job
	id      string // of the job
	means   *means
	verb    []string       // what an agent is started with, behind its program
	dialer  *remote.Dialer // nil: no host is reached by SSH
	program *remote.Program
	path    string // of the agent's program on this host
	files   []stagedFile

	programs []string    // names of the programs among files, one an App; nil: none is staged
	tell     func(Event) // of reachAll; nil: it was not called yet
	log      *slog.Logger
}

// newReacher prepares to reach hosts. It fails before anything is started.
func newReacher(m *means, id string, hosts []hostfiles.Host) (*reacher, error) {
	job := m.job
	r := &reacher{job: job, id: id, means: m, verb: []string{"agent", "--job", id}, log: job.Log}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if r.path = job.Agent; r.path == "" {
		if r.path, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the agent's program: %w", err)
		}
	}
	if r.program, err = remote.NewProgram(job.Agent); err != nil {
		return nil, err
	}
	if r.files, r.programs, err = stagedFiles(job); err != nil {
		return nil, err
	}
	for _, h := range hosts {
		switch {
		case m.isLocal(h):
		case !m.bySlurm(h) && r.dialer == nil:
			r.dialer, err = remote.NewDialer(remote.SSH{
				Port: job.SSH.Port, Key: job.SSH.Key, Jump: job.SSH.Jump,
				Config: job.SSH.Config, Agent: job.SSH.Agent, Rsh: job.SSH.Rsh,
				AcceptNewHostKeys: job.SSH.AcceptNewHostKeys,
				Prompt:            job.SSH.Prompt,
				Warn:              r.warn,
				Log:               r.log,
			})
			if err != nil {
				return nil, &PlanError{[]error{err}}
			}
		}
	}
	if err := r.check(hosts); err != nil {
		return nil, err
	}
	return r, nil
}

// check refuses what is wrong with hosts that are to be logged in to.
func (r *reacher) check(hosts []hostfiles.Host) error {
	var problems []error
	for _, h := range hosts {
		if r.means.isLocal(h) || r.means.bySlurm(h) {
			continue
		}
		if err := r.dialer.Check(h); err != nil {
			problems = append(problems, err)
		}
	}
	if problems == nil {
		return nil
	}
	return &PlanError{problems}
}

// warn tells of a warning. Without an attempt at a job there are no events.
func (r *reacher) warn(text string) {
	if r.tell == nil {
		r.log.Warn(text)
		return
	}
	r.tell(Event{Kind: Warning, Rank: -1, Message: text})
}

func (r *reacher) close() {
	if r.dialer != nil {
		r.dialer.Close()
	}
}

// reachAll starts the agents of all hosts at once and blocks until they have
// said hello and have their files. So many as spares may fail, which their err
// says. If more cannot be reached, none is kept, and the error joins a
// *HostError for each that failed by itself.
func (r *reacher) reachAll(ctx context.Context, hosts []*host, spares int, event func(Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var mu sync.Mutex // one event at a time
	tell := func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		event(e)
	}
	r.tell = tell
	failed, pending, late := 0, map[*host]bool{}, map[*host]string{}
	for _, h := range hosts {
		pending[h] = true
		event(Event{Kind: HostReaching, Host: h.name, Rank: -1})
	}
	var giveUp sync.Once
	for _, h := range hosts {
		wg.Go(func() {
			err := r.reach(ctx, h, tell)
			mu.Lock()
			defer mu.Unlock()
			delete(pending, h)
			if err == nil {
				event(Event{Kind: HostReached, Host: h.name, Rank: -1})
				return
			}
			if ctx.Err() != nil { // not its own failure
				late[h] = h.awaited(err)
				return
			}
			failed++
			h.unfit = hostError(h, err)
			event(Event{Kind: HostFailed, Host: h.name, Rank: -1, Message: h.whyUnfit()})
			if failed <= spares {
				return
			}
			giveUp.Do(func() { time.AfterFunc(othersPatience, func() { cancel(errHostFailed) }) })
		})
	}
	slow := time.AfterFunc(slowReach, func() {
		mu.Lock()
		defer mu.Unlock()
		if len(pending) > 0 {
			event(Event{Kind: Waiting, Rank: -1, Message: "for " + nameHosts(slices.DeleteFunc(slices.Clone(hosts), func(h *host) bool { return !pending[h] }))})
		}
	})
	defer slow.Stop()
	wg.Wait()
	switch {
	case failed > spares:
		var all []error
		for _, h := range hosts {
			all = append(all, h.unfit)
		}
		return errors.Join(all...)
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return unreached(hosts, late)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// slowReach is when the user is told which hosts keep the job waiting.
const slowReach = 5 * time.Second

// nameHosts names the first of some hosts and counts the rest.
func nameHosts(hosts []*host) string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.name)
	}
	return listed(names, 8)
}

// listed names so many of a list and counts the rest.
func listed(names []string, shown int) string {
	list := strings.Join(names[:min(len(names), shown)], ", ")
	if more := len(names) - shown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// othersPatience is how long hosts may still fail by themselves after one has,
// a little longer than a refused connection is tried again: who mistyped three
// names wants to hear of all.
const othersPatience = 4 * time.Second

// errHostFailed ends the attempts to reach the other hosts.
var errHostFailed = errors.New("another host could not be reached")

// errStartTimeout ends the attempt to reach one host.
var errStartTimeout = errors.New("no answer within --start-timeout")

// reach starts the agent of one host and waits for its hello.
func (r *reacher) reach(ctx context.Context, h *host, tell func(Event)) (err error) {
	ctx, limit := newStartLimit(ctx, r.job.Limits.start())
	defer limit.end()
	h.stderr = &excerpt{}
	defer func() {
		// How far it came says more than that the time was over.
		if err != nil && context.Cause(ctx) == errStartTimeout && !errors.As(err, new(*remote.Error)) {
			if err = errStartTimeout; h.conn != nil && h.hello == nil {
				err = fmt.Errorf("its agent did not say hello: %w", errStartTimeout)
			}
		}
	}()
	uploading := func() {
		limit.pause()
		h.uploading = true
		tell(Event{Kind: HostUploading, Host: h.name, Rank: -1})
	}
	uploaded := func() {
		h.uploading = false
		limit.resume()
	}
	var m wire.Message
	for doubt := false; ; doubt = true {
		if err := r.connect(ctx, h, doubt, func() func() { uploading(); return uploaded }); err != nil {
			return err
		}
		conn := wire.NewConn(h.stream)
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		h.conn = conn
		if m, err = conn.Receive(); err == nil {
			break
		}
		if ctx.Err() != nil {
			return streamError(h, err)
		}
		h.close() // until then it may say why
		h.stream, h.conn = nil, nil
		err = streamError(h, err)
		if doubt || h.local {
			return err
		}
		// The program that is stored there may be what a power loss has left of it.
		r.log.Debug("the agent did not say hello and is checked", "host", h.name, "error", err)
		h.stderr = &excerpt{}
	}
	if h.hello, err = checkHello(m); err != nil {
		return err
	}
	if !h.local && !h.reached.IsValid() {
		h.reached = address.ByName(ctx, h.entry.Name, address.Own(address.Read(h.hello.Interfaces), true))
	}
	if len(r.files) > 0 {
		uploading()
	}
	return sendFiles(h.conn, r.files)
}

// connect opens the stream to the agent. With doubt, a program that is there is
// checked first. uploading is called when the agent's program is not there yet.
func (r *reacher) connect(ctx context.Context, h *host, doubt bool, uploading func() (done func())) error {
	if h.local {
		l, err := remote.StartOnSocket(append([]string{r.path}, r.verb...), h.stderr)
		if err == nil {
			h.stream = l
		}
		return err
	}
	stream, err := r.start(ctx, h, remote.Start{
		Args: r.verb, Stderr: h.stderr, Log: r.log,
		Uploading: uploading, Doubt: doubt,
	})
	if err == nil {
		h.stream = stream
	}
	return err
}

// start starts the agent's program on a host that is not this one.
func (r *reacher) start(ctx context.Context, h *host, s remote.Start) (remote.Stream, error) {
	if r.means.bySlurm(h.entry) {
		return r.means.slurm.StartAgent(ctx, r.program, h.entry.Name, s)
	}
	c, err := r.dialer.Dial(ctx, h.entry)
	if err != nil {
		return nil, err
	}
	stream, err := c.StartAgent(ctx, r.program, s)
	if err != nil {
		return nil, err
	}
	h.reached, h.source = c.RemoteAddr().Addr(), c.LocalAddr().Addr()
	return stream, nil
}

// hostError gives an error the host and, for people, the step.
func hostError(h *host, err error) error {
	step := "agent"
	var r *remote.Error
	if errors.As(err, &r) {
		step, err = string(r.Step), r.Err
	}
	return &HostError{Host: h.name, Step: step, Err: err, Hint: exhaustionHint(err)}
}

// startLimit bounds the time until an agent answers, uploads not counted.
type startLimit struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // nil: no limit
	rest  time.Duration
	since time.Time
}

func newStartLimit(ctx context.Context, d time.Duration) (context.Context, *startLimit) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &startLimit{cancel: cancel, rest: d, since: timeNow()}
	if d > 0 {
		l.timer = time.AfterFunc(d, func() { cancel(errStartTimeout) })
	}
	return ctx, l
}

// pause stops the clock.
func (l *startLimit) pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil && l.timer.Stop() {
		l.rest -= time.Since(l.since)
	}
}

// resume lets it go on.
func (l *startLimit) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.since = timeNow()
		l.timer.Reset(l.rest)
	}
}

func (l *startLimit) end() {
	l.pause()
	l.cancel(nil)
}
