package verdict_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/launcher"
	"github.com/gorun/gorun/launcher/verdict"
)

// status is what the command exits with for a verdict.
func status(v *verdict.Verdict, exits []verdict.Exit) int {
	err := v.Reason()
	if rank, ok := v.First(); ok {
		e := exits[slices.IndexFunc(exits, func(e verdict.Exit) bool { return e.Rank == rank })]
		exit := launcher.RankExit{Rank: e.Rank, Code: e.Code}
		if e.Code < 0 {
			exit.Signal = "SIGSEGV"
		}
		err = &launcher.ExitError{RankExit: exit}
	}
	return launcher.ExitStatus(err)
}

func TestVerdict(t *testing.T) {
	exit := func(rank, code int) verdict.Exit { return verdict.Exit{Rank: rank, Node: rank, Code: code} }
	told := func(rank, code int) verdict.Exit {
		return verdict.Exit{Rank: rank, Node: rank, Code: code, Stopped: true}
	}
	timeout := verdict.End{Why: launcher.ErrTimeout}
	interrupt := verdict.End{Why: &launcher.SignalError{Signal: "SIGINT"}}
	missing := verdict.End{Why: &launcher.StartError{Missing: true, Err: errors.New("not found")}}
	lost := verdict.Loss{Why: &launcher.HostError{Host: "a", Err: errors.New("gone")}}
	full := verdict.OutputLost{Why: errors.New("disk full")}
	for name, c := range map[string]struct {
		goOn   bool
		facts  []verdict.Fact
		status int
	}{
		"nothing failed": {false, []verdict.Fact{exit(0, 0), exit(1, 0), verdict.AllEnded{}}, 0},
		"a rank":         {false, []verdict.Fact{exit(0, 3)}, 3},
		"a rank, whatever the others do of our TERM":    {false, []verdict.Fact{exit(1, 3), told(0, 9), told(2, -1)}, 3},
		"a rank that used our TERM to fail is no cause": {false, []verdict.Fact{interrupt, told(0, 9)}, 130},
		"a signal, though all ranks end with 0":         {false, []verdict.Fact{interrupt, told(0, 0), verdict.AllEnded{}}, 130},
		"a signal after the last rank's end":            {false, []verdict.Fact{exit(0, 0), verdict.AllEnded{}, interrupt}, 0},
		"a signal after a failure":                      {false, []verdict.Fact{exit(0, 3), interrupt}, 3},
		"the time limit":                                {false, []verdict.Fact{timeout, told(0, -1)}, 124},
		"the time limit, though QUIT ends a rank of it": {false, []verdict.Fact{timeout, exit(0, -1)}, 124},
		"the time limit, though a signal follows":       {false, []verdict.Fact{timeout, interrupt}, 124},
		"a signal, though the time limit follows":       {false, []verdict.Fact{interrupt, timeout}, 130},
		"a program that is not there":                   {false, []verdict.Fact{missing, exit(1, 3)}, 127},
		"a host":                                        {false, []verdict.Fact{lost, exit(1, 3)}, 125},
		"a host after a failure":                        {false, []verdict.Fact{exit(1, 3), lost}, 3},
		"output":                                        {false, []verdict.Fact{full, told(0, -1)}, 125},
		"output, though all ended well":                 {false, []verdict.Fact{exit(0, 0), verdict.AllEnded{}, full}, 125},
		"output after a failure":                        {false, []verdict.Fact{exit(0, 3), full}, 3},
		"of two failures the first, to continue":        {true, []verdict.Fact{exit(0, 3), exit(1, 4)}, 3},
		"a host before a rank, to continue":             {true, []verdict.Fact{lost, exit(1, 3)}, 125},
		"a rank before a host, to continue":             {true, []verdict.Fact{exit(1, 3), lost}, 3},
		"the time limit after a failure, to continue":   {true, []verdict.Fact{exit(1, 3), timeout}, 124},
		"a signal after a lost host, to continue":       {true, []verdict.Fact{lost, interrupt}, 130},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdict.Verdict{Continue: c.goOn}
			var exits []verdict.Exit
			for _, f := range c.facts {
				v.Take(f)
				if e, ok := f.(verdict.Exit); ok {
					exits = append(exits, e)
				}
			}
			require.Equal(t, c.status, status(&v, exits))
		})
	}
}

func TestAJobIsStoppedByTheFirstThatFails(t *testing.T) {
	failed, well := verdict.Exit{Code: 1}, verdict.Exit{}
	for _, goOn := range []bool{false, true} {
		v := verdict.Verdict{Continue: goOn}
		require.False(t, v.Take(well))
		require.False(t, v.Take(verdict.Exit{Code: 1, Stopped: true}))
		require.Equal(t, !goOn, v.Take(failed))
		require.Equal(t, !goOn, v.Take(verdict.Loss{Why: errors.New("lost")}))
		require.True(t, v.Take(verdict.End{Why: errors.New("signal")}))
		require.False(t, v.Take(verdict.OutputLost{Why: errors.New("disk full")}))
		require.False(t, v.Take(verdict.AllEnded{}))
	}
}

// exits generates ends of ranks on a few hosts, close enough in time to be in
// doubt.
func exits(t *rapid.T) []verdict.Exit {
	list := make([]verdict.Exit, rapid.IntRange(1, 12).Draw(t, "ranks"))
	doubt := make([]time.Duration, 4)
	for node := range doubt {
		doubt[node] = time.Duration(rapid.IntRange(0, 5).Draw(t, "doubt"))
	}
	for rank := range list {
		node := rapid.IntRange(0, len(doubt)-1).Draw(t, "node")
		at := rapid.Int64Range(0, 10).Draw(t, "at")
		list[rank] = verdict.Exit{
			Rank: rank, Node: node, Code: rapid.IntRange(-1, 3).Draw(t, "code"),
			Stopped: rapid.Bool().Draw(t, "stopped"),
			Clock:   time.Duration(at), At: time.Unix(0, at), Unsure: doubt[node],
		}
	}
	return list
}

func decide(goOn bool, facts ...verdict.Fact) *verdict.Verdict {
	v := &verdict.Verdict{Continue: goOn}
	for _, f := range facts {
		v.Take(f)
	}
	return v
}

func facts(list []verdict.Exit) (facts []verdict.Fact) {
	for _, e := range list {
		facts = append(facts, e)
	}
	return facts
}

func TestTheOrderInWhichExitsAreHeardOfDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, goOn := exits(t), rapid.Bool().Draw(t, "continue")
		before := rapid.SliceOfN(rapid.SampledFrom([]verdict.Fact{
			verdict.End{Why: errors.New("signal")}, verdict.Loss{Why: errors.New("host")},
			verdict.OutputLost{Why: errors.New("disk")}, verdict.AllEnded{},
		}), 0, 2).Draw(t, "before")
		a := decide(goOn, slices.Concat(before, facts(list))...)
		b := decide(goOn, slices.Concat(before, facts(rapid.Permutation(list).Draw(t, "order")))...)
		require.Equal(t, a.Reason(), b.Reason())
		rank, failed := a.First()
		other, also := b.First()
		require.Equal(t, failed, also)
		require.Equal(t, rank, other)
	})
}

func TestWhoIsFirstFailedByItselfAndNobodyDidSurelyBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := exits(t)
		rank, ok := decide(false, facts(list)...).First()
		require.Equal(t, slices.ContainsFunc(list, verdict.Exit.Failed), ok)
		if !ok {
			return
		}
		chosen := list[rank]
		require.True(t, chosen.Failed())
		for _, e := range list {
			if !e.Failed() {
				continue
			}
			require.False(t, e.Node == chosen.Node && e.At.Before(chosen.At), "rank %d of the same host was before", e.Rank)
			require.LessOrEqual(t, chosen.At.Sub(e.At), e.Unsure+chosen.Unsure, "rank %d was surely before", e.Rank)
		}
	})
}

func TestExitsAfterOurTERMNeverCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, goOn := exits(t), rapid.Bool().Draw(t, "continue")
		own := slices.DeleteFunc(slices.Clone(list), func(e verdict.Exit) bool { return e.Stopped })
		a, b := decide(goOn, facts(list)...), decide(goOn, facts(own)...)
		require.Equal(t, a, b)
	})
}

func TestWhatFollowsTheFactThatDecidedChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		why := errors.New("the first")
		after := slices.Concat(facts(exits(t)), []verdict.Fact{
			verdict.End{Why: errors.New("signal")}, verdict.Loss{Why: errors.New("host")},
			verdict.OutputLost{Why: errors.New("disk")}, verdict.AllEnded{},
		})
		after = rapid.Permutation(after).Draw(t, "after")
		v := decide(rapid.Bool().Draw(t, "continue"), append([]verdict.Fact{verdict.End{Why: why}}, after...)...)
		require.Equal(t, why, v.Reason())
		_, failed := v.First()
		require.False(t, failed)
	})
}
