package main

import (
	"slices"

	"ridge/goharness/backend"
	"ridge/goharness/profile"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// Rates of native sampling. An interrupt of a virtual machine leaves it and comes back: it takes some ten times as long as on a
// machine of its own, and half the rate keeps the cost near 1 % (docs/profiling.md).
const (
	defaultHz = 1000
	virtualHz = 500
)

// rateOf is the rate for a host where none is given.
func rateOf(h record.Host) int {
	if v, ok := h.Hypervisor.Get(); ok && v != "" && v != "none" {
		return virtualHz
	}
	return defaultHz
}

// sampledRun is one measurement of a case whose threads were sampled, with the code of each arm.
type sampledRun struct {
	arms []runner.PreparedArm
	code []backend.CodeSamples
}

// captures gathers the sampled measurements of a run by case id.
type captures map[string][]sampledRun

// launcher makes workers that sample hz times a second. Pilots only choose a baseline: they are not sampled.
func (c captures) launcher(launch runner.Launcher, hz int) runner.Launcher {
	return runner.Sampled(launch, hz, func(k record.Case) bool { return !k.Pilot },
		func(k record.Case, p runner.Prepared, code []backend.CodeSamples) {
			c[k.ID] = append(c[k.ID], sampledRun{p.Arms, code})
		})
}

// of gives what was sampled of the results. Of a single program the last measurement is the result; a comparison pools its
// visits, and what was measured beside it under its name (a vendor library's own fused primitive) has other arms.
func (c captures) of(results []record.Result) []profile.Capture {
	var out []profile.Capture
	for _, r := range results {
		runs := c[r.ID]
		if len(r.Arms) == 0 {
			if len(runs) > 0 {
				last := runs[len(runs)-1]
				out = append(out, profile.Capture{Result: r, Kernels: last.arms[0].Kernels, Code: last.code[0]})
			}
			continue
		}
		runs = slices.DeleteFunc(slices.Clone(runs), func(s sampledRun) bool {
			return !slices.EqualFunc(s.arms, r.Arms, func(p runner.PreparedArm, a record.Arm) bool {
				return p.Name == a.Name && slices.Equal(p.Kernels, a.Kernels)
			})
		})
		for i, a := range r.Arms {
			for _, s := range runs {
				out = append(out, profile.Capture{Result: r, Arm: a.Name, Kernels: a.Kernels, Code: s.code[i]})
			}
		}
	}
	return out
}
