package measure

import (
	"cmp"
	"math"
	"slices"

	"ridge/goharness/record"
)

// Inconclusive is the class of a ratio whose interval reaches over a cut-off.
const Inconclusive = "inconclusive"

// Cut is a class of ratios: those of at least From and below the next higher cut.
type Cut struct {
	From  float64
	Class string
}

// Verdict is what a ratio's interval proves.
type Verdict struct {
	// Class that holds the whole interval, or Inconclusive.
	Class string
	// AtLeast is the best class whose cut the whole interval reaches: proven even where Class is
	// inconclusive because the next cut lies within the interval. Inconclusive when the interval
	// reaches below the lowest cut, or with fewer than MinQuartets quartets.
	AtLeast string
}

// Decide classifies a ratio. cuts are the classes in any order; ratios below the lowest
// cut are of class below. A class is given only when the whole interval lies between its cut and the next,
// and at least MinQuartets quartets were measured.
func Decide(r record.Ratio, cuts []Cut, below string) Verdict {
	v := Verdict{Inconclusive, Inconclusive}
	lo, hi := r.CI95[0], r.CI95[1]
	if len(r.Quartets) < MinQuartets || !(lo <= hi) || math.IsInf(hi, 0) {
		return v
	}
	sorted := slices.Clone(cuts)
	slices.SortFunc(sorted, func(a, b Cut) int { return cmp.Compare(a.From, b.From) })
	class, next := below, math.Inf(1)
	for i, c := range sorted {
		if lo < c.From {
			next = c.From
			break
		}
		class = c.Class
		v.AtLeast = sorted[i].Class
	}
	if hi < next {
		v.Class = class
	}
	return v
}

// clears reports whether no cut lies within the interval: each has the whole of it at or
// above, or the whole of it below.
func clears(lo, hi float64, cuts []float64) bool {
	for _, c := range cuts {
		if lo < c && c <= hi {
			return false
		}
	}
	return true
}
