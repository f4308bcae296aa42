package launcher

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
	"github.com/gorun/gorun/launcher/agent"
	"github.com/gorun/gorun/rendezvous"
)

// The test binary is also the agent: Job.Agent is this process's executable.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		os.Exit(agent.Main(os.Args[2:]))
	}
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case joinRole:
			joinAndWait()
		case deafRole:
			joinAndIgnore()
		case goOnRole:
			goOn()
		case dieRole:
			joinAndDie()
		case closeRole:
			joinAndClose()
		}
	}
	// A program built with the race detector sleeps for a second when it ends,
	// and these tests start hundreds.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	cache, err := os.MkdirTemp("", "launcher-cache-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sshserver.Cache = cache // the test binary is large, and the agent of hundreds of hosts
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(cache)
		os.Exit(code)
	}))
}

// joinRole is the argument with which the test binary is a rank that joins its
// job and waits for the loss of another.
const joinRole = "join-and-wait"

func joinAndWait() {
	job, err := rendezvous.Open(context.Background(), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lost, err := job.Lost(context.Background())
	fmt.Println("lost", lost, err)
	os.Exit(3)
}

// deafRole is the argument with which it joins its job and waits for ever, as
// MPI programs do.
const deafRole = "join-and-ignore"

func joinAndIgnore() {
	if _, err := rendezvous.Open(context.Background(), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	time.Sleep(time.Hour)
}

// goOnRole is the argument with which it waits for the loss of another and goes
// on with those that are left.
const goOnRole = "go-on"

func goOn() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	job, err := rendezvous.Open(ctx, nil)
	if err == nil {
		_, err = job.Lost(ctx)
	}
	var next *rendezvous.Job
	if err == nil {
		next, err = job.NextEpoch(ctx)
	}
	if err == nil {
		err = next.Barrier(ctx, "all")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(job.Rank(), "goes on as", next.Rank(), "of", next.Size(), "without", next.Departed())
	os.Exit(0)
}

// dieRole is the argument with which it joins its job and is killed, which a
// reader of its descriptor 8 notices.
const dieRole = "join-and-die"

func joinAndDie() {
	if _, err := rendezvous.Open(context.Background(), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// closeRole is the argument with which it joins its job and leaves it in good
// order.
const closeRole = "join-and-close"

func joinAndClose() {
	job, err := rendezvous.Open(context.Background(), nil)
	if err == nil {
		err = job.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// outcome is all that a job did.
type outcome struct {
	*Result
	err            error
	stdout, stderr string
	events         []Event
}

// sh is a job of so many ranks that run a shell script.
func sh(ranks int, script string) *Job {
	return &Job{Apps: []App{{Args: []string{"/bin/sh", "-c", script}, Ranks: ranks}}}
}

// start runs a job in the background. When the job has ended, nothing of it
// may be left.
func start(t *testing.T, ctx context.Context, job *Job) <-chan outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	var events []Event
	if job.Streams.Stdout == nil {
		job.Streams.Stdout = &stdout
	}
	job.Streams.Stderr = &stderr
	told := job.Events
	job.Events = func(e Event) {
		events = append(events, e)
		if told != nil {
			told(e)
		}
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := Run(ctx, job)
		done <- outcome{result, err, stdout.String(), stderr.String(), events}
	}()
	return done
}

func run(t *testing.T, job *Job) outcome {
	t.Helper()
	o := <-start(t, t.Context(), job)
	requireGone(t, o.Job)
	return o
}

// requireGone fails if a process of the job lives, or a folder of one is left.
func requireGone(t *testing.T, job string) {
	t.Helper()
	require.Empty(t, processesOf(job), "processes of the job are left")
	for _, base := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		left, err := filepath.Glob(fmt.Sprintf("%s/gorun-%d/job-%s-*", base, os.Getuid(), job))
		require.NoError(t, err)
		require.Empty(t, left, "folders of the job are left")
	}
}

// processesOf lists the processes that have the job in their environment.
func processesOf(job string) []string {
	var found []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte("GORUN_JOB_PATH=")) && bytes.Contains(b, []byte(job+"/")) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, path+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte(" "))))
		}
	}
	return found
}

// lines splits output into its lines.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// hosts starts SSH servers on 127.0.0.2 and following and returns the job that
// runs script on them, a rank for each slot.
func hosts(t *testing.T, slots []int, script string) (*Job, []*sshserver.Server) {
	t.Helper()
	return hostsOf(t, slots, script, make([]sshserver.Config, len(slots)))
}

// hostsOf is hosts, where the servers are not all alike.
func hostsOf(t *testing.T, slots []int, script string, configs []sshserver.Config) (*Job, []*sshserver.Server) {
	t.Helper()
	var config strings.Builder
	var servers []*sshserver.Server
	job := sh(0, script)
	for i, n := range slots {
		addr := netip.AddrFrom4([4]byte{127, 0, 0, byte(2 + i)})
		configs[i].Addr = addr
		s := sshserver.Start(t, configs[i])
		fmt.Fprintf(&config, "Host %v\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile none\n  IdentityAgent none\n", addr, s.KnownHosts)
		entry := s.Entry()
		entry.Slots = n
		job.Hosts = append(job.Hosts, entry)
		servers = append(servers, s)
	}
	job.SSH.Config = filepath.Join(t.TempDir(), "ssh_config")
	require.NoError(t, os.WriteFile(job.SSH.Config, []byte(config.String()), 0o600))
	return job, servers
}

// local is a hostfile entry for this machine.
func local(slots int) hostfiles.Host { return hostfiles.Host{Name: "localhost", Slots: slots} }

// pidFile returns a path for a script to write process ids to, and a function
// that blocks until n were written.
func pidFile(t *testing.T) (path string, await func(n int) []int) {
	path = filepath.Join(t.TempDir(), "pids")
	return path, func(n int) (pids []int) {
		require.Eventually(t, func() bool {
			b, _ := os.ReadFile(path)
			pids = nil
			for _, f := range strings.Fields(string(b)) {
				if pid, err := strconv.Atoi(f); err == nil {
					pids = append(pids, pid)
				}
			}
			return len(pids) >= n
		}, 20*time.Second, 5*time.Millisecond)
		return pids
	}
}

// lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
