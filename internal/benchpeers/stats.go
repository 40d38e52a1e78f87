//go:build cgo && linux

package main

import (
	"fmt"
	"math"
	"slices"

	"ridge/goharness/measure"
)

// interval is a median with the 95 % order-statistic interval of it.
type interval struct {
	Median float64 `json:"median"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
}

// summarize takes the rounds as independent: they are tens of milliseconds apart. The ranks are
// the exact binomial ones; below 6 values nothing encloses the median at 95 % and the interval
// is all of them.
func summarize(xs []float64) (interval, error) {
	if len(xs) == 0 {
		return interval{}, measure.ErrNoSamples
	}
	s := slices.Sorted(slices.Values(xs))
	if math.IsNaN(s[0]) || math.IsInf(s[len(s)-1], 0) {
		return interval{}, fmt.Errorf("values %v: expected finite ones", xs)
	}
	n := len(s)
	k, p, outside := 0, math.Pow(0.5, float64(n)), 0.0 // p: the chance of k of n below the median
	for 2*(outside+p) <= 1-measure.Confidence {
		outside += p
		p *= float64(n-k) / float64(k+1)
		k++
	}
	k = max(k, 1)
	return interval{measure.Quantile(s, 0.5), s[k-1], s[n-k]}, nil
}

// ratios divides b by a round by round: neighbours on the machine move both.
func ratios(b, a []float64) ([]float64, error) {
	if len(a) != len(b) {
		return nil, fmt.Errorf("ratio of %d rounds to %d", len(b), len(a))
	}
	out := make([]float64, len(a))
	for i := range a {
		out[i] = b[i] / a[i]
	}
	return out, nil
}

// floors gives, round by round, the least time that the probes of the same round allow for a
// case: every one of its limits must hold, and of several probes of one limit the fastest
// counts. work is flop or bytes of the case.
func floors(probes []lane, rounds int) []float64 {
	out := make([]float64, rounds)
	for r := range out {
		best := map[string]float64{}
		for _, p := range probes {
			t := p.work / (p.probeWork / p.ns[r])
			if old, ok := best[p.limit]; !ok || t < old {
				best[p.limit] = t
			}
		}
		for _, t := range best {
			out[r] = math.Max(out[r], t)
		}
	}
	return out
}
