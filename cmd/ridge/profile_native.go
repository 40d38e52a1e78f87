package main

import (
	"slices"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/profile"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// sampledRun is one measurement of a case whose threads were sampled, with the code of each arm.
type sampledRun struct {
	arms []runner.PreparedArm
	code []backend.CodeSamples
}

// captures gathers the sampled measurements of a run by case id.
type captures map[string][]sampledRun

// launcher makes workers that sample hz times a second. Pilots only choose a baseline: they are not sampled.
func (c captures) launcher(launch runner.Launcher, hz int) runner.Launcher {
	return runner.Sampled(launch, hz, func(k record.Case) bool { return !k.Pilot }, c.take)
}

// phaseTime are sampled of each program after its measurement: 150 ticks of each thread, so that the share of a phase is known to
// 0.04 or better (one standard deviation, one thread).
const phaseTime = 150 * time.Millisecond

// after makes workers whose programs run on after their measurement and are sampled then, for their phases. The time is
// measured before, so that the rate need not be low. Only CPUs can be sampled; probes of ceilings rate no kernel.
func (c captures) after(launch runner.Launcher) runner.Launcher {
	return runner.SampledAfter(launch, profile.DefaultHz, phaseTime.Seconds(), func(k record.Case) bool {
		return !k.Pilot && k.Device == "cpu" && k.UseCase != record.UseCaseCeiling && k.UseCase != record.UseCaseSweep && !c.hasArms(k)
	}, c.take)
}

// hasArms reports whether the arms of a comparison were sampled in an earlier visit: they do the same in each.
func (c captures) hasArms(k record.Case) bool {
	return len(k.Arms) > 0 && slices.ContainsFunc(c[k.ID], func(s sampledRun) bool {
		return slices.EqualFunc(s.arms, k.Arms, func(p runner.PreparedArm, a record.ProgramRef) bool { return p.Name == a.Name })
	})
}

func (c captures) take(k record.Case, p runner.Prepared, code []backend.CodeSamples) {
	c[k.ID] = append(c[k.ID], sampledRun{p.Arms, code})
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
