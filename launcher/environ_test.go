package launcher

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/rankenv"
)

func TestSelectedLeavesOutWhatBelongsElsewhere(t *testing.T) {
	environ := []string{
		"A=1", "B=2", "PMI_RANK=7", "PMI_JOBID=9.0", "PMI_DEBUG=1", "I_MPI_PMI_LIBRARY=/slurm/libpmi.so", "SSH_TTY=x", "SLURM_JOB_ID=4", "SLURM_NNODES=2", "SLURM_PROCID=3",
		"GORUN_KEY_FILE=k", "GORUN_RENDEZVOUS=r", "GORUN_HOSTFILE=h", "GORUN_DEBUG=1", "OMPI_MCA_btl=tcp",
		"JAX_PROCESS_ID=1", "BASH_FUNC_ml%%=() { :; }", "no equals sign", "=C:=C:\\",
	}
	for name, c := range map[string]struct {
		env      Env
		want     []string
		warnings int
	}{
		"all": {
			Env{Export: "all"},
			[]string{"A=1", "B=2", "PMI_DEBUG=1", "SLURM_JOB_ID=4", "SLURM_NNODES=2", "GORUN_DEBUG=1", "OMPI_MCA_btl=tcp", "BASH_FUNC_ml%%=() { :; }"}, 0,
		},
		"what a set of Slurm's says goes": {
			Env{Export: "all", Compat: []rankenv.Launcher{rankenv.Slurm}, Unset: []string{"*_DEBUG", "BASH*"}},
			[]string{"A=1", "B=2", "SLURM_JOB_ID=4", "OMPI_MCA_btl=tcp"}, 0,
		},
		"named": {
			Env{Export: "listed", Pass: []string{"A", "SSH_*", "SLURM_*", "I_MPI_*", "NOSUCH"}, Unset: []string{"SLURM_JOB_ID"}},
			[]string{"A=1", "I_MPI_PMI_LIBRARY=/slurm/libpmi.so", "SSH_TTY=x", "SLURM_NNODES=2"}, 1,
		},
		"nothing, but what is named": {
			Env{Export: "none", Pass: []string{"?"}},
			[]string{"A=1", "B=2"}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			as, err := c.env.compat()
			require.NoError(t, err)
			reserved := newContract(as)
			require.NoError(t, c.env.validate(reserved))
			env, warnings := c.env.selected(environ, reserved)
			require.Equal(t, c.want, env)
			require.Len(t, warnings, c.warnings)
		})
	}
}

func TestEveryWrongVariableIsRefused(t *testing.T) {
	e := Env{
		Export: "some", Set: []string{"RANK=1", "noequals", "A=\x00"}, Prepend: []string{"=x"}, Append: []string{"PMI_RANK=1"},
		Pass: []string{"GORUN_*", "[", "MASTER_ADDR"}, Unset: []string{"LOCAL_RANK"},
	}
	err := e.validate(newContract(usualCompat))
	for _, want := range []string{
		`--export: expected all, listed or none, found "some"`,
		"-x: RANK is set by gorun for each rank and cannot be chosen",
		`-x: expected NAME=value, found "noequals"`,
		`-x: expected NAME=value, found "A=\x00"`,
		`--prepend-env: expected NAME=value, found "=x"`,
		"--append-env: PMI_RANK is set by gorun for each rank and cannot be chosen",
		"-x: GORUN_* is set by gorun for each rank and cannot be passed",
		`-x: malformed pattern "["`,
		"-x: MASTER_ADDR is set by gorun for each rank and cannot be passed",
		"--unset-env: LOCAL_RANK is set by gorun for each rank and cannot be left out",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = (&Env{Compat: []rankenv.Launcher{"lsf"}}).compat()
	require.EqualError(t, err, `--env-compat: expected torch, ompi, pmi, jax or slurm, found "lsf"`)
}

// BenchmarkSelected is a part of every job's start.
func BenchmarkSelected(b *testing.B) {
	var environ []string
	for range 100 {
		environ = append(environ, "SOME_VARIABLE=x")
	}
	e := &Env{}
	for b.Loop() {
		as, _ := e.compat()
		e.selected(environ, newContract(as))
	}
}
