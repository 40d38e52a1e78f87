package campaign

import (
	"fmt"
	"slices"

	"ridge/goharness/ceiling"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// fewestPoints of a latency sweep tell plateaus.
const fewestPoints = 6

// found are the plateaus of the latency sweep, and the levels of one thread's memory that they
// stand beside. Of a device these begin with the first-level cache of the multiprocessor that follows the links: no level of the
// model, since it keeps nothing between launches.
func (c *campaign) found() ([]ceiling.Plateau, []ceiling.Level) {
	var points []ceiling.Point
	for _, r := range c.doc.Results {
		if r.Op == "chase" && r.Probe() && r.Status.Counts() && r.Items > 0 {
			points = append(points, ceiling.Point{Bytes: r.WorkingSetBytes, Value: r.Time.MedianNS / float64(r.Items)})
		}
	}
	if len(points) < fewestPoints {
		return nil, nil
	}
	levels := c.model.Levels1
	if c.cfg.Accelerator != nil && levels[0].Name == "L2" {
		levels = append([]ceiling.Level{{Name: "L1", Capacity: mostLocal}}, levels...)
	}
	return ceiling.Plateaus(points, 0.15), levels
}

// levelsFromSweep takes the levels from the latency sweep where the system reports no cache
// at all, and enters the sweep's points into the ceilings of those levels. How caches are
// shared is not seen by one thread: each of several is reckoned to have its own, the cautious
// side for the gate and for what may be called a DRAM figure.
func (c *campaign) levelsFromSweep() {
	for _, l := range append(c.model.Levels, c.model.Levels1...) {
		if l.Capacity > 0 {
			return
		}
	}
	found, _ := c.found()
	one := ceiling.LevelsOf(found)
	if one == nil {
		return
	}
	all := append([]ceiling.Level(nil), one...)
	for i := range all {
		all[i].Capacity *= int64(c.cfg.Plan.Threads)
	}
	c.model.Levels, c.model.Levels1, c.sweepLevels = all, one, true
	for _, p := range plan.SweepCeilings(c.plan.Probes, all, one) {
		if r, ok := c.done[p.Case.ID]; ok && p.Ceiling.Kind != "" {
			c.model.Probe(p.Ceiling, r, "sweep")
		}
	}
}

// plateaus lists what the latency sweep shows for the document.
func (c *campaign) plateaus() []record.Plateau {
	found, levels := c.found()
	var out []record.Plateau
	for i, l := range ceiling.Match(found, levels) {
		p := record.Plateau{FromBytes: found[i].From, ToBytes: found[i].To, LatencyNS: found[i].Value, Points: found[i].Points, Level: l.Name}
		if !c.sweepLevels && slices.Contains(c.model.Levels1, l) { // the first-level cache of a device is not reported
			p.ReportedBytes = l.Capacity
		}
		out = append(out, p)
	}
	return out
}

// plateauWarnings compares the plateaus with the sizes that the system reports.
func (c *campaign) plateauWarnings() []string {
	found, levels := c.found()
	if len(found) == 0 {
		return nil
	}
	if c.sweepLevels {
		out := "the system reports no cache sizes; by the latency sweep"
		for _, l := range levels {
			if l.Capacity > 0 {
				out += fmt.Sprintf(" %s ends near %s,", l.Name, sizeText(l.Capacity))
			}
		}
		return []string{out + " and results are held against these levels"}
	}
	extent := map[string]int64{}
	for i, l := range ceiling.Match(found, levels) {
		extent[l.Name] = max(extent[l.Name], found[i].To)
	}
	var out []string
	levels = c.model.Levels1 // those with a reported size
	for i, l := range levels {
		to := extent[l.Name]
		// The last cache is shared with others; where huge pages are refused, buffers lie in small ones.
		rest := "the rest may be the share of others on this host, or the TLB reaches no further (a host may back a guest's large pages by small ones)"
		if i+1 < len(levels) && levels[i+1].Capacity > 0 {
			rest = "beyond it misses of the first TLB add to the latency where huge pages are refused, or others use the cache too"
		}
		switch {
		case l.Capacity == 0:
		case to == 0:
			out = append(out, fmt.Sprintf("the latency sweep shows no plateau of %s (%s reported)", l.Name, sizeText(l.Capacity)))
		case l.Capacity > 2*to:
			out = append(out, fmt.Sprintf("the latency sweep shows %s up to %s of the %s reported: %s", l.Name, sizeText(to), sizeText(l.Capacity), rest))
		case to > 2*l.Capacity:
			out = append(out, fmt.Sprintf("the latency sweep shows %s up to %s, the system reports %s", l.Name, sizeText(to), sizeText(l.Capacity)))
		}
	}
	return out
}

// sizeText is a size in KiB or MiB.
func sizeText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.4g KiB", float64(n)/(1<<10))
}
