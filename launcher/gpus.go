package launcher

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorun/gorun/hostfiles"
	"github.com/gorun/gorun/launcher/placement"
	"github.com/gorun/gorun/nccl/topo"
)

// bothGPUs returns the GPUs that one of two entries of a host lets the job use, or
// that both leave alone.
func bothGPUs(a, b hostfiles.Host) (gpus, skip []int) {
	if a.GPUs != nil && b.GPUs != nil {
		return slices.Concat(a.GPUs, slices.DeleteFunc(slices.Clone(b.GPUs), func(g int) bool { return slices.Contains(a.GPUs, g) })), nil
	}
	if a.GPUs != nil {
		a, b = b, a
	}
	return nil, slices.DeleteFunc(slices.Clone(a.SkipGPUs), func(g int) bool {
		return slices.Contains(b.GPUs, g) || b.GPUs == nil && !slices.Contains(b.SkipGPUs, g)
	})
}

// allowedGPUs returns those of a host's GPUs that its entry lets the job use, in
// the entry's order.
func allowedGPUs(entry hostfiles.Host, all []topo.Accelerator) (allowed []topo.Accelerator) {
	for _, i := range entry.GPUs {
		if at := indexOf(all, i); at >= 0 {
			allowed = append(allowed, all[at])
		}
	}
	if entry.GPUs == nil {
		allowed = slices.DeleteFunc(slices.Clone(all), func(g topo.Accelerator) bool { return slices.Contains(entry.SkipGPUs, g.Index) })
	}
	return allowed
}

func indexOf(gpus []topo.Accelerator, index int) int {
	return slices.IndexFunc(gpus, func(g topo.Accelerator) bool { return g.Index == index })
}

// checkGPUs refuses entries that name GPUs which their hosts do not have, and hosts
// that have the same GPU, as when two entries lead to one machine: their ranks would
// share it and not know.
func checkGPUs(hosts []*host) []error {
	var problems []error
	owner := map[string]*host{}
	for _, h := range hosts {
		all := h.hello.Topo.Accelerators
		for _, i := range slices.Concat(h.entry.GPUs, h.entry.SkipGPUs) {
			if indexOf(all, i) < 0 {
				problems = append(problems, fmt.Errorf("%s: expected %s, found GPU %d in its list", h.name, gpusThere(all), i))
			}
		}
		for _, g := range allowedGPUs(h.entry, all) {
			if g.UUID == "" {
				continue
			}
			if other := owner[g.UUID]; other != nil {
				problems = append(problems, fmt.Errorf("%s and %s both have GPU %s: they are one machine, which should be one host, or have its GPUs divided by gpus=", other.name, h.name, g.UUID))
				break
			}
			owner[g.UUID] = h
		}
	}
	return problems
}

// gpusThere says which GPUs there are to choose from.
func gpusThere(gpus []topo.Accelerator) string {
	var indexes []int
	for _, g := range gpus {
		if g.Index >= 0 {
			indexes = append(indexes, g.Index)
		}
	}
	if len(indexes) == 0 {
		return "no GPU, as there is none that the job may use"
	}
	return "one of GPUs " + topo.FormatList(indexes)
}

// leaveGPUs leaves the choice of GPUs to the user, who has made it by a variable
// for all ranks.
func (p *prepared) leaveGPUs() error {
	const name = "CUDA_VISIBLE_DEVICES"
	isIt := func(entry string) bool { return strings.HasPrefix(entry, name+"=") }
	chosen := slices.ContainsFunc(slices.Concat(p.env, p.job.Env.Set), isIt)
	for _, app := range p.job.Apps {
		chosen = chosen || slices.ContainsFunc(app.Env, isIt)
	}
	if !chosen || p.policy.GPUsPerRank == placement.NoGPUs {
		return nil
	}
	if p.policy.GPUsPerRank > 0 || p.policy.GPUVisible != "" || p.policy.MapBy == placement.ByGPU ||
		p.policy.BindTo == placement.ToGPU || p.policy.PerHost == placement.OnePerGPU {
		return fmt.Errorf("expected one who chooses the ranks' GPUs, found -x %s beside flags for it", name)
	}
	p.policy.GPUsPerRank = placement.NoGPUs
	p.warnings = append(p.warnings, fmt.Sprintf("-x %s: the ranks' GPUs are chosen by it alone, on every host", name))
	return nil
}
