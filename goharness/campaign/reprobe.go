package campaign

import (
	"context"
	"strings"
	"time"

	"ridge/goharness/ceiling"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// Neighbours on a shared host take arithmetic slots for seconds and cache share for minutes,
// so the main probes are repeated across the run, a few at a time and the oldest first.
const (
	probeEvery = 10 * time.Second // between two repetitions
	probeBurst = 2                // probes at a time
	probeShare = 0.05             // of the run's time, for all repetitions together
)

// Several threads have arithmetic and caches of their own: a probe of all of them that gives less than leastScaling
// × that of one was disturbed; of DRAM, all of which one thread may draw, one that gives less than that of one. It is repeated up to
// scalingProbes times; the best one counts.
const (
	leastScaling  = 1.2
	scalingProbes = 3
)

// reprobeLow repeats the probes of all threads that stay behind those of one. Non-temporal stores to a cache's level are left out: they go
// to DRAM.
func (c *campaign) reprobeLow(ctx context.Context) error {
	for _, p := range c.plan.Probes {
		id := p.Ceiling
		if id.Threads < 2 || id.Level != ceiling.DRAM && strings.HasPrefix(id.Access, "nt_") || id.Kind != record.CeilingCompute && id.Kind != record.CeilingBandwidth {
			continue
		}
		least := leastScaling
		if id.Level == ceiling.DRAM {
			least = 1
		}
		single := id
		single.Threads = 1
		for range scalingProbes {
			x, one := c.model.Find(id), c.model.Find(single)
			if x == nil || one == nil || x.Measured.Value == 0 || one.Measured.Value == 0 || x.Measured.Value >= least*one.Measured.Value {
				break
			}
			if _, done := c.probed[p.Case.ID]; !done {
				break // from the journal of a run that had its tries
			}
			if err := c.reprobe(ctx, x, "low"); err != nil {
				return err
			}
		}
	}
	return nil
}

// reprobeExceeded repeats the probe of a level that a result went past, once for each ceiling: the result
// says that the probe was disturbed.
func (c *campaign) reprobeExceeded(ctx context.Context, r *record.Result) error {
	x := c.model.Exceeded(r)
	if x == nil || c.exceeded[x.Key()] {
		return nil
	}
	c.exceeded[x.Key()] = true
	return c.reprobe(ctx, x, "exceeded")
}

// reprobe measures the probe of a ceiling once more. Its kernel is verified once in a run: to hold a gigabyte against what is expected takes as long as to measure it.
func (c *campaign) reprobe(ctx context.Context, limit *record.Ceiling, why string) error {
	for _, p := range c.plan.Probes {
		id := p.Ceiling
		if id.Kind == "" || c.model.Find(id) != limit {
			continue
		}
		k := p.Case
		k.Verified = c.verifiedHere(k.ID)
		r, err := c.run(ctx, k)
		if err != nil {
			return err
		}
		c.verifiedNow(&r)
		c.probed[p.Case.ID] = c.cfg.Now()
		before := len(limit.Probes)
		c.model.Probe(id, r, why)
		c.model.Observe(&r)
		if x := c.model.Find(id); len(x.Probes) > before {
			return c.keepProbe(x)
		}
	}
	return nil
}

// verifiedNow remembers a probe whose kernel passed its verification in this run.
func (c *campaign) verifiedNow(r *record.Result) {
	if r.Status.Counts() && r.Verification != nil && r.Verification.Passed && r.Verification.Checked > 0 {
		if c.verified == nil {
			c.verified = map[string]int{}
		}
		c.verified[r.ID] = len(c.runner.Quarantined())
	}
}

// verifiedHere reports whether a probe passed in this run; not where a kernel was set aside since, in whose place another is picked.
func (c *campaign) verifiedHere(id string) bool {
	aside, passed := c.verified[id]
	return passed && aside == len(c.runner.Quarantined())
}

// reprobeMain repeats the oldest main probes when it is time, as long as all repetitions
// together have not taken more than their share of the run.
func (c *campaign) reprobeMain(ctx context.Context) error {
	begin := c.cfg.Now()
	if begin.Sub(c.sinceProbe) <= probeEvery {
		return nil
	}
	for range probeBurst {
		if float64(c.probing) > probeShare*float64(begin.Sub(c.started)) {
			return nil
		}
		x := c.oldestMain()
		if x == nil {
			return nil
		}
		if err := c.reprobe(ctx, x, "periodic"); err != nil {
			return err
		}
		end := c.cfg.Now()
		c.probing += end.Sub(begin)
		begin, c.sinceProbe = end, end
	}
	return nil
}

// oldestMain is the ceiling of the main probe that was not measured for the longest time, at
// the run's thread count; nil when there is none.
func (c *campaign) oldestMain() *record.Ceiling {
	var oldest *plan.Probe
	var limit *record.Ceiling
	for i := range c.plan.Probes {
		p := &c.plan.Probes[i]
		if !p.Main || p.Ceiling.Threads != c.cfg.Plan.Threads {
			continue
		}
		x := c.model.Find(p.Ceiling)
		if x == nil || x.Measured.Value == 0 {
			continue
		}
		if x.Kind == record.CeilingCompute && x != c.model.Compute("", x.DType, x.Threads) {
			continue // a weaker instruction set's: it judges few cases
		}
		if oldest == nil || c.probed[p.Case.ID].Before(c.probed[oldest.Case.ID]) {
			oldest, limit = p, x
		}
	}
	return limit
}
