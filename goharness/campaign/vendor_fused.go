package campaign

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ridge/goharness/fusion"
	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// The libraries' fused primitives are figures beside a verdict. Those of launches from vendorFusedLater on wait until the verdicts have had their
// visits, for which a run leaves vendorFusedShare of its time at most, the shorter first.
const (
	vendorFusedLater    = 3 * time.Millisecond
	vendorFusedShare    = 0.04
	vendorFusedLaunches = 16 // of either arm, about, with verification
)

// fusedLater reports whether the libraries' fused primitives of a comparison wait for the end of the run.
func (c *campaign) fusedLater(k record.Case, r record.Result) bool {
	return c.visited(k) && len(r.Arms) == 2 && r.Arms[1].Time != nil && r.Arms[1].Time.MedianNS >= float64(vendorFusedLater)
}

// fusedLacking lists the comparisons whose libraries' fused primitives have not been measured, those with shorter launches first.
func (c *campaign) fusedLacking() (out []piloted) {
	if len(c.fusedSkipped("")) == 0 {
		return nil
	}
	for _, k := range c.plan.Cases {
		r, ok := c.done[k.ID]
		if !ok || !c.fusedLater(k, r) || !r.Status.Counts() || r.VendorFused != nil || r.VendorTried != nil {
			continue
		}
		p, ok := c.pilots[k.ID]
		if !ok {
			p = piloted{Case: askedBefore(k, r)}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b piloted) int { return cmp.Compare(c.fusedCost(a), c.fusedCost(b)) })
	return out
}

// fusedSkipped records each way of the libraries in use as skipped for a reason, and those of libraries that were set aside for theirs.
func (c *campaign) fusedSkipped(reason string) (out []record.BaselineCandidate) {
	for _, ways := range c.cfg.Libraries {
		s, why := c.side(ways.Name)
		if s != nil {
			why = reason
		} else if why == "" {
			continue // it could not be opened
		}
		for _, way := range ways.Fused {
			out = append(out, record.BaselineCandidate{Name: way, Status: record.Skipped, Reason: why})
		}
	}
	return out
}

// fusedCost is the time that measuring the libraries' fused primitives of a comparison is expected to take.
func (c *campaign) fusedCost(p piloted) time.Duration {
	ways := 0
	for _, s := range c.sides {
		ways += len(s.Fused)
	}
	ns := 0.0
	for _, a := range c.done[p.ID].Arms {
		if a.Time != nil {
			ns += a.Time.MedianNS
		}
	}
	return time.Duration(ns * vendorFusedLaunches * float64(ways))
}

// fusedReserve is the time that visits leave for the libraries' fused primitives.
func (c *campaign) fusedReserve() time.Duration {
	var need time.Duration
	for _, p := range c.fusedLacking() {
		need += c.fusedCost(p)
	}
	return min(need, time.Duration(vendorFusedShare*float64(c.target())))
}

// fusedPrimitives measures the libraries' fused primitives that waited, while time lasts; the others are recorded as skipped.
func (c *campaign) fusedPrimitives(ctx context.Context) error {
	for _, p := range c.fusedLacking() {
		r := c.done[p.ID]
		if cost := c.fusedCost(p); cost > c.timeLeft() {
			r.VendorTried = c.fusedSkipped(fmt.Sprintf("the run's time went to comparisons: it takes %.2g s, a longer --budget has them", cost.Seconds()))
		} else {
			c.cfg.View.Started(p.Case)
			var err error
			if r.VendorFused, r.VendorTried, err = c.vendorFused(ctx, p.Case); err != nil {
				return err
			}
			if err := c.keep(r, "vendor fused"); err != nil {
				return err
			}
		}
		c.replace(r)
	}
	return nil
}

// vendorFused measures the libraries' own fused primitives against ridge's fused kernel and gives the fastest, nil where no library has one that is right,
// and what became of each. It has as many quartets as a pilot of a quick run: as a comparison a figure beside the verdict took a sixth of a full run. A library that
// crashed or hung earlier in this run is among those tried, one that could not be opened is not: of that the host's description tells.
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
			trial.Arms = []record.ProgramRef{vendor, k.Arms[1]}
			trial.Quick = true
			if trial = c.shorten(trial); trial.Launches != 1 {
				trial.Clear = 0 // its interval is shown
			}
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
	a, ratio := r.Arms[0], measure.AcrossVisits(*r.Ratio)
	out := &record.VendorFused{Library: way, Version: s.found.Version, Kernels: a.Kernels, LatencyMS: a.Time.MedianNS / 1e6,
		Ratio: ratio.Value, RatioCI95: ratio.CI95, Trials: len(ratio.Quartets)}
	if len(a.Libraries) > 0 {
		out.CodePath = strings.TrimSpace(strings.TrimPrefix(a.Libraries[0], s.Name+" "+s.found.Version))
	}
	return out
}
