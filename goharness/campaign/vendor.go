package campaign

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// side is a vendor library of this run, with a worker of its own: what it does to that process
// costs its candidates and nothing else.
type side struct {
	backend.LibraryWays
	runner *runner.Runner
	found  record.VendorLibrary
}

// libraries looks the vendor libraries up, once in a run; the host's description tells what was found.
func (c *campaign) libraries(ctx context.Context) error {
	if c.lookedUp {
		return nil
	}
	c.lookedUp = true
	c.doc.Host.VendorLibraries = nil
	for _, ways := range c.cfg.Libraries {
		s := &side{LibraryWays: ways, runner: &runner.Runner{Launch: c.cfg.Launch}}
		var err error
		if s.found, err = s.runner.Library(ctx, ways.Name, c.cfg.Plan.Device, c.cfg.Plan.Threads); err != nil {
			s.runner.Close()
			if ctx.Err() != nil {
				return fmt.Errorf("%w: the library %s was being looked up", ErrInterrupted, ways.Name)
			}
			return fmt.Errorf("look the library %s up: %w", ways.Name, err)
		}
		c.doc.Host.VendorLibraries = append(c.doc.Host.VendorLibraries, s.found)
		if s.found.Unavailable != "" {
			s.runner.Close()
			continue
		}
		c.sides = append(c.sides, s)
	}
	return nil
}

// closeSides ends the libraries' workers.
func (c *campaign) closeSides() {
	for _, s := range c.sides {
		s.runner.Close()
	}
}

// worker is the runner of a case: the library's own where one of the arms is a library's.
func (c *campaign) worker(k record.Case) *runner.Runner {
	for _, a := range k.Arms {
		name, _, _ := strings.Cut(a.Library, " ")
		for _, s := range c.sides {
			if a.Library != "" && s.Name == name {
				return s.runner
			}
		}
	}
	return c.runner
}

// leave takes a library out of the run after a crash or a hang: what it did may come from any of its code.
func (c *campaign) leave(s *side, r record.Result) bool {
	if r.Status != record.Crashed && r.Status != record.TimedOut {
		return false
	}
	c.cfg.View.Warn("the library %s is set aside for this run: %s in %s: %s", s.Name, r.Status, r.ID, r.Reason)
	s.runner.Close()
	c.sides = slices.DeleteFunc(c.sides, func(x *side) bool { return x == s })
	c.aside[s.Name] = fmt.Sprintf("set aside in this run: %s: %s", r.Status, r.Reason)
	for i := range c.doc.Host.VendorLibraries {
		if v := &c.doc.Host.VendorLibraries[i]; v.Name == s.Name {
			v.Unavailable = c.aside[s.Name]
		}
	}
	return true
}

// vendors tries every library against own, the best of ridge's own candidates, each in the
// library's worker, and gives the one that beat it by most: own where none was shown to. What an earlier
// comparison has shown of the stages that the libraries compute is not tried again.
func (c *campaign) vendors(ctx context.Context, k record.Case, own record.ProgramRef) (record.ProgramRef, []record.BaselineCandidate, error) {
	best, gain := own, 1.0
	var tried []record.BaselineCandidate
	this := c.piloting(k, own)
	if d, ok := c.decided(this); ok {
		best, tried = d.again(own)
		return best, tried, nil
	}
	for _, s := range slices.Clone(c.sides) {
		ran := map[string]record.Result{}
		for _, way := range s.Unfused {
			if r, ok := ran[s.Instead[way]]; ok {
				tried = append(tried, record.BaselineCandidate{Name: way, Status: record.Skipped, Reason: s.Instead[way] + " does less in a launch, and ran"})
				c.tried.learn(way, this.steps, r)
				continue
			}
			other := byLibrary(own, way)
			trial := k
			trial.Arms = []record.ProgramRef{own, other}
			r, err := c.run(ctx, c.shorten(trial))
			if err != nil {
				return best, tried, err
			}
			if r.Status.Counts() {
				ran[way] = r
			}
			tried = append(tried, candidateOf(way, r, 1))
			c.tried.learn(way, this.steps, r)
			if c.leave(s, r) {
				break
			}
			if r.Status == record.Wrong {
				c.cfg.View.Warn("%s by %s is wrong and no baseline: %s", k.ID, way, r.Reason)
			}
			// By the median alone two runs would choose differently where the two are even.
			if r.Status.Counts() && r.Ratio != nil && r.Ratio.CI95[0] > 1 && r.Ratio.Value > gain {
				best, gain = other, r.Ratio.Value
			}
		}
	}
	c.decide(this, decision{k.ID, best.Library, tried})
	return best, tried, nil
}

// candidateOf is what a pilot's result says of an arm; its times are not kept.
func candidateOf(name string, r record.Result, arm int) record.BaselineCandidate {
	b := record.BaselineCandidate{Name: name, Status: r.Status, Reason: r.Reason}
	if r.Status.Counts() {
		b.Status, b.Reason = record.OK, "" // of five quartets no interval is asked for
	}
	if arm < len(r.Arms) {
		b.Kernels, b.Libraries = r.Arms[arm].Kernels, r.Arms[arm].Libraries
	}
	return b
}

// vendorFusedShare: a figure beside the verdict takes this part of the case's time at most, to ±2 %; where launches are long its interval may come from
// two quartets; four of them are 16 launches (of 0.45 s at 4096³).
const (
	vendorFusedShare = 3
	vendorFusedLeast = 2
)

// vendorFused measures the libraries' own fused primitives against ridge's fused kernel and gives the
// fastest, nil where no library has one that is right, and what became of each. A library that crashed or hung earlier in this run is
// among them, one that could not be opened is not: of that the host's description tells.
func (c *campaign) vendorFused(ctx context.Context, k record.Case) (best *record.VendorFused, tried []record.BaselineCandidate, err error) {
	chosen := -1
	for _, ways := range c.cfg.Libraries {
		for _, way := range ways.Fused {
			s, why := c.side(ways.Name)
			if s == nil && why != "" {
				tried = append(tried, record.BaselineCandidate{Name: way, Status: record.Skipped, Reason: why})
			}
			if s == nil {
				continue
			}
			vendor, trial := k.Arms[1], k
			vendor.Name, vendor.Library = fusion.VendorFused+":"+way, way
			trial.Arms, trial.Cuts = []record.ProgramRef{vendor, k.Arms[1]}, []float64{1}
			trial.Quick, trial.BudgetNS, trial.LeastQuartets = true, k.BudgetNS/vendorFusedShare, vendorFusedLeast
			trial.Verified = true // ridge's kernel, in the comparison itself; a library's is verified in any case
			r, err := c.run(ctx, trial)
			if err != nil {
				return best, tried, err
			}
			tried = append(tried, candidateOf(way, r, 0))
			if c.leave(s, r) {
				continue
			}
			if r.Status == record.Wrong {
				c.cfg.View.Warn("%s by %s is wrong and not shown: %s", k.ID, way, r.Reason)
			}
			if !r.Status.Counts() || r.Ratio == nil || len(r.Arms) != 2 {
				continue
			}
			if last := len(tried) - 1; best == nil || r.Ratio.Value < best.Ratio {
				if best != nil {
					tried[chosen].Reason = slower(best.Ratio, way, r.Ratio.Value)
				}
				best, chosen = shown(s, way, r), last
			} else {
				tried[last].Reason = slower(r.Ratio.Value, best.Library, best.Ratio)
			}
		}
	}
	return best, tried, nil
}

// slower says why a fused primitive that is right is not the one shown.
func slower(ratio float64, than string, by float64) string {
	return fmt.Sprintf("%.3g of ridge's fused kernel's time: %s takes %.3g", ratio, than, by)
}

// shown is a library's fused primitive as the document has it, of the comparison with ridge's.
func shown(s *side, way string, r record.Result) *record.VendorFused {
	a := r.Arms[0]
	out := &record.VendorFused{Library: way, Version: s.found.Version, Kernels: a.Kernels, LatencyMS: a.Time.MedianNS / 1e6,
		Ratio: r.Ratio.Value, RatioCI95: r.Ratio.CI95, Trials: len(r.Ratio.Quartets)}
	if len(a.Libraries) > 0 {
		out.CodePath = strings.TrimSpace(strings.TrimPrefix(a.Libraries[0], s.Name+" "+s.found.Version))
	}
	return out
}

// otherLibrary says why a library's way cannot be measured on as it was before; "" where it can, or is ridge's own.
func (c *campaign) otherLibrary(ref record.ProgramRef, before record.Arm) string {
	if ref.Library == "" {
		return ""
	}
	name, _, _ := strings.Cut(ref.Library, " ")
	s, why := c.side(name)
	switch {
	case s != nil && !slices.Contains(s.Unfused, ref.Library):
		return "this build knows no such way to use a library"
	case s != nil:
		for _, text := range before.Libraries {
			if now := s.Name + " " + s.found.Version; !strings.HasPrefix(text+" ", now+" ") {
				return fmt.Sprintf("it was %s, there is %s now", text, now)
			}
		}
		return ""
	case why != "":
		return why
	}
	for _, v := range c.doc.Host.VendorLibraries {
		if v.Name == name {
			return v.Unavailable
		}
	}
	return "this run looks no library of that name up"
}

// side is a library in use, or nil and, where it was set aside in this run, why.
func (c *campaign) side(name string) (*side, string) {
	for _, s := range c.sides {
		if s.Name == name {
			return s, ""
		}
	}
	return nil, c.aside[name]
}
