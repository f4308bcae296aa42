package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gorun/gorun/launcher/placement"
)

// The values of srun's flags that say where tasks go, in our words.

// cpuBindings are what srun's --cpu-bind can name; "" has no effect.
var cpuBindings = map[string]string{
	"none": "--bind-to=none", "no": "--bind-to=none", "cores": "--bind-to=core", "threads": "--bind-to=hwthread",
	"sockets": "--bind-to=package", "ldoms": "--bind-to=numa",
	"verbose": "--report-bindings", "v": "--report-bindings", "quiet": "", "q": "",
}

// cpuBind reads srun's --cpu-bind. Lists of CPUs are a rankfile here.
func cpuBind(values []string) (ours []string, err error) {
	for word := range strings.SplitSeq(strings.ToLower(values[0]), ",") {
		meant, known := cpuBindings[word]
		if !known {
			return nil, &valueError{"none, cores, threads, sockets or ldoms (for CPUs of single ranks: --map-by rankfile:F)",
				cmp.Or(nearest(word, slices.Sorted(maps.Keys(cpuBindings))), "cores")}
		}
		if meant != "" {
			ours = append(ours, meant)
		}
	}
	return ours, nil
}

// distributions are what srun's --distribution can name: over nodes and, behind a
// colon, over the sockets of each.
var distributions = map[string]string{
	"block": bySlot, "block:block": bySlot, "block:cyclic": byPackage, "block:fcyclic": byPackage,
	"cyclic": byNode, "cyclic:block": byNode,
}

const (
	bySlot    = "--map-by=" + placement.BySlot
	byNode    = "--map-by=" + placement.ByNode
	byPackage = "--map-by=" + placement.ByPackage
)

// distribution reads srun's --distribution.
func distribution(values []string) ([]string, error) {
	how, _, _ := strings.Cut(strings.ToLower(values[0]), ",") // Pack and NoPack choose nodes
	how = strings.ReplaceAll(how, "*", "block")
	if meant := distributions[how]; meant != "" {
		return []string{meant}, nil
	}
	near := nearest(how, slices.Sorted(maps.Keys(distributions)))
	if near == "" && how != "arbitrary" && !strings.ContainsAny(how, "=:|") {
		return nil, &valueError{"srun's block or cyclic, or for a module of Python's a program, which is named first", python + "-m " + values[0]}
	}
	return nil, &valueError{"block, cyclic, block:block, block:cyclic or cyclic:block (rank by rank: --map-by seq or rankfile:F)",
		cmp.Or(near, "block")}
}

// python begins a program that is a module of Python's.
const python = "python3 "

// mpiType reads srun's --mpi, which chooses how the ranks of an MPI program meet.
func mpiType(values []string) ([]string, error) {
	for _, known := range []string{"pmix", "pmi", "openmpi", "cray", "none"} {
		if strings.HasPrefix(values[0], known) {
			return []string{note + "there is nothing to choose: ranks have all that gorun serves, see gorun help --env-compat"}, nil
		}
	}
	return nil, &valueError{"srun's pmix, pmi2 or none (horovodrun's --mpi is to be left out)", cmp.Or(nearest(values[0], []string{"pmix", "pmi2", "none"}), "none")}
}
