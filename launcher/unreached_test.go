package launcher

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/internal/testhost/sshserver"
	"github.com/gorun/gorun/launcher/wire"
)

// helloThenSilence writes an agent that says hello, if it does that, and
// nothing more.
func helloThenSilence(t *testing.T, hello bool) string {
	dir := t.TempDir()
	var said bytes.Buffer
	if hello {
		conn := wire.NewConn(struct {
			io.Reader
			io.Writer
			io.Closer
		}{bytes.NewReader(nil), &said, io.NopCloser(nil)})
		require.NoError(t, conn.Send(&wire.Hello{Magic: wire.Magic, Table: wire.TableHash()}))
		conn.Drain()
		conn.Close()
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hello"), said.Bytes(), 0o600))
	program := filepath.Join(dir, "gorun")
	script := fmt.Sprintf("#!/bin/sh\ncat %s/hello\nexec cat 3>&1 > /dev/null\n", dir)
	require.NoError(t, os.WriteFile(program, []byte(script), 0o755))
	return program
}

func TestATimeLimitNamesTheHostsThatWereNotReached(t *testing.T) {
	for name, c := range map[string]struct {
		late func(*Job, []*sshserver.Server)
		want Unreached
	}{
		"its name does not come": {func(j *Job, _ []*sshserver.Server) {
			j.Hosts[1] = hostfiles.Host{Name: "host.invalid"}
		}, Unreached{"host.invalid", "dial"}},
		"its server says nothing": {func(_ *Job, s []*sshserver.Server) {
			s[1].Set(sshserver.Faults{Silent: true})
		}, Unreached{"127.0.0.3", "login"}},
		"its agent says nothing": {func(j *Job, _ []*sshserver.Server) {
			j.Agent = helloThenSilence(t, false)
			j.Hosts = []hostfiles.Host{local(1)}
		}, Unreached{"localhost", "hello"}},
		"its agent does not take the files": {func(j *Job, _ []*sshserver.Server) {
			j.Agent, j.Files = helloThenSilence(t, true), []string{os.Args[0]}
			j.Hosts = []hostfiles.Host{local(1)}
		}, Unreached{"localhost", "upload"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for the time limit
			job, servers := hosts(t, []int{1, 1}, `exit 0`)
			job.Limits.Run = time.Second
			c.late(job, servers)
			o := run(t, job)
			require.Equal(t, StatusTimeout, o.Status)
			var e *UnreachedError
			require.ErrorAs(t, o.err, &e)
			require.Equal(t, []Unreached{c.want}, e.Hosts)
			require.EqualError(t, e, fmt.Sprintf("the job reached its time limit before these hosts were reached: %s (%s)", c.want.Host, c.want.Step))
		})
	}
}

func TestAStartTimeLimitSaysWhatWasWaitedFor(t *testing.T) {
	job := sh(1, `exit 0`)
	job.Agent, job.Limits.Start = helloThenSilence(t, false), 300*time.Millisecond
	o := run(t, job)
	require.Equal(t, StatusFailed, o.Status)
	require.ErrorContains(t, o.err, "agent: its agent did not say hello: no answer within --start-timeout")
}
