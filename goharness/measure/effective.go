package measure

import (
	"math"
	"sort"
)

const (
	// maxLag1 keeps (1−ρ)/(1+ρ) away from 0.
	maxLag1 = 0.99
	// minEffective is the least effective count: below it Student's interval for a single
	// degree of freedom has lost all meaning.
	minEffective = 1.5
	// minBlocks is the least number of blocks from which an autocorrelation of block means
	// is estimated.
	minBlocks = 10
)

// effective returns the lag-1 autocorrelation of xs and the effective sample count for its
// median. Fewer than five values say nothing of their correlation: they get 0 and n.
func effective(xs, sorted []float64) (lag1, neff float64) {
	n := len(xs)
	if n < 5 {
		return 0, float64(n)
	}
	lag1 = correctedLag1(xs)
	neff = float64(n) * (1 - lag1) / (1 + lag1)
	ranks := midRanks(xs, sorted)
	v1 := variance(ranks)
	if v1 == 0 { // all equal: no noise to be correlated
		return 0, float64(n)
	}
	block := ranks
	for {
		r := correctedLag1(block)
		m := v1 / variance(block) * float64(len(block)) * (1 - r) / (1 + r)
		if m < neff {
			neff = m
		}
		if len(block)/2 < minBlocks {
			break
		}
		block = halve(block)
	}
	return lag1, math.Max(neff, 1)
}

// correctedLag1 is the lag-1 autocorrelation, corrected for its small-sample bias
// E[r] ≈ ρ − (1+3ρ)/n (Marriott and Pope 1954), clipped to [0, maxLag1].
func correctedLag1(xs []float64) float64 {
	n := float64(len(xs))
	mean, _ := meanStd(xs)
	var num, den float64
	scale := 0.0
	for _, x := range xs {
		scale = math.Max(scale, math.Abs(x-mean))
	}
	if scale == 0 || n < 5 {
		return 0
	}
	for i, x := range xs {
		d := (x - mean) / scale
		den += d * d
		if i > 0 {
			num += d * (xs[i-1] - mean) / scale
		}
	}
	r := (n*num/den + 1) / (n - 3)
	return math.Min(math.Max(r, 0), maxLag1)
}

// midRanks replaces each value by its rank from 1; equal values share their mean rank.
func midRanks(xs, sorted []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		lo := sort.SearchFloat64s(sorted, x)
		hi := lo + sort.Search(len(sorted)-lo, func(j int) bool { return sorted[lo+j] > x })
		out[i] = float64(lo+1+hi) / 2
	}
	return out
}

// halve averages neighbours; an odd first value is left out.
func halve(xs []float64) []float64 {
	xs = xs[len(xs)%2:]
	out := make([]float64, len(xs)/2)
	for i := range out {
		out[i] = (xs[2*i] + xs[2*i+1]) / 2
	}
	return out
}

func variance(xs []float64) float64 {
	_, s := meanStd(xs)
	return s * s
}
