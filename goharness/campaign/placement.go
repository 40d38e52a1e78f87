package campaign

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// Barriers known before one is called too short, and the share of a run's time that all waits for cores together take (measure.ReplaceWait).
const (
	leastBarriers = 8
	waitShare     = 0.05
)

// ownCores measures a result again while the host ran the CPUs of its threads on one core: an empty step of the team is then shorter than is common in
// the run (on Zen 4 35 ns beside 75), and its threads have half of a core each, which arithmetic on all of them at once shows. Seen for half a second
// to some seconds at a time, in 6 of 1000 visits on a shared host, at other times in 80. What stays so has a warning. Comparisons have visits for that (see measure.Pool).
func (c *campaign) ownCores(ctx context.Context, k record.Case, r *record.Result) error {
	const what = "the host ran the threads' CPUs on one core"
	for n := 0; n < measure.MostReplaced && c.onOneCore(r); n++ {
		wait := c.patience(n)
		if n > 0 && wait == 0 {
			break
		}
		c.cfg.View.Warn("%s during %s: measuring it again", what, r.ID)
		c.waited += wait
		if err := c.cfg.Sleep(ctx, wait); err != nil {
			return fmt.Errorf("%w: %s was in flight", ErrInterrupted, k.ID)
		}
		again, err := c.run(ctx, k)
		if err != nil {
			return err
		}
		if !again.Status.Counts() {
			c.cfg.View.Warn("measuring %s again ended %s (%s): what was measured before stands", r.ID, again.Status, again.Reason)
			break
		}
		again.VendorFused, again.VendorTried = r.VendorFused, r.VendorTried
		*r = again
	}
	if c.onOneCore(r) {
		ns, _ := shortestBarrier(r)
		together, _ := r.Conditions.TogetherOverAlone.Get()
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s while this was measured (arithmetic on all threads at once took %.2f times as long as on one, an empty step of the team %.0f ns): times are up to twice as long as otherwise",
			what, together, ns))
	}
	c.learnBarrier(r)
	return nil
}

// learnBarrier keeps the barrier beside a result whose threads had a core each. Those of shared cores are not what a run compares with, however many
// they are: one host had every twelfth result of a run on one core.
func (c *campaign) learnBarrier(r *record.Result) {
	ns, known := shortestBarrier(r)
	switch {
	case shareCore(r):
		c.shared++
	case known:
		c.barriers = append(c.barriers, ns)
	}
}

// shareCore reports whether arithmetic on all threads at once showed that they share a core.
func shareCore(r *record.Result) bool {
	if r.Conditions == nil {
		return false
	}
	together, known := r.Conditions.TogetherOverAlone.Get()
	return known && together >= measure.OneCore
}

// withoutShared leaves out the barriers of threads that shared a core, where the run knows what they are beside cores of their own.
func (c *campaign) withoutShared(barriers []float64) []float64 {
	if len(c.barriers) < leastBarriers {
		return barriers
	}
	own := measure.CommonBarrier(c.barriers)
	return slices.DeleteFunc(barriers, func(ns float64) bool { return measure.Apart*ns < own })
}

// patience is the wait before repetition n, 0 where the run has no time for one.
func (c *campaign) patience(n int) time.Duration {
	wait := measure.ReplaceWait(n)
	if c.waited+wait > time.Duration(waitShare*float64(c.target())) {
		return 0
	}
	return wait
}

// onOneCore reports whether arithmetic on all threads showed a shared core beside a barrier that is shorter than those of cores of their own. Before
// such are known it goes by the topology: where each thread has a core, the host has moved them, unless leastBarriers results say otherwise by then.
func (c *campaign) onOneCore(r *record.Result) bool {
	ns, known := shortestBarrier(r)
	if !known || !shareCore(r) || !r.Status.Counts() {
		return false
	}
	if len(c.barriers) < leastBarriers {
		return c.shared < leastBarriers && c.seatedApart(r.Threads)
	}
	return measure.Apart*ns < measure.CommonBarrier(c.barriers)
}

// seatedApart reports whether the machine says that each of so many threads has a core to itself.
func (c *campaign) seatedApart(threads int) bool {
	cores, known := c.doc.Host.CPU.Cores.Get()
	return known && threads <= min(cores, len(c.seats)) && coresUsed(c.doc.Host, c.seats[:threads]) == threads
}

// placementWarnings tells that the host had the threads' CPUs further apart during some results than is common in the run, a core each: where they shared
// no last-level cache, threads that hand data to each other take longer. A single result is no reason.
func placementWarnings(results []record.Result) []string {
	var all, far []float64
	for i := range results {
		if ns, known := shortestBarrier(&results[i]); known && !shareCore(&results[i]) {
			all = append(all, ns)
		}
	}
	common := measure.CommonBarrier(all)
	for _, ns := range all {
		if ns > measure.Apart*common {
			far = append(far, ns)
		}
	}
	if len(all) < leastBarriers || len(far) < max(3, len(all)/20) {
		return nil
	}
	return []string{fmt.Sprintf("during %d of %d results the threads' CPUs lay further apart than otherwise (an empty step of the team took %.0f ns, commonly %.0f; conditions.barrier_*_ns tell which), as where the host puts them on two last-level caches",
		len(far), len(all), measure.Median(far), common)}
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
