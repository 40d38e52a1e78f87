package measure

import (
	"math"
	"slices"

	"ridge/goharness/record"
)

// Undisturbed gives the times in ns of the two arms of a comparison that its ratio is formed of: of several visits the means of the fastest third of
// the samples of those that count; of one the medians of the quiet quartets' samples, both moved alike so that their quotient is the ratio, which is a
// pseudo-median. Where the samples were not kept it moves the medians.
func Undisturbed(r record.Ratio, times [2]record.Time) (unfused, fused float64) {
	var level [2]float64
	for arm, t := range times {
		level[arm] = t.MedianNS
		if len(t.SamplesNS) != 2*len(r.Quartets) {
			continue
		}
		if kept := countedSamples(r, t.SamplesNS); len(kept) > 0 {
			if len(r.Visits) > 0 {
				level[arm] = fastMean(kept)
			} else {
				level[arm] = Median(kept)
			}
		}
	}
	if !(r.Value > 0) {
		return level[0], level[1]
	}
	both := math.Sqrt(level[0]) * math.Sqrt(level[1])
	return both * math.Sqrt(r.Value), both / math.Sqrt(r.Value)
}

// countedSamples are those of the quartets that count.
func countedSamples(r record.Ratio, samples []float64) (out []float64) {
	from := 0
	for i, n := range r.Visits {
		if n < 0 || 2*(from+n) > len(samples) {
			return nil // a document of another's making
		}
		if len(r.Counted) == 0 || slices.Contains(r.Counted, i) {
			out = append(out, samples[2*from:2*(from+n)]...)
		}
		from += n
	}
	if len(r.Visits) > 0 {
		return out
	}
	for _, q := range r.Quiet {
		if q < 0 || 2*q+1 >= len(samples) {
			return nil
		}
		out = append(out, samples[2*q], samples[2*q+1])
	}
	if len(r.Quiet) == 0 {
		out = slices.Clone(samples)
	}
	return out
}
