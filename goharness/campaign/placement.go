package campaign

import (
	"context"
	"fmt"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// Barriers known before one is called too short, and how often a result is measured again for it.
const (
	leastBarriers = 8
	mostReplaced  = 2
)

// ownCores measures a result again while the host ran the CPUs of its threads on one core: an empty step of the team is then shorter than is common in
// the run (on Zen 4 35 ns beside 75), and its threads have half of a core each. Seen for half a second at a time, in 6 of 1000 visits on a shared
// host. What stays so has a warning. Comparisons have visits for that (see measure.Pool).
func (c *campaign) ownCores(ctx context.Context, k record.Case, r *record.Result) error {
	for n := 0; c.onOneCore(r); n++ {
		const what = "the host ran the threads' CPUs on one core"
		ns, _ := shortestBarrier(r)
		if n == mostReplaced {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s while this was measured (an empty step of the team took %.0f ns, commonly %.0f): times are up to twice as long as otherwise",
				what, ns, measure.CommonBarrier(c.barriers)))
			return nil
		}
		c.cfg.View.Warn("%s during %s: measuring it again", what, r.ID)
		again, err := c.run(ctx, k)
		if err != nil {
			return err
		}
		again.VendorFused = r.VendorFused
		*r = again
	}
	if ns, known := shortestBarrier(r); known {
		c.barriers = append(c.barriers, ns)
	}
	return nil
}

func (c *campaign) onOneCore(r *record.Result) bool {
	ns, known := shortestBarrier(r)
	return known && r.Status.Counts() && len(c.barriers) >= leastBarriers && measure.Apart*ns < measure.CommonBarrier(c.barriers)
}

// shortestBarrier of those around a result.
func shortestBarrier(r *record.Result) (float64, bool) {
	if r.Conditions == nil {
		return 0, false
	}
	before, known := r.Conditions.BarrierBeforeNS.Get()
	after, also := r.Conditions.BarrierAfterNS.Get()
	return min(before, after), known && also
}
