package measure

import (
	"fmt"
	"math"
	"slices"

	"ridge/goharness/record"
)

// MaxVisits bounds the times that one comparison is measured anew within a run and pooled.
const MaxVisits = 12

// Visit is what one Compare gave: its ratio and the times of both arms.
type Visit struct {
	Ratio record.Ratio
	Times [2]record.Time
}

// Pool joins a comparison with another visit to the same one later in the run. A spell in which a neighbour slows the host outlasts
// one visit; the fastest samples of several then come from those outside it. Buffers may lie
// elsewhere at each visit, so that the interval also covers what their place does (see summarizeVisits).
//
// common is the barrier that is common in the run (CommonBarrier), 0 where only these visits are known. Those that found the CPUs placed otherwise
// (Placed) do not count beside two others that have MinQuartets: a host may move a virtual machine's CPUs to where they share a cache, to where
// they do not, or to one core, and programs differ in what that costs them. Beside one other visit, which may have been disturbed in its own
// way, they count if its interval holds their value.
//
// The interval holds at 95 % for all looks together, one a visit, MaxVisits at most.
func Pool(a, b Visit, common float64) (Visit, error) {
	visits := a.Ratio.Visits
	if visits == nil {
		visits = []int{len(a.Ratio.Quartets)}
	}
	if len(visits) >= MaxVisits {
		return Visit{}, fmt.Errorf("pooling visits: %d were pooled before: expected at most %d in all", len(visits), MaxVisits)
	}
	barriers := append(slices.Clone(a.Ratio.BarrierNS), b.Ratio.BarrierNS...)
	if len(barriers) != len(visits)+1 {
		barriers = nil // not known of all
	}
	visits = append(slices.Clone(visits), len(b.Ratio.Quartets))
	var quartets []Quartet
	for _, v := range []Visit{a, b} {
		qs, err := v.quartets()
		if err != nil {
			return Visit{}, err
		}
		quartets = append(quartets, qs...)
	}
	var out Visit
	var err error
	times := [2][]float64{slices.Concat(a.Times[0].SamplesNS, b.Times[0].SamplesNS), slices.Concat(a.Times[1].SamplesNS, b.Times[1].SamplesNS)}
	if out.Ratio, err = ratioOfVisits(quartets, times, visits, barriers, common); err != nil {
		return Visit{}, err
	}
	for i := range out.Times {
		t := a.Times[i]
		t.Disturbed = slices.Clone(t.Disturbed)
		for _, j := range b.Times[i].Disturbed {
			t.Disturbed = append(t.Disturbed, j+len(t.SamplesNS))
		}
		t.StopRule = b.Times[i].StopRule
		if err := describeTimes(&t, times[i], Confidence); err != nil {
			return Visit{}, fmt.Errorf("pooling arm %d: %w", i, err)
		}
		out.Times[i] = t
	}
	return out, nil
}

// Apart is how much longer a barrier takes where CPUs are further apart: on Zen 3 2.1 times between two last-level caches, on Zen 4 4.2 times;
// and by how much less where the host runs both on one core, each at half its speed (35 ns beside 75 on Zen 4).
const Apart = 1.5

// rareBarrier is the share of a run's barriers below which a level of them is an exception: the host ran the CPUs on one core.
const rareBarrier = 0.05

// CommonBarrier is the shortest of barriers beside which, up to Apart times as long, no rare few lie: two and one in twenty at least. Where there is
// none, as of two that differ, the shortest. 0 of none.
func CommonBarrier(barriers []float64) float64 {
	sorted := slices.Sorted(slices.Values(barriers))
	least := max(2, int(math.Ceil(rareBarrier*float64(len(sorted)))))
	for i, ns := range sorted {
		if n, _ := slices.BinarySearchFunc(sorted, Apart*ns, func(x, most float64) int {
			if x <= most {
				return -1
			}
			return 1
		}); n-i >= least {
			return ns
		}
	}
	if len(sorted) == 0 {
		return 0
	}
	return sorted[0]
}

// Placed reports whether a barrier found the CPUs placed as is common.
func Placed(ns, common float64) bool { return ns <= Apart*common && Apart*ns >= common }

// placed lists the visits that found the CPUs placed as is common; nil where their barriers are not known.
func placed(barriers []float64, common float64) (out []int) {
	if common == 0 {
		common = CommonBarrier(barriers)
	}
	for i, ns := range barriers {
		if Placed(ns, common) {
			out = append(out, i)
		}
	}
	return out
}

// PlacedVisits counts the visits that found the CPUs placed as is common.
func PlacedVisits(r record.Ratio, common float64) int { return len(placed(r.BarrierNS, common)) }

// Barrier is the longest of the visits that count; 0 where it is not known.
func Barrier(r record.Ratio) (longest float64) {
	for i, ns := range r.BarrierNS {
		if r.Counted == nil || slices.Contains(r.Counted, i) {
			longest = max(longest, ns)
		}
	}
	return longest
}

// PlacedAlike reports whether two visits, or the only one, found the CPUs placed as is common and have MinQuartets, or nothing is known of it.
func PlacedAlike(r record.Ratio, common float64) bool {
	n, found := 0, placed(r.BarrierNS, common)
	for _, i := range found {
		if len(r.Visits) == 0 {
			return true
		}
		n += r.Visits[i]
	}
	return len(r.BarrierNS) == 0 || n >= MinQuartets && len(found) > 1
}

// pooledLevel is the confidence of each look at a pooled ratio, one a visit: MaxVisits looks at equal steps hold at 95 % together (Pocock 1977; 2.588
// standard deviations, Jennison and Turnbull 2000, table 2.1).
const pooledLevel = 1 - 0.0096

// quartets are the sums that the samples of the arms were taken for: quartet i is samples 2i and 2i+1 of either.
func (v Visit) quartets() ([]Quartet, error) {
	n := len(v.Ratio.Quartets)
	if a, b := len(v.Times[0].SamplesNS), len(v.Times[1].SamplesNS); a != 2*n || b != 2*n {
		return nil, fmt.Errorf("pooling visits: %d quartets with %d and %d samples: expected two of either arm a quartet", n, a, b)
	}
	out := make([]Quartet, n)
	for i := range out {
		a, b := v.Times[0].SamplesNS[2*i:], v.Times[1].SamplesNS[2*i:]
		out[i] = Quartet{a[0] + a[1], b[0] + b[1]}
	}
	return out, nil
}

// Settled reports whether a ratio needs no more quartets: at least MinQuartets, and the interval as narrow as asked for
// (±0.5 %, quick ±2 %) or clear of the cuts.
func Settled(r record.Ratio, cuts []float64, quick bool) bool {
	return len(r.Quartets) >= MinQuartets && (HalfWidth(r) <= relHalfWidth(quick) || len(cuts) > 0 && clears(r.CI95[0], r.CI95[1], cuts))
}

// Margin is how many times as wide as it is the interval of a ratio could be, about its value, before it held a cut: below 1, it holds one. +Inf without
// cuts, 0 where nothing is known.
func Margin(r record.Ratio, cuts []float64) float64 {
	if !(r.Value > 0 && r.CI95[0] > 0 && r.CI95[0] <= r.Value && r.Value <= r.CI95[1]) || math.IsInf(r.CI95[1], 0) {
		return 0
	}
	margin := math.Inf(1)
	for _, c := range cuts {
		far, half := math.Log(r.Value/c), math.Log(r.Value/r.CI95[0])
		if c > r.Value {
			far, half = -far, math.Log(r.CI95[1]/r.Value)
		}
		if half > 0 {
			margin = min(margin, far/half)
		}
	}
	return margin
}
