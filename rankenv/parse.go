package rankenv

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Current returns this process's place in its job: what [Parse] makes of its
// environment, with the operating system's name of the host if no launcher
// says one. Without a launcher it is rank 0 of 1.
func Current() (World, error) {
	w, err := Parse(os.Environ())
	if err != nil {
		return World{}, err
	}
	if w.Host == "" {
		if w.Host, err = os.Hostname(); err != nil {
			return World{}, fmt.Errorf("name of this host: %w", err)
		}
	}
	return w, nil
}

// Parse returns the place in its job of a process with the given environment,
// a list of "NAME=value" in which the last of several values counts, as in
// [os/exec.Cmd]. It looks at nothing else: Host is empty if no variable says
// it. Without a launcher's variables the place is rank 0 of 1.
//
// The error joins a [*VarError] for each variable and a [*ConflictError] for
// each number that is wrong.
func Parse(environ []string) (World, error) {
	env := variables{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}

	claims, hints, err := env.claims()
	if err == nil {
		err = conflicts(claims)
	}
	if err != nil {
		return World{}, err
	}
	if len(claims) == 0 {
		return World{Size: 1, LocalSize: 1, Nodes: 1}, nil
	}
	believed := claims[0]
	for _, c := range slices.Concat(claims[1:], hints) {
		believed.complete(c)
	}
	return believed.place(), nil
}

// claims returns what the sets of env that count say, the believed one first,
// and what those say that do not count but may complete it.
func (env variables) claims() (claims, hints []claim, err error) {
	if env["TORCHELASTIC_RUN_ID"] != "" {
		c, errs := torch(env)
		if c.told(rank) || len(errs) > 0 {
			return []claim{c}, nil, errors.Join(errs...)
		}
	}
	var problems []error
	for _, read := range []reader{gorun, torch, openMPI, pmi} {
		c, errs := read(env)
		problems = append(problems, errs...)
		if c.told(rank) {
			claims = append(claims, c)
		}
	}
	for _, read := range []reader{slurm, jax} {
		c, errs := read(env)
		switch {
		case len(claims) > 0 || len(problems) > 0:
			if c.told(rank) && len(errs) == 0 {
				hints = append(hints, c)
			}
		case len(errs) > 0:
			problems = errs
		case c.told(rank):
			claims = append(claims, c)
		}
	}
	return claims, hints, errors.Join(problems...)
}

// conflicts returns a ConflictError for each field of which the claims say
// different things.
func conflicts(claims []claim) error {
	var errs []error
	for f := range fields {
		var vars []string
		differ := false
		first := -1
		for i := range claims {
			c := &claims[i]
			if !c.told(f) {
				continue
			}
			if first < 0 {
				first = c.values[f]
			}
			differ = differ || c.values[f] != first
			vars = append(vars, fmt.Sprintf("%s=%d", c.names[f], c.values[f]))
		}
		if differ {
			errs = append(errs, &ConflictError{Field: fieldNames[f], Vars: vars})
		}
	}
	return errors.Join(errs...)
}

// complete takes from o, which is believed less, what c does not say, if o
// speaks of the same rank of the same world.
func (c *claim) complete(o claim) {
	if o.values[rank] != c.values[rank] || o.values[size] != c.values[size] {
		return
	}
	for _, f := range []field{localRank, localSize, node, nodes} {
		if !c.told(f) {
			c.names[f], c.values[f] = o.names[f], o.values[f]
		}
	}
	if c.world.Host == "" {
		c.world.Host = o.world.Host
	}
	if c.world.Master == "" {
		c.world.Master = o.world.Master
	}
}

// place returns the world that c describes. What it still does not say is
// assumed as the package comment has it.
func (c *claim) place() World {
	w := c.world
	w.Rank, w.Size = c.values[rank], c.values[size]
	w.LocalRank, w.LocalSize = 0, 1
	if c.told(localRank) {
		w.LocalRank, w.LocalSize = c.values[localRank], c.values[localSize]
	}
	w.Node, w.Nodes = w.Rank/w.LocalSize, (w.Size+w.LocalSize-1)/w.LocalSize
	if c.told(node) {
		w.Node, w.Nodes = c.values[node], c.values[nodes]
	}
	return w
}
