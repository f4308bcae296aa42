package launcher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/sshserver"
	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/launcher/wire"
)

func TestDifferencesNameTheHosts(t *testing.T) {
	fact := func(what, where string, values ...string) wire.Fact {
		return wire.Fact{What: what, Where: where, Values: values}
	}
	for name, c := range map[string]struct {
		facts [][]wire.Fact // by host, which are a, b, c …
		want  []string
	}{
		"nothing": {[][]wire.Fact{{fact("x", "", "1")}, {fact("x", "", "1")}}, nil},
		"one host that is unlike most": {
			[][]wire.Fact{{fact("driver", "", "550.1")}, {fact("driver", "", "535.2")}, {fact("driver", "", "550.1")}},
			[]string{"driver differs: a, c 550.1; b 535.2"},
		},
		"where it is, if that differs": {
			[][]wire.Fact{{fact("program x", "/bin/x", "12")}, {fact("program x", "/opt/x", "34")}},
			[]string{"program x differs: a 12 (/bin/x); b 34 (/opt/x)"},
		},
		"not where it is alone": {
			[][]wire.Fact{{fact("program x", "/bin/x", "12")}, {fact("program x", "/opt/x", "12")}}, nil,
		},
		"of several values those that differ": {
			[][]wire.Fact{{fact("settings", "", "A=1", "B=2")}, {fact("settings", "", "A=1")}, {fact("settings", "", "A=1", "B=3", "C=4")}},
			[]string{"settings differs: a B=2; b without; c B=3 C=4"},
		},
		"not hosts that have none": {
			[][]wire.Fact{{fact("driver", "", "550.1")}, {}, {fact("driver", "", "550.1")}}, nil,
		},
		"each thing by itself": {
			[][]wire.Fact{{fact("x", "", "1"), fact("y", "", "1")}, {fact("y", "", "2"), fact("x", "", "2")}},
			[]string{"x differs: a 1; b 2", "y differs: a 1; b 2"},
		},
		"not more opinions than are read": {
			[][]wire.Fact{{fact("x", "", "1")}, {fact("x", "", "2")}, {fact("x", "", "3")}, {fact("x", "", "4")}, {fact("x", "", "5")}, {fact("x", "", "6")}},
			[]string{"x differs: a 1; b 2; c 3; d 4; and 2 more"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var hosts []*host
			facts := map[*host][]wire.Fact{}
			for i, f := range c.facts {
				h := &host{name: string(rune('a' + i))}
				hosts = append(hosts, h)
				facts[h] = f
			}
			require.Equal(t, c.want, differences(hosts, facts))
		})
	}
}

func TestClocksThatAreFarOffAreNamed(t *testing.T) {
	var hosts []*host
	for i, offset := range []time.Duration{time.Second, -3 * time.Second, time.Hour} {
		hosts = append(hosts, &host{name: string(rune('a' + i)), dates: clock{offset: offset, known: true}})
	}
	hosts = append(hosts, &host{name: "asleep"}) // nothing is known of it
	require.Equal(t, []string{"the clock of b is -3s off the other hosts'", "the clock of c is 1h0m0s off the other hosts'"}, clockDifferences(hosts))
}

// unlike is a job on two hosts whose programs called work are not the same.
func unlike(t *testing.T) (job *Job, started string) {
	t.Helper()
	dir := t.TempDir()
	started = filepath.Join(dir, "started")
	servers := make([]sshserver.Config, 2)
	for i := range servers {
		bin := filepath.Join(dir, fmt.Sprint("bin", i))
		require.NoError(t, os.Mkdir(bin, 0o755))
		script := fmt.Sprintf("#!/bin/sh\n# build %d\ntouch %s\n", i, started)
		require.NoError(t, os.WriteFile(filepath.Join(bin, "work"), []byte(script), 0o755))
		servers[i].Path = bin + ":/usr/bin:/bin"
	}
	job, _ = hostsOf(t, []int{1, 1}, "", servers)
	job.Apps[0].Args = []string{"work"}
	return job, started
}

func TestAProgramThatDiffersIsToldByHost(t *testing.T) {
	job, _ := unlike(t)
	o := run(t, job)
	require.NoError(t, o.err)
	require.Equal(t, 1, countOf(o.events, Warning))
	for _, e := range o.events {
		if e.Kind == Warning {
			require.Regexp(t, `^program work differs: 127\.0\.0\.2 [0-9a-f]{8} \(.*/bin0/work\); 127\.0\.0\.3 [0-9a-f]{8} \(.*/bin1/work\)$`, e.Message)
		}
	}
}

func TestAStrictJobOfProgramsThatDifferDoesNotStart(t *testing.T) {
	job, started := unlike(t)
	job.Strict = true
	o := run(t, job)
	require.Equal(t, StatusFailed, o.Status, "%v", o.err)
	require.ErrorContains(t, o.err, "program work differs: 127.0.0.2 ")
	require.ErrorAs(t, o.err, new(*DifferenceError))
	require.Empty(t, o.Ranks)
	require.NoFileExists(t, started)
}

func TestAStrictJobOfHostsThatAreAlikeRuns(t *testing.T) {
	job, _ := hosts(t, []int{1, 1}, `echo $GORUN_RANK`)
	job.Hosts = append(job.Hosts, local(1))
	job.Strict = true
	o := run(t, job)
	require.NoError(t, o.err)
	require.ElementsMatch(t, []string{"0", "1", "2"}, lines(o.stdout))
}

func TestAStrictJobEndsWhenAHostDoesNotTell(t *testing.T) {
	told, late, lost := &host{name: "a", done: true}, &host{name: "b", done: true}, &host{name: "c", lost: errors.New("gone")}
	job := &Job{Strict: true, Limits: Limits{Start: time.Millisecond}}
	l := newLaunch(&layout{
		attempt: &attempt{prepared: &prepared{job: job, began: time.Now()}}, plan: &placement.Plan{}, hosts: []*host{told, late, lost},
	})
	l.audit.facts[told] = []wire.Fact{{What: "gorun"}}
	l.setAuditLimit()
	<-l.audit.due.C
	l.auditOver()
	err, ok := errors.AsType[*HostError](l.verdict.Reason())
	require.True(t, ok)
	require.Equal(t, "b", err.Host)
	require.ErrorContains(t, err, "--start-timeout")
}
