package pmi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rendezvous"
	"github.com/gorun/gorun/rendezvous/pmi"
)

// world is the servers of all hosts of a job, in memory.
type world struct {
	t       testing.TB
	servers []*pmi.Server // by rank
	serving sync.WaitGroup

	mu       sync.Mutex
	joined   []int
	aborted  [][2]int // rank and status
	vanished []int
	errs     []error
}

// newWorld starts servers for hosts with so many ranks each. When the test ends,
// they do.
func newWorld(t testing.TB, ranks ...int) *world {
	w := &world{t: t}
	var hosts []rendezvous.Host
	size := 0
	for node, n := range ranks {
		h := rendezvous.Host{Name: fmt.Sprint("node", node)}
		for range n {
			h.Ranks = append(h.Ranks, size)
			size++
		}
		hosts = append(hosts, h)
	}
	memory, err := rendezvous.NewMemory(hosts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	for node := range hosts {
		s, err := pmi.NewServer(ctx, pmi.Config{
			Job: "job", Hosts: hosts, Node: node, Exchange: memory,
			Joined:   func(rank int) { note(w, &w.joined, rank) },
			Aborted:  func(rank, status int) { note(w, &w.aborted, [2]int{rank, status}) },
			Vanished: func(rank int) { note(w, &w.vanished, rank) },
		})
		require.NoError(t, err)
		for range hosts[node].Ranks {
			w.servers = append(w.servers, s)
		}
	}
	t.Cleanup(func() {
		cancel()
		w.serving.Wait()
		for _, s := range w.servers {
			s.Close()
		}
	})
	return w
}

func note[T any](w *world, list *[]T, what T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, what)
}

// client is the rank's end of a connection.
type client struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// connect returns a client for a rank, hung up when the test ends.
func (w *world) connect(rank int) *client {
	ours, rankEnd, err := pmi.NewPair()
	require.NoError(w.t, err)
	conn, err := net.FileConn(rankEnd)
	require.NoError(w.t, err)
	require.NoError(w.t, rankEnd.Close())
	w.t.Cleanup(func() { conn.Close() })
	w.serving.Go(func() {
		if err := w.servers[rank].Serve(context.Background(), ours, rank); err != nil {
			note(w, &w.errs, err)
		}
	})
	return &client{w.t, conn, bufio.NewReader(conn)}
}

func (c *client) send(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.conn, text)
	require.NoError(c.t, err)
}

// ask sends a line and returns the line that comes back.
func (c *client) ask(line string) string {
	c.t.Helper()
	c.send(line + "\n")
	answer, err := c.in.ReadString('\n')
	require.NoError(c.t, err)
	return strings.TrimSuffix(answer, "\n")
}

// ask2 sends a frame, its length as Slurm's client writes it, and returns what
// is in the frame that comes back.
func (c *client) ask2(body string) string {
	c.t.Helper()
	c.send(fmt.Sprintf("%-6d%s", len(body), body))
	var n int
	header := make([]byte, 6)
	_, err := io.ReadFull(c.in, header)
	require.NoError(c.t, err)
	_, err = fmt.Sscanf(string(header), "%d", &n)
	require.NoError(c.t, err)
	answer := make([]byte, n)
	_, err = io.ReadFull(c.in, answer)
	require.NoError(c.t, err)
	return string(answer)
}

// talk asks and checks the answers, in pairs.
func (c *client) talk(asks, want []string, ask func(string) string) {
	c.t.Helper()
	for i := range asks {
		require.Equal(c.t, want[i], ask(asks[i]), asks[i])
	}
}

// dialogue cuts lines that begin with C or S into questions and answers.
func dialogue(text string) (asks, answers []string) {
	for line := range strings.Lines(text) {
		who, said, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch who {
		case "C":
			asks = append(asks, said)
		case "S":
			answers = append(answers, said)
		}
	}
	return asks, answers
}

// What MPICH 4.0.2 says from init to finalize, and Hydra answered.
const mpich = `
	C cmd=init pmi_version=1 pmi_subversion=1
	S cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
	C cmd=get_maxes
	S cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024
	C cmd=get_appnum
	S cmd=appnum appnum=0
	C cmd=get_my_kvsname
	S cmd=my_kvsname kvsname=kvs_job
	C cmd=get kvsname=kvs_job key=PMI_process_mapping
	S cmd=get_result rc=0 msg=success value=(vector,(0,1,1))
	C cmd=put kvsname=kvs_job key=-bcast-1-0 value=2F6465762F
	S cmd=put_result rc=0 msg=success
	C cmd=barrier_in
	S cmd=barrier_out
	C cmd=get kvsname=kvs_job key=-bcast-1-0
	S cmd=get_result rc=0 msg=success value=2F6465762F
	C cmd=get_universe_size
	S cmd=universe_size size=1
	C cmd=finalize
	S cmd=finalize_ack`

func TestMPICHFromInitToFinalize(t *testing.T) {
	w := newWorld(t, 1)
	asks, answers := dialogue(mpich)
	c := w.connect(0)
	c.talk(asks, answers, c.ask)
	require.Equal(t, pmi.Ending{Joined: true, Finalized: true}, w.servers[0].End(0))
	require.Equal(t, []int{0}, w.joined)
	require.Empty(t, w.errs)
}

func TestTwoProgramsInTurnOverOneDescriptor(t *testing.T) {
	w := newWorld(t, 1)
	asks, answers := dialogue(mpich)
	c := w.connect(0)
	c.talk(asks, answers, c.ask)
	c.talk(asks, answers, c.ask)
	require.Equal(t, []int{0, 0}, w.joined)
}

// What Slurm's libpmi2 22.05 says. Hydra cut the value at its ";".
const slurm = `
	C cmd=fullinit;pmirank=0;threaded=FALSE;
	S cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=0;size=1;appnum=0;debugged=FALSE;pmiverbose=FALSE;rc=0;
	C cmd=job-getid;
	S cmd=job-getid-response;jobid=kvs_job;rc=0;
	C cmd=kvs-put;key=k0;value=a=b;;c=0;
	S cmd=kvs-put-response;rc=0;
	C cmd=kvs-fence;
	S cmd=kvs-fence-response;rc=0;
	C cmd=kvs-get;jobid=kvs_job;srcid=-1;key=k0;
	S cmd=kvs-get-response;found=TRUE;value=a=b;;c=0;rc=0;
	C cmd=kvs-get;jobid=kvs_job;srcid=-1;key=nokey;
	S cmd=kvs-get-response;found=FALSE;rc=0;
	C cmd=info-getjobattr;key=PMI_process_mapping;
	S cmd=info-getjobattr-response;found=TRUE;value=(vector,(0,1,1));rc=0;
	C cmd=info-getjobattr;key=universeSize;
	S cmd=info-getjobattr-response;found=TRUE;value=1;rc=0;
	C cmd=info-putnodeattr;key=na;value=1;
	S cmd=info-putnodeattr-response;rc=0;
	C cmd=info-getnodeattr;thrid=7;key=na;wait=TRUE;
	S cmd=info-getnodeattr-response;thrid=7;found=TRUE;value=1;rc=0;
	C cmd=spawn;ncmds=1;
	S cmd=spawn-response;rc=1;errmsg=spawn is not served by gorun;
	C cmd=finalize;
	S cmd=finalize-response;rc=0;`

func TestSlurmsPMI2FromInitToFinalize(t *testing.T) {
	w := newWorld(t, 1)
	c := w.connect(0)
	require.Equal(t, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0", c.ask(initLine2))
	asks, answers := dialogue(slurm)
	c.talk(asks, answers, c.ask2)
	require.Equal(t, pmi.Ending{Joined: true, Finalized: true}, w.servers[0].End(0))
}

const (
	initLine  = "cmd=init pmi_version=1 pmi_subversion=1"
	initLine2 = "cmd=init pmi_version=2 pmi_subversion=0"
)

// initialized returns a client that has said init.
func (w *world) initialized(rank int) *client {
	c := w.connect(rank)
	c.ask(initLine)
	return c
}

func get(c *client, key string) string { return c.ask("cmd=get kvsname=kvs_job key=" + key) }

func put(c *client, key, value string) string {
	return c.ask("cmd=put kvsname=kvs_job key=" + key + " value=" + value)
}

func TestPutsAreVisibleToAllAfterTheBarrier(t *testing.T) {
	const round = "of round "
	w := newWorld(t, 2, 1, 3)
	var clients []*client
	for rank := range w.servers {
		clients = append(clients, w.initialized(rank))
	}
	for i := range 3 {
		for rank, c := range clients {
			require.Contains(t, put(c, fmt.Sprint("key", rank), fmt.Sprint(round, i)), "rc=0")
			require.Contains(t, put(c, "same", fmt.Sprint(rank)), "rc=0")
			require.Contains(t, get(c, fmt.Sprint("key", rank)), fmt.Sprint(round, i), "its own")
			if i == 0 {
				require.Contains(t, get(c, fmt.Sprint("key", (rank+1)%6)), "rc=-1")
			}
		}
		for _, c := range clients {
			c.send("cmd=barrier_in\n")
		}
		for _, c := range clients {
			out, err := c.in.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "cmd=barrier_out\n", out)
			for rank := range clients {
				require.Contains(t, get(c, fmt.Sprint("key", rank)), fmt.Sprint(round, i))
			}
			require.Contains(t, get(c, "same"), "value=5")
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	c := w.initialized(0)
	for name, ask := range map[string][2]string{
		"the launcher's key":  {"cmd=put kvsname=kvs_job key=PMI_process_mapping value=(vector,(0,1,9))", "cmd=put_result rc=-1 msg=keys_that_begin_with_PMI__are_the_launcher's"},
		"a long key":          {"cmd=put kvsname=kvs_job key=" + strings.Repeat("k", 65) + " value=v", "cmd=put_result rc=-1 msg=key_has_65_bytes,_want_1_to_64"},
		"a long value":        {"cmd=put kvsname=kvs_job key=k value=" + strings.Repeat("v", 1025), "cmd=put_result rc=-1 msg=value_has_1025_bytes,_at_most_1024_are_allowed"},
		"another key space":   {"cmd=put kvsname=x key=k value=v", `cmd=put_result rc=-1 msg=key_space_is_"x",_want_kvs_job`},
		"a get elsewhere":     {"cmd=get kvsname=x key=k", `cmd=get_result rc=-1 msg=key_space_is_"x",_want_kvs_job value=unknown`},
		"an unknown key":      {"cmd=get kvsname=kvs_job key=k", "cmd=get_result rc=-1 msg=key_not_found value=unknown"},
		"more processes":      {"mcmd=spawn\nnprocs=1\nexecname=x\nendcmd", "cmd=spawn_result rc=-1 msg=spawn_is_not_served_by_gorun"},
		"the names of others": {"cmd=lookup_name service=x", "cmd=lookup_result rc=-1 msg=lookup_name_is_not_served_by_gorun"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, ask[1], c.ask(ask[0])) })
	}
}

func TestPutsBeforeABarrierAreBounded(t *testing.T) {
	w := newWorld(t, 1)
	c := w.initialized(0)
	value := strings.Repeat("v", 1024)
	for i := range 2000 {
		if answer := put(c, fmt.Sprint("key", i), value); answer != "cmd=put_result rc=0 msg=success" {
			require.Equal(t, "cmd=put_result rc=-1 msg=more_than_1048576_bytes_before_a_fence", answer)
			require.Contains(t, put(c, "key1", "again, shorter"), "rc=0", "it takes the place of the first")
			require.Equal(t, "cmd=barrier_out", c.ask("cmd=barrier_in"))
			require.Contains(t, put(c, "key1", value), "rc=0")
			return
		}
	}
	require.Fail(t, "not bounded")
}

func TestWhatIsNotPMIEndsTheConnection(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"before init":     {"cmd=get_maxes\n", "pmi: rank 0: expected cmd=init, found cmd=get_maxes"},
		"unknown command": {initLine + "\ncmd=dance\n", `pmi: rank 0: unknown command "dance"`},
		"no command":      {initLine + "\nGET / HTTP/1.0\n", `pmi: rank 0: expected cmd=…, found "GET / HTTP/1.0"`},
		"no length":       {initLine2 + "\ncmd=barrier_in\n", `pmi: rank 0: expected a length of 1 to 65536 in 6 characters, found "cmd=ba"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			client := w.connect(0)
			client.send(c.said)
			_, err := io.ReadAll(client.in)
			require.NoError(t, err)
			w.serving.Wait()
			require.Len(t, w.errs, 1)
			require.EqualError(t, w.errs[0], c.want)
		})
	}
}

func TestAttributesOfAHostAreWaitedFor(t *testing.T) {
	w := newWorld(t, 2)
	waits, tells := w.connect(0), w.connect(1)
	for _, c := range []*client{waits, tells} {
		c.ask(initLine2)
	}
	ask := "cmd=info-getnodeattr;key=port;wait=TRUE;"
	waits.send(fmt.Sprintf("%6d%s", len(ask), ask))
	require.Equal(t, "cmd=info-getnodeattr-response;found=FALSE;rc=0;", tells.ask2("cmd=info-getnodeattr;key=port;wait=FALSE;"))
	tells.ask2("cmd=info-putnodeattr;key=port;value=8;")
	answer, err := waits.in.ReadString('8')
	require.NoError(t, err)
	require.Contains(t, answer, "found=TRUE;value=8")
}

// The client of an abort does not wait: it is gone when its process is asked for.
func TestAbortIsHeardAfterTheProcessHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		said   []string
		status int
	}{
		"MPICH":             {[]string{initLine + "\n", "cmd=abort exitcode=42\n"}, 42},
		"Flux":              {[]string{initLine + "\n", "cmd=abort exit_code=7 msg=too bad\n"}, 7},
		"PMI-2, no status":  {[]string{initLine2 + "\n", "31    cmd=abort;isworld=TRUE;msg=bad;"}, 1},
		"no number at all":  {[]string{initLine + "\n", "cmd=abort exitcode=x\n"}, 1},
		"the first decides": {[]string{initLine + "\n", "cmd=abort exitcode=3\ncmd=abort exitcode=4\n"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			client := w.connect(1)
			client.ask(strings.TrimSuffix(c.said[0], "\n"))
			client.send(c.said[1])
			require.Equal(t, pmi.Ending{Joined: true}, w.servers[1].End(1))
			require.Equal(t, [][2]int{{1, c.status}}, w.aborted)
		})
	}
}

func TestWhoHangsUpBetweenInitAndFinalizeHasVanished(t *testing.T) {
	w := newWorld(t, 4)
	w.connect(0).conn.Close() // has not begun
	w.initialized(1).conn.Close()
	c := w.initialized(2)
	require.Equal(t, "cmd=finalize_ack", c.ask("cmd=finalize"))
	c.conn.Close()
	c = w.initialized(3)
	c.send("cmd=finalize\n")
	c.conn.Close() // without waiting for the answer
	w.serving.Wait()
	require.Equal(t, []int{1}, w.vanished)
}

func TestEndDoesNotWaitForTheOthers(t *testing.T) {
	w := newWorld(t, 2)
	c := w.initialized(0)
	c.send("cmd=barrier_in\n")
	require.Equal(t, pmi.Ending{Joined: true}, w.servers[0].End(0))
	require.Equal(t, pmi.Ending{}, w.servers[0].End(1), "it never spoke")
	require.False(t, w.servers[0].Speaks(1))
	require.True(t, w.servers[0].Speaks(0))
}

// A child of the process may hold the connection open, and reads no answers.
func TestEndDoesNotWaitForAnswersToBeRead(t *testing.T) {
	w := newWorld(t, 1)
	c := w.initialized(0)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		io.WriteString(c.conn, strings.Repeat("cmd=get_maxes\n", 1<<16)) // more than sockets hold
	}()
	require.Equal(t, pmi.Ending{Joined: true}, w.servers[0].End(0))
	c.conn.Close()
	<-sent
}

// The last program's connection is still open when the next one comes.
func TestAProgramThatHasFinalizedGivesWay(t *testing.T) {
	w := newWorld(t, 1)
	first := w.initialized(0)
	require.Equal(t, "cmd=put_result rc=0 msg=success", first.ask("cmd=put kvsname=kvs_job key=k value=v"))
	require.Equal(t, "cmd=finalize_ack", first.ask("cmd=finalize"))
	second := w.initialized(0)
	require.Contains(t, second.ask("cmd=get kvsname=kvs_job key=k"), "rc=-1", "it was never brought to a fence")
	first.send(initLine + "\n")
	_, err := first.in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "cmd=finalize_ack", second.ask("cmd=finalize"))
	require.Equal(t, pmi.Ending{Joined: true, Finalized: true}, w.servers[0].End(0))
}

func TestOneProcessSpeaksForARank(t *testing.T) {
	w := newWorld(t, 1)
	w.initialized(0)
	second := w.connect(0)
	_, err := io.ReadAll(second.in)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.errs) == 1
	}, 10*time.Second, time.Millisecond)
	require.EqualError(t, w.errs[0], "pmi: rank 0: another process speaks for the rank")
}

func TestPlansThatCannotBeServed(t *testing.T) {
	for name, conf := range map[string]pmi.Config{
		"a rank twice":         {Job: "j", Hosts: []rendezvous.Host{{Name: "a", Ranks: []int{0, 0}}}},
		"a rank left out":      {Job: "j", Hosts: []rendezvous.Host{{Name: "a", Ranks: []int{0, 2}}}},
		"no such host":         {Job: "j", Hosts: []rendezvous.Host{{Name: "a", Ranks: []int{0}}}, Node: 1},
		"programs left out":    {Job: "j", Hosts: []rendezvous.Host{{Name: "a", Ranks: []int{0, 1}}}, Apps: []int{0}},
		"a job with a blank":   {Job: "j 1", Hosts: []rendezvous.Host{{Name: "a", Ranks: []int{0}}}},
		"a job with no bounds": {Job: strings.Repeat("j", 300), Hosts: []rendezvous.Host{{Name: "a", Ranks: []int{0}}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pmi.NewServer(t.Context(), conf)
			require.Error(t, err)
		})
	}
}
