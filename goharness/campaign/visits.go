package campaign

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// Least visits to each comparison of a run, a round over all of them apart, where time allows. What a neighbour on the host
// does to a ratio lasts for seconds to minutes: of 80 comparisons with 40 quartets a visit, two single visits gave one verdict for 66 %,
// two pairs for 82 %, two threes for 90 %. A quick run has time for two.
const (
	leastVisits      = 3
	leastVisitsQuick = 2
)

// wideMargin: an interval that would hold no cut if it were so many times as wide needs no third visit. Of two full runs on a shared Zen 4 host 221 and
// 200 of 358 comparisons had such a margin after two visits; more visits moved one of them to another class, and the runs contradicted each other in two.
const wideMargin = 2.5

// Share of a run's time that the first visits should be done in: they also verify and choose the baselines.
const (
	firstRound      = 0.75
	firstRoundQuick = 0.8
)

func (c *campaign) leastVisits() int {
	if c.cfg.Plan.Quick {
		return leastVisitsQuick
	}
	return leastVisits
}

// firstBudget is the sampling time of the first visit to comparison i: its share of the plan's, less where the first round would end
// late at the cost that comparisons had so far beside their sampling. A tenth is always left.
func (c *campaign) firstBudget(k record.Case, i int) int64 {
	share := firstRound
	if c.cfg.Plan.Quick {
		share = firstRoundQuick
	}
	beside := firstBeside
	if c.compared > 0 {
		beside = c.beside / time.Duration(c.compared)
	}
	nominal := float64(k.BudgetNS) / float64(c.leastVisits())
	left := (share*float64(c.target())-float64(c.cfg.Now().Sub(c.started)))/float64(len(c.plan.Cases)-i) - float64(beside)
	// Shapes that take longer than the mean have more of it, in proportion.
	return int64(nominal * min(1, max(0.1, left/c.meanBudget())))
}

// firstBeside is what is assumed before any comparison has shown it.
const firstBeside = 300 * time.Millisecond

// meanBudget of a first visit, over all comparisons of the plan.
func (c *campaign) meanBudget() float64 {
	sum, n := 0.0, 0
	for _, k := range c.plan.Cases {
		if c.visited(k) {
			sum, n = sum+float64(k.BudgetNS), n+1
		}
	}
	return max(1, sum/float64(max(1, n))/float64(c.leastVisits()))
}

// visited reports whether a case is a comparison that this run measures in several visits.
func (c *campaign) visited(k record.Case) bool {
	return c.cfg.Cases == nil && len(k.Baselines) > 0 && k.Trials == 0
}

// revisit measures the comparisons again, in rounds: all of them until each has the least number of visits, or two and a wide margin, then those whose
// interval still holds a cut, while the time lasts. Short of time, a round begins with what takes least; what is settled counts twice. Beyond the least
// number, the time goes first to those that it can settle. What a round left out has its turn later while there is time for a visit.
func (c *campaign) revisit(ctx context.Context) error {
	c.reserve = c.fusedReserve()
	defer func() { c.reserve = 0 }()
	for round := 2; ; round++ {
		c.common = c.commonBarrier()
		due := c.due(min(round, measure.MaxVisits))
		if c.cost(due) > c.timeLeft() {
			weight := func(p piloted) time.Duration {
				if c.settled(p) {
					return 2 * c.took[p.ID]
				}
				return c.took[p.ID]
			}
			slices.SortStableFunc(due, func(a, b piloted) int { return cmp.Compare(weight(a), weight(b)) })
		}
		if round > c.leastVisits() {
			due = c.promising(due)
		}
		if len(due) == 0 || c.timeLeft() <= 0 {
			return nil
		}
		c.cfg.View.Round(round, len(due))
		visited := 0
		for len(due) > 0 {
			i := c.next(due)
			k := due[i]
			due = slices.Delete(due, i, i+1)
			if c.took[k.ID] > c.timeLeft() {
				continue // a quicker one may still have its turn
			}
			visited++
			if err := c.again(ctx, k, round); err != nil {
				return err
			}
		}
		if visited == 0 && round >= measure.MaxVisits {
			return nil
		}
	}
}

// promising orders comparisons that are open by the time that settling them likely takes, those that the visits they may still have will not settle
// last, and leaves out for this round what the time left then does not suffice for. An interval shrinks as the root of the visits: visits/margin² in all.
// Where it suffices for none, all have their turn.
func (c *campaign) promising(due []piloted) []piloted {
	takes := map[string]time.Duration{}
	var all, hopeless, kept []piloted
	for _, p := range due {
		r := c.done[p.ID].Ratio
		visits, margin := max(1, len(r.Visits)), measure.Margin(*r, p.Cuts)
		more, most := max(1, math.Ceil(float64(visits)*(1/max(margin*margin, 1e-3)-1))), float64(max(1, measure.MaxVisits-visits))
		takes[p.ID] = time.Duration(min(more, most) * float64(c.took[p.ID]))
		if more > most {
			hopeless = append(hopeless, p)
		} else {
			all = append(all, p)
		}
	}
	sooner := func(a, b piloted) int { return cmp.Compare(takes[a.ID], takes[b.ID]) }
	slices.SortStableFunc(all, sooner)
	slices.SortStableFunc(hopeless, sooner)
	all = append(all, hopeless...)
	left := c.timeLeft()
	for _, p := range all {
		if takes[p.ID] <= left {
			left -= takes[p.ID]
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return all
	}
	return kept
}

// next is the index of the comparison to visit now: while the CPUs are placed as is common in the run, as the last visit showed, the first that
// lacks such visits, and while they are not the first that does not.
func (c *campaign) next(due []piloted) int {
	c.common = c.commonBarrier()
	usual := c.barrier == 0 || measure.Placed(c.barrier, c.common)
	return max(0, slices.IndexFunc(due, func(p piloted) bool {
		return usual == (measure.PlacedVisits(*c.done[p.ID].Ratio, c.common) < placedVisits)
	}))
}

// placedVisits are those that a comparison needs to go without others (see measure.Pool).
const placedVisits = 2

// due lists the comparisons that a round asks again.
func (c *campaign) due(round int) (out []piloted) {
	for _, k := range c.plan.Cases {
		r, ok := c.done[k.ID]
		if !ok || !c.visited(k) || c.left[k.ID] || !r.Status.Counts() || r.Ratio == nil || max(1, len(r.Ratio.Visits)) >= round {
			continue
		}
		p, ok := c.pilots[k.ID]
		if !ok { // of a resumed journal
			if len(r.Arms) != 2 {
				continue
			}
			p = piloted{Case: askedBefore(k, r), tried: r.Candidates, fused: r.FusedCandidates}
			p.BudgetNS, p.LeastQuartets = k.BudgetNS/int64(c.leastVisits()), measure.LeastQuartetsOfVisit
			c.pilots[k.ID] = p
		}
		// Beside others than its kernels, or in ridge's own worker, a library would not be what was measured before.
		if why := c.otherLibrary(p.Arms[0], r.Arms[0]); why != "" {
			c.cfg.View.Warn("%s is not visited again: its baseline is %s: %s", k.ID, p.Arms[0].Library, why)
			c.left[k.ID] = true
			continue
		}
		if !c.cfg.Plan.Quick { // which has time for the first visits and as many short ones
			p.most = k.BudgetNS / int64(c.leastVisits())
		}
		if _, timed := c.took[k.ID]; !timed {
			c.took[k.ID], c.around[k.ID] = firstGuess(r), firstGuess(r)-sampled(r)
		}
		if !c.settled(p) || round <= c.leastVisits() && (round <= 2 || measure.Margin(*r.Ratio, p.Cuts) < wideMargin) {
			out = append(out, p)
		}
	}
	return out
}

// settled reports whether a comparison needs no more visits: its interval is narrow enough or clear of the cuts, and it comes from visits with
// the CPUs placed as is common in the run.
func (c *campaign) settled(p piloted) bool {
	r := measure.AcrossVisits(*c.done[p.ID].Ratio)
	return measure.Settled(r, p.Cuts, p.Quick) && measure.PlacedAlike(r, c.common)
}

// commonBarrier is that of all comparisons of the run, but for those of threads on one core.
func (c *campaign) commonBarrier() float64 {
	var all []float64
	for _, k := range c.plan.Cases {
		if r, ok := c.done[k.ID]; ok && c.visited(k) && r.Ratio != nil {
			all = append(all, r.Ratio.BarrierNS...)
		}
	}
	return measure.CommonBarrier(c.withoutShared(all))
}

// sampled is the time that a comparison's quartets took, with half as much again for untimed launches.
func sampled(r record.Result) time.Duration {
	var ns float64
	for _, a := range r.Arms {
		if a.Time == nil {
			continue
		}
		for _, x := range a.Time.SamplesNS {
			ns += 1.5 * x * float64(a.Time.Launches)
		}
	}
	return time.Duration(ns)
}

// firstGuess is the expected time of a visit: the quartets of the first, the warm-up, and filling the buffers at 1 GB/s.
func firstGuess(r record.Result) time.Duration {
	return 100*time.Millisecond + sampled(r) + time.Duration(r.WorkingSetBytes)
}

// visitBudget is the sampling time of a visit: the first one's, more where that is less than what a visit takes around it, for then time goes by
// beside the samples; but not beyond the plan's.
func visitBudget(first, most int64, around time.Duration) int64 {
	return max(first, min(most, int64(around)))
}

// cost is the time that visits are expected to take: that of the last ones.
func (c *campaign) cost(due []piloted) (sum time.Duration) {
	for _, p := range due {
		sum += c.took[p.ID]
	}
	return sum
}

func (c *campaign) timeLeft() time.Duration {
	return c.target() - c.cfg.Now().Sub(c.started) - c.reserve
}

// again makes one more visit to a comparison and pools it with those before. Its kernels were verified at the first.
func (c *campaign) again(ctx context.Context, p piloted, round int) error {
	k := p.Case
	k.Verified, k.BudgetNS = true, visitBudget(k.BudgetNS, p.most, c.around[k.ID])
	c.cfg.View.Started(k)
	began := c.cfg.Now()
	v, err := c.run(ctx, k)
	if err != nil {
		return err
	}
	c.took[k.ID] = c.cfg.Now().Sub(began)
	c.around[k.ID] = c.took[k.ID] - sampled(v)
	if v.Ratio != nil && len(v.Ratio.BarrierNS) > 0 {
		c.barrier = v.Ratio.BarrierNS[0]
	}
	if v.Status.Counts() {
		k.Verified = false // should the gate have it measured again
		if err := c.gate(ctx, k, &v); err != nil {
			return err
		}
	}
	r := c.done[k.ID]
	switch {
	case v.Status == record.Invalid:
		v.Candidates, v.FusedCandidates, v.VendorFused, v.VendorTried = r.Candidates, r.FusedCandidates, r.VendorFused, r.VendorTried
		r = v
	case !v.Status.Counts():
		c.cfg.View.Warn("visit %d to %s ended %s (%s): what was measured before stands", round, k.ID, v.Status, v.Reason)
		c.left[k.ID] = true
		return nil
	default:
		if err := runner.Pool(&r, v, c.common, k.Cuts, k.Quick); err != nil {
			c.cfg.View.Warn("%v: what was measured before stands", err)
			c.left[k.ID] = true
			return nil
		}
	}
	c.finish(&r)
	if err := c.keep(r, "visit"); err != nil {
		return err
	}
	c.replace(r)
	return nil
}

// replace puts a result in the place of the one that its case had.
func (c *campaign) replace(r record.Result) {
	c.done[r.ID] = r
	if i := slices.IndexFunc(c.doc.Results, func(x record.Result) bool { return x.ID == r.ID }); i >= 0 {
		c.doc.Results[i] = r
	}
}

// singleVisits warns of comparisons that were not visited again, as where a calibration leaves fusion patterns little time.
func (c *campaign) singleVisits() []string {
	once, all := 0, 0
	for _, k := range c.plan.Cases {
		if r, ok := c.done[k.ID]; ok && c.visited(k) && r.Status.Counts() && r.Ratio != nil {
			all++
			if len(r.Ratio.Visits) < 2 {
				once++
			}
		}
	}
	if once == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d comparisons were visited once, for lack of time: their intervals, which know nothing of how a level changes from visit to visit, are twice as wide in the profile; ridge fusion, or a longer --budget, has time for more", once, all)}
}
