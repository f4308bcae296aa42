package launcher

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/hostfiles"
)

// shApp is a program that runs a shell script.
func shApp(ranks int, script string) App {
	return App{Args: []string{"/bin/sh", "-c", script}, Ranks: ranks}
}

func TestSeveralPrograms(t *testing.T) {
	dir := t.TempDir()
	job := &Job{
		Apps: []App{shApp(1, `echo $GORUN_RANK/$GORUN_SIZE a $V $W $PWD`), shApp(2, `echo $GORUN_RANK/$GORUN_SIZE b $V $W $PWD`)},
		Env:  Env{Set: []string{"V=job", "W=job"}},
	}
	job.Apps[0].Dir, job.Apps[1].Dir = "/", dir
	job.Apps[1].Env = []string{"V=b="}
	o := run(t, job)
	require.NoError(t, o.err, o.stderr)
	got := lines(o.stdout)
	slices.Sort(got)
	require.Equal(t, []string{"0/3 a job job /", "1/3 b b= job " + dir, "2/3 b b= job " + dir}, got)
}

// Ranks are numbered through the programs, whatever host they come to.
func TestSeveralProgramsOnSeveralHosts(t *testing.T) {
	job, _ := hosts(t, []int{2, 2}, "")
	job.Apps = []App{shApp(1, `echo $GORUN_RANK a $GORUN_NODE`), shApp(3, `echo $GORUN_RANK b $GORUN_NODE`)}
	o := run(t, job)
	require.NoError(t, o.err, o.stderr)
	got := lines(o.stdout)
	slices.Sort(got)
	require.Equal(t, []string{"0 a 0", "1 b 0", "2 b 1", "3 b 1"}, got)
}

func TestStagedProgramsOfOneName(t *testing.T) {
	dir := t.TempDir()
	var job Job
	for _, sub := range []string{"a", "b", "c"} {
		program := filepath.Join(dir, sub, "train")
		require.NoError(t, os.Mkdir(filepath.Dir(program), 0o755))
		text := "#!/bin/sh\necho " + sub + "\n"
		if sub == "c" {
			text = "#!/bin/sh\necho a\n" // the same as the first
		}
		require.NoError(t, os.WriteFile(program, []byte(text), 0o755))
		job.Apps = append(job.Apps, App{Args: []string{program}, Ranks: 1})
	}
	job.Stage = true
	o := run(t, &job)
	require.NoError(t, o.err, o.stderr)
	got := lines(o.stdout)
	slices.Sort(got)
	require.Equal(t, []string{"a", "a", "b"}, got)
}

func TestProgramsThatCannotBe(t *testing.T) {
	two := []hostfiles.Host{{Name: "localhost", Slots: 2}}
	for name, c := range map[string]struct {
		job  *Job
		want string
	}{
		"no number of ranks":   {&Job{Apps: []App{shApp(1, ""), shApp(0, "")}}, "program 2 of 2"},
		"no program":           {&Job{Apps: []App{shApp(1, ""), {Ranks: 1}}}, "no program"},
		"more than slots":      {&Job{Apps: []App{shApp(1, ""), shApp(2, "")}, Hosts: two}, "3 ranks"},
		"a variable of gorun":  {&Job{Apps: []App{shApp(1, ""), {Args: []string{"true"}, Ranks: 1, Env: []string{"RANK=1"}}}}, "RANK"},
		"a variable of nobody": {&Job{Apps: []App{{Args: []string{"true"}, Env: []string{"A"}}}}, "NAME=value"},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, c.job)
			require.ErrorContains(t, o.err, c.want)
			require.Equal(t, StatusUsage, o.Status)
		})
	}
}

// A program, and its folder, need be only where its ranks are.
func TestOnlyTheHostOfAProgramLooksForIt(t *testing.T) {
	job, _ := hosts(t, []int{1, 1}, "")
	job.Apps = []App{shApp(1, "sleep 60"), shApp(1, "")}
	job.Apps[1].Dir = "/no/such/folder"
	o := run(t, job)
	var start *StartError
	require.ErrorAs(t, o.err, &start)
	require.Equal(t, 1, start.Rank)
	require.Equal(t, "/no/such/folder", start.Program)
}

func TestTheSecondProgramThatIsNotThereIsNamed(t *testing.T) {
	o := run(t, &Job{Apps: []App{shApp(1, "sleep 60"), {Args: []string{"/no/such/program"}, Ranks: 1}}})
	require.ErrorContains(t, o.err, "rank 1: /no/such/program")
	require.Equal(t, StatusNotFound, o.Status)
}
