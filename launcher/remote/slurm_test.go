package remote

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// newFakeSlurm returns a Slurm whose srun is a script that may do something
// first and then runs the command on this host, in step 3 of job 7. Its scancel
// writes what it is asked into the file that is returned.
func newFakeSlurm(t testing.TB, first string) (s *Slurm, cancelled string) {
	t.Helper()
	dir := t.TempDir()
	cancelled = filepath.Join(dir, "cancelled")
	script := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	script("srun", `env >'`+dir+`/environ'; echo "$@" >'`+dir+`/arguments'
		while case $1 in --*) ;; *) false ;; esac; do shift; done
		export SLURM_STEP_ID=3
		`+first+`
		exec 3<&0 # in the background standard input is the null device
		"$@" <&3 3<&- & trap "kill $!" TERM; wait $!`)
	script("scancel", `echo "$@" >>'`+cancelled+`'`)
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	home := filepath.Join(dir, "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	t.Setenv("HOME", home)
	s, err := NewSlurm("7")
	require.NoError(t, err)
	return s, cancelled
}

func TestSlurmStartsAgents(t *testing.T) {
	t.Setenv("SLURM_CONF", "/etc/slurm.conf")
	for _, name := range []string{"SLURM_NTASKS", "SLURM_CPU_BIND", "SLURM_EXPORT_ENV", "SRUN_CPUS_PER_TASK"} {
		t.Setenv(name, "1")
	}
	s, cancelled := newFakeSlurm(t, "")
	p := newFakeAgent(t)
	var stderr strings.Builder
	stream, err := s.StartAgent(t.Context(), p, "node1", Start{Args: []string{"agent", "a b"}, Stderr: &stderr})
	require.NoError(t, err)
	require.Equal(t, "<agent><a b>", finish(t, stream))
	require.Equal(t, "oops\n", stderr.String())
	require.NoFileExists(t, cancelled)

	arguments, err := os.ReadFile(filepath.Join(filepath.Dir(cancelled), "arguments"))
	require.NoError(t, err)
	flags, _, _ := strings.Cut(string(arguments), " /bin/sh ")
	require.Equal(t, "--jobid=7 --nodes=1 --ntasks=1 --nodelist=node1 --overlap --mem=0 --cpu-bind=none --mpi=none --unbuffered --input=0 "+
		"--chdir=/ --job-name=gorun --export=HOME,USER,LOGNAME,SHELL,PATH", flags)
	environ, err := os.ReadFile(filepath.Join(filepath.Dir(cancelled), "environ"))
	require.NoError(t, err)
	var kept []string
	for line := range strings.Lines(string(environ)) {
		if strings.HasPrefix(line, "S") && strings.Contains(line, "RUN_") || strings.HasPrefix(line, "SLURM") {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	require.Equal(t, []string{"SLURM_CONF=/etc/slurm.conf"}, kept, "salloc's answers are srun's options")
}

func TestSlurmThatStartsNoStep(t *testing.T) {
	for _, tt := range []struct{ name, srun, want string }{
		{"tells why", `echo "srun: error: Unable to confirm allocation for job 7: Invalid job id specified" >&2
			echo "srun: Check SLURM_JOB_ID environment variable." >&2; exit 1`,
			"node1: agent: srun started no step of job 7: Unable to confirm allocation for job 7: Invalid job id specified (exit status 1)"},
		{"says something", `echo "srun: nothing doing" >&2; exit 2`,
			"node1: agent: srun started no step of job 7: nothing doing (exit status 2)"},
		{"says nothing", "exit 3", "node1: agent: srun started no step of job 7: it said nothing (exit status 3)"},
		{"is killed", "kill -9 $$", "node1: agent: srun started no step of job 7: it said nothing (killed by signal KILL)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, cancelled := newFakeSlurm(t, tt.srun)
			stream, err := s.StartAgent(t.Context(), newFakeAgent(t), "node1", Start{})
			require.Nil(t, stream)
			require.EqualError(t, err, tt.want)
			require.ErrorAs(t, err, new(*StepError))
			require.NoFileExists(t, cancelled)
		})
	}
}

func TestSlurmThatKeepsTrying(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	s, _ := newFakeSlurm(t, `echo "srun: Job step creation temporarily disabled, retrying (Requested nodes are busy)" >&2
		echo >`+pipe+`; exec sleep 31415926`)
	go func() {
		os.ReadFile(pipe) // it has said so
		cancel(errors.New("no answer in time"))
	}()
	_, err := s.StartAgent(ctx, newFakeAgent(t), "node1", Start{})
	require.EqualError(t, err, "node1: agent: srun started no step of job 7: "+
		"Job step creation temporarily disabled, retrying (Requested nodes are busy) (no answer in time)")
}

// agentPID reads the first line of an agent that tells its number.
func agentPID(t testing.TB, s Stream) int {
	t.Helper()
	line, err := bufio.NewReader(s).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	return pid
}

func TestClosedStepIsKilled(t *testing.T) {
	s, cancelled := newFakeSlurm(t, "")
	stream, err := s.StartAgent(t.Context(), newProgram(t, "echo $$; exec sleep 31415926"), "node1", Start{})
	require.NoError(t, err)
	pid := agentPID(t, stream)
	require.NoError(t, stream.Close())
	require.NoError(t, stream.Close(), "again")
	stream.Wait() // its status is that of a killed step
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, waitFor, poll)
	require.NoFileExists(t, cancelled)
}

func TestAgentOfAClosedStepCanTidyUp(t *testing.T) {
	s, _ := newFakeSlurm(t, "")
	tidy := filepath.Join(t.TempDir(), "tidy")
	stream, err := s.StartAgent(t.Context(), newProgram(t, "cat >/dev/null; echo >"+tidy), "node1", Start{})
	require.NoError(t, err)
	require.NoError(t, stream.Close())
	require.NoError(t, stream.Wait())
	require.FileExists(t, tidy)
}

func TestStepOfAKilledSrunIsCancelled(t *testing.T) {
	s, cancelled := newFakeSlurm(t, "")
	stream, err := s.StartAgent(t.Context(), newProgram(t, "echo $$; exec cat"), "node1", Start{})
	require.NoError(t, err)
	defer stream.Close() // which ends cat
	agentPID(t, stream)
	require.NoError(t, stream.(*booted).Stream.(*step).Kill())
	var exit *ExitError
	require.ErrorAs(t, stream.Wait(), &exit)
	require.Equal(t, "KILL", exit.Signal)
	asked, err := os.ReadFile(cancelled)
	require.NoError(t, err)
	require.Equal(t, "--quiet 7.3\n", string(asked))
}

func TestSlurmIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := NewSlurm("7")
	require.ErrorContains(t, err, `agents are started by Slurm's s`)
}

func TestStepOutput(t *testing.T) {
	const text = "srun: error: a\nnoise\n" + stepLine + "12\nfrom the agent\n" + stepLine + "13\n"
	for size := range len(text) {
		var passed strings.Builder
		o := &stepOutput{to: &passed}
		for rest := text; rest != ""; {
			n := min(size+1, len(rest))
			wrote, err := o.Write([]byte(rest[:n]))
			require.NoError(t, err)
			require.Equal(t, n, wrote)
			rest = rest[n:]
		}
		require.Equal(t, "srun: error: a\nnoise\nfrom the agent\n"+stepLine+"13\n", passed.String(), "in pieces of %d bytes", size+1)
		require.Equal(t, "12", o.number())
		require.Equal(t, "a", o.errors())
	}
}
