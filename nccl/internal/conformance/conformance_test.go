package conformance_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gorun/gorun/nccl"
	"github.com/gorun/gorun/nccl/internal/conformance"
)

// A test binary with these variables is a rank of a test that another one runs.
const (
	envRank = "GORUN_TEST_CONFORMANCE_RANK"
	envSize = "GORUN_TEST_CONFORMANCE_SIZE"
	envWhat = "GORUN_TEST_CONFORMANCE_WHAT"
)

func TestMain(m *testing.M) {
	if os.Getenv(envRank) != "" {
		if err := beRank(os.Getenv(envWhat)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// timeout is how long one test may take before its ranks are given up: a hang,
// not slowness.
const timeout = 2 * time.Minute

func TestRanksInOneProcess(t *testing.T) {
	for size := 1; size <= 5; size++ {
		t.Run(fmt.Sprint(size, " ranks"), func(t *testing.T) {
			for _, test := range conformance.Tests {
				t.Run(test.Name, func(t *testing.T) {
					comms, err := nccl.InitAll(t.Context(), size, &nccl.Config{Check: size == 3})
					require.NoError(t, err)
					require.NoError(t, onEach(t.Context(), comms, test))
				})
			}
		})
	}
}

// onEach runs a test on the communicators of one process.
func onEach(ctx context.Context, comms nccl.Comms, test conformance.Test) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	errs := make([]error, len(comms))
	var wg sync.WaitGroup
	for i, c := range comms {
		wg.Go(func() {
			if errs[i] = test.Run(ctx, c); errs[i] != nil {
				errs[i] = fmt.Errorf("rank %d: %w", i, errs[i])
				c.Abort(errs[i])
			}
			errs[i] = errors.Join(errs[i], c.Close())
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func TestRanksInProcesses(t *testing.T) {
	for size := 2; size <= 5; size++ {
		t.Run(fmt.Sprint(size, " ranks"), func(t *testing.T) {
			ranks := start(t, size, len(conformance.Tests), "suite")
			for rank, r := range ranks {
				require.NoError(t, r.wait(), "rank %d", rank)
			}
		})
	}
}

func TestAKilledRankIsLostOnAllOthers(t *testing.T) {
	const size, victim = 4, 2
	ranks := start(t, size, 1, "lose")
	for _, r := range ranks {
		r.ready(t)
	}
	require.NoError(t, ranks[victim].cmd.Process.Kill())
	// Whoever has heard stays until all have: his own end would be a loss too.
	for rank, r := range ranks {
		if rank != victim {
			r.ready(t)
		}
	}
	for _, r := range ranks {
		r.cmd.Process.Kill() // the victim is gone already
		r.wait()
	}
}

func TestAStoppedRankIsNamedByTheDeadline(t *testing.T) {
	const size, victim = 3, 1
	ranks := start(t, size, 1, "stall")
	for _, r := range ranks {
		r.ready(t)
	}
	for rank, r := range ranks {
		if rank != victim {
			require.NoError(t, r.wait(), "rank %d", rank)
		}
	}
	require.NoError(t, ranks[victim].cmd.Process.Kill())
	ranks[victim].wait()
}

// A process that ends after its Wait without a Close takes nothing back from
// the others: each of them was told of its result, and none of a loss.
func TestRanksThatDoNotClose(t *testing.T) {
	for run := range 10 {
		ranks := start(t, 4, 1, "end "+strconv.Itoa([]int{10, 100_000}[run%2]))
		for rank, r := range ranks {
			require.NoError(t, r.wait(), "rank %d", rank)
		}
	}
}

// rank is a process of a test.
type rank struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	out    *tail
}

// tail keeps what a process said on standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// start starts the ranks of a test and gives each the ids of some communicators
// on its standard input.
func start(t *testing.T, size, comms int, what string) []*rank {
	t.Helper()
	var ids []byte
	for range comms {
		id, err := nccl.NewUniqueID(nil)
		require.NoError(t, err)
		text, err := id.MarshalText()
		require.NoError(t, err)
		ids = append(append(ids, text...), '\n')
	}
	ranks := make([]*rank, size)
	for i := range ranks {
		r := &rank{cmd: exec.CommandContext(t.Context(), os.Args[0]), out: &tail{}}
		r.cmd.Env = append(os.Environ(), envRank+"="+strconv.Itoa(i), envSize+"="+strconv.Itoa(size), envWhat+"="+what)
		r.cmd.Stderr = r.out
		stdin, err := r.cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := r.cmd.StdoutPipe()
		require.NoError(t, err)
		r.stdout = bufio.NewReader(stdout)
		require.NoError(t, r.cmd.Start())
		_, err = stdin.Write(ids)
		require.NoError(t, err)
		require.NoError(t, stdin.Close())
		ranks[i] = r
	}
	return ranks
}

// ready blocks until the rank has its communicator.
func (r *rank) ready(t *testing.T) {
	t.Helper()
	line, err := r.stdout.ReadString('\n')
	require.NoError(t, err, "%v", r.out)
	require.Equal(t, "ready\n", line)
}

// wait waits for the end of the rank, and returns what it said if it failed.
func (r *rank) wait() error {
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %v", err, r.out)
	}
	return nil
}

// beRank is what a rank's process does.
func beRank(what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	rank, err := strconv.Atoi(os.Getenv(envRank))
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(os.Getenv(envSize))
	if err != nil {
		return err
	}
	ids := bufio.NewScanner(os.Stdin)
	next := func(conf *nccl.Config) (*nccl.Comm, error) {
		if !ids.Scan() {
			return nil, errors.New("no id is left")
		}
		var id nccl.UniqueID
		if err := id.UnmarshalText(ids.Bytes()); err != nil {
			return nil, err
		}
		return nccl.InitRank(ctx, rank, size, []nccl.UniqueID{id}, conf)
	}
	switch what {
	case "suite":
		for _, test := range conformance.Tests {
			c, err := next(nil)
			if err != nil {
				return fmt.Errorf("%s: %w", test.Name, err)
			}
			if err := test.Run(ctx, c); err != nil {
				return fmt.Errorf("%s: %w", test.Name, err)
			}
			if err := c.Close(); err != nil {
				return fmt.Errorf("%s: %w", test.Name, err)
			}
		}
		return nil
	case "lose":
		return lose(ctx, rank, next)
	case "stall":
		return stall(ctx, rank, next)
	}
	if count, err := strconv.Atoi(strings.TrimPrefix(what, "end ")); err == nil {
		return end(ctx, count, next)
	}
	return fmt.Errorf("no test %q", what)
}

// end is a rank that ends as soon as its part of an all-reduce of count
// elements is done.
func end(ctx context.Context, count int, next func(*nccl.Config) (*nccl.Comm, error)) error {
	c, err := next(nil)
	if err != nil {
		return err
	}
	x := make([]float32, count)
	nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
	return c.Wait(ctx)
}

// lose is a rank of a communicator that rank 2 never does anything in. It wants
// to hear that rank 2 is lost, and says "ready" when it has.
func lose(ctx context.Context, rank int, next func(*nccl.Config) (*nccl.Comm, error)) error {
	c, err := next(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	x := make([]float32, 1<<20)
	if rank != 2 {
		nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
	}
	fmt.Println("ready")
	if rank == 2 {
		<-c.Done() // or be killed
		return c.Err()
	}
	err = c.Wait(ctx)
	lost, ok := errors.AsType[*nccl.LostError](err)
	if !ok || len(lost.Ranks) != 1 || lost.Ranks[0] != 2 || !errors.Is(err, nccl.RemoteError) {
		return fmt.Errorf("want the loss of rank 2, got: %w", err)
	}
	fmt.Println("ready")
	select {} // until it is killed
}

// stall is a rank of a communicator that rank 1 never does anything in, with a deadline.
func stall(ctx context.Context, rank int, next func(*nccl.Config) (*nccl.Comm, error)) error {
	c, err := next(&nccl.Config{Deadline: 2 * time.Second})
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println("ready")
	if rank == 1 {
		select {} // until it is killed
	}
	x := make([]float32, 1<<10)
	nccl.AllReduce(c, nccl.Of(x), nccl.Of(x), nccl.Sum)
	err = c.Wait(ctx)
	stalled, ok := errors.AsType[*nccl.StallError](err)
	if !ok || len(stalled.Missing) != 1 || stalled.Missing[0] != 1 || stalled.Op != "AllReduce" || stalled.Seq != 1 {
		return fmt.Errorf("want rank 1 missing in call 1, got: %w", err)
	}
	return nil
}
