package measure

import (
	"math"
	"slices"

	"ridge/goharness/record"
)

// ArmTimes gives the times in ns of the two arms of a result's comparison (see Undisturbed); false where it has none.
func ArmTimes(r *record.Result) (times [2]float64, ok bool) {
	if r.Ratio == nil || len(r.Arms) != 2 || r.Arms[0].Time == nil || r.Arms[1].Time == nil || !r.Status.Counts() {
		return times, false
	}
	times[0], times[1] = Undisturbed(*r.Ratio, [2]record.Time{*r.Arms[0].Time, *r.Arms[1].Time})
	return times, true
}

// Undisturbed gives the times in ns of the two arms of a comparison that its ratio is formed of: of several visits the means of the fastest third of
// the samples of those that count; of one the medians of the quiet quartets' samples. Both are moved alike so that their quotient is the ratio, which of one visit is a
// pseudo-median, and then together so that neither lies beyond the samples: no time is given that nothing took. Where the samples were not kept it moves the medians.
func Undisturbed(r record.Ratio, times [2]record.Time) (unfused, fused float64) {
	var level [2]float64
	least, most := 0.0, math.Inf(1) // of the geometric mean of both times
	root := math.Sqrt(r.Value)
	mean := [2]float64{1 / root, root} // over an arm's time
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
			least, most = math.Max(least, slices.Min(kept)*mean[arm]), math.Min(most, slices.Max(kept)*mean[arm])
		}
	}
	if !(r.Value > 0) || math.Abs(level[0]/level[1]/r.Value-1) < 1e-12 { // a profile's are of their ratio already
		return level[0], level[1]
	}
	both := math.Sqrt(level[0]) * math.Sqrt(level[1])
	if least <= most { // as they are where the ratio is that of these samples
		both = math.Min(math.Max(both, least), most)
	}
	return both * root, both / root
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
