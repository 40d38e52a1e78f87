package measure

import (
	"fmt"
	"slices"

	"ridge/goharness/record"
)

// MaxVisits bounds the times that one comparison is measured anew within a run and pooled.
const MaxVisits = 8

// Visit is what one Compare gave: its ratio and the times of both arms.
type Visit struct {
	Ratio record.Ratio
	Times [2]record.Time
}

// Pool joins a comparison with another visit to the same one later in the run. A spell in which a neighbour slows the host outlasts
// one visit; the fastest samples of several then come from those outside it. Buffers lie
// elsewhere at each visit, so that the interval also covers what their place does (see summarizeVisits).
//
// Where the barrier of some visits took more than Apart times the shortest one, those do not count beside two others that have MinQuartets: a
// host may move a virtual machine's CPUs to where they share a cache or to where they do not, for minutes, and programs differ in
// what that costs them. Beside one other visit, which may have been disturbed in its own way, they count if its interval holds their value.
//
// The interval holds at 95 % for all looks together, one a visit, MaxVisits at most.
func Pool(a, b Visit) (Visit, error) {
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
	if out.Ratio, err = ratioOfVisits(quartets, times, visits, barriers); err != nil {
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

// Apart is how much longer a barrier takes where CPUs are further apart: on Zen 3 2.1 times between two last-level caches.
const Apart = 1.5

// near lists the visits whose barrier took at most Apart times the shortest; nil where the barriers are not known.
func near(barriers []float64) []int {
	if len(barriers) == 0 {
		return nil
	}
	return within(barriers, slices.Min(barriers))
}

func within(barriers []float64, least float64) (out []int) {
	for i, ns := range barriers {
		if ns <= Apart*least {
			out = append(out, i)
		}
	}
	return out
}

// NearVisits counts the visits whose barrier took at most Apart times least.
func NearVisits(r record.Ratio, least float64) int { return len(within(r.BarrierNS, least)) }

// Barrier is the longest of the visits that count; 0 where it is not known.
func Barrier(r record.Ratio) (longest float64) {
	for i, ns := range r.BarrierNS {
		if r.Counted == nil || slices.Contains(r.Counted, i) {
			longest = max(longest, ns)
		}
	}
	return longest
}

// Near reports whether two visits, or the only one, had a barrier of at most Apart times least and have MinQuartets, or nothing is known of it.
func Near(r record.Ratio, least float64) bool {
	n, near := 0, within(r.BarrierNS, least)
	for _, i := range near {
		if len(r.Visits) == 0 {
			return true
		}
		n += r.Visits[i]
	}
	return len(r.BarrierNS) == 0 || n >= MinQuartets && len(near) > 1
}

// pooledLevel is the confidence of each look at a pooled ratio, one a visit: eight looks at equal steps hold at 95 % together (Pocock 1977).
const pooledLevel = 1 - 0.0118

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
