package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gorun/gorun/internal/envfile"
	"github.com/gorun/gorun/rankenv"
)

// passVariable takes the value of -x: NAME, NAME=VALUE or a pattern.
func (c *command) passVariable(s string) error {
	switch {
	case strings.Contains(s, "="):
		return assignment(&c.program().Env)(s)
	case strings.Contains(s, ","):
		names := strings.Split(s, ",")
		return &valueError{"one variable, as each has a -x of its own", strings.Join(names, " -x ")}
	case !variableName(s, true):
		return &valueError{"the name of a variable, NAME=VALUE or a pattern", "NCCL_DEBUG=INFO"}
	}
	c.job.Env.Pass = append(c.job.Env.Pass, s)
	return nil
}

// unsetVariable takes the value of --unset-env: a name or a pattern.
func (c *command) unsetVariable(s string) error {
	if !variableName(s, true) {
		return &valueError{"the name of a variable or a pattern", "LD_PRELOAD"}
	}
	c.job.Env.Unset = append(c.job.Env.Unset, s)
	return nil
}

// joinedVariable reads NAME=VALUE into a list.
func joinedVariable(to *[]string) func(string) error {
	return func(s string) error {
		if name, value, _ := strings.Cut(s, "="); value == "" || !variableName(name, false) {
			return &valueError{"the name of a variable and what to join to its value", "LD_LIBRARY_PATH=/opt/lib"}
		}
		*to = append(*to, s)
		return nil
	}
}

// compatible reads whose variables ranks get.
func compatible(to *[]rankenv.Launcher) func(string) error {
	known := []rankenv.Launcher{rankenv.Torch, rankenv.OpenMPI, rankenv.PMI, rankenv.JAX, rankenv.Slurm}
	names := []string{"all", "none"}
	for _, l := range known {
		names = append(names, string(l))
	}
	return func(s string) error {
		switch s {
		case "all":
			*to = known
			return nil
		case "none":
			*to = []rankenv.Launcher{}
			return nil
		}
		*to = nil
		for name := range strings.SplitSeq(s, ",") {
			if !slices.Contains(known, rankenv.Launcher(name)) {
				return &valueError{"all, none, or some of torch, ompi, pmi, jax and slurm between commas", cmp.Or(nearest(name, names), "torch,ompi")}
			}
			*to = append(*to, rankenv.Launcher(name))
		}
		return nil
	}
}

// setForAll takes the value of --set-env.
func (c *command) setForAll(s string) error {
	err := assignment(&c.job.Env.Set)(s)
	if err == nil {
		c.setBy(s, "--set-env")
	}
	return err
}

// setBy notes which flag a variable of the job's is from.
func (c *command) setBy(entry, origin string) {
	if c.job.Env.Origin == nil {
		c.job.Env.Origin = map[string]string{}
	}
	c.job.Env.Origin[entry] = origin
}

// readEnvFiles puts the variables of --env-file before those of -x, which count
// where both have one.
func (c *command) readEnvFiles() error {
	var vars []string
	for _, name := range c.envFiles {
		found, err := envfile.Read(name)
		if err != nil {
			hints := pathHints(err)
			if _, ok := errors.AsType[*envfile.SyntaxError](err); ok {
				hints = []string{"a line is written: NAME=value, NAME='value' or # a comment"}
			} else if len(hints) == 0 && errors.Is(err, fs.ErrNotExist) {
				hints = []string{"a single variable: " + commandLine([]string{"-x", "NAME=value", "…"})}
			}
			return refusal("--env-file: "+err.Error(), hints...)
		}
		for _, v := range found {
			vars = append(vars, v.Entry)
			c.setBy(v.Entry, fmt.Sprintf("--env-file %s:%d", name, v.Line))
		}
	}
	c.job.Env.Set = append(vars, c.job.Env.Set...)
	return nil
}
