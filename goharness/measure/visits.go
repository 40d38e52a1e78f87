package measure

import (
	"math"
	"slices"

	"ridge/goharness/record"
)

// Share of either arm's samples that count in a comparison of several visits: the fastest. What else runs on a host only adds to a time, and
// to those of the two arms by different factors. Over 358 comparisons run twice, a quarter of an hour apart on a shared host, half of the ratios
// differed by less than 0.7 % with a third, 0.95 % with the pseudo-median of the quieter half of the quartets, 1.2 % with the medians.
const fastShare = 1.0 / 3

// What is known of the level's change from visit to visit before two have shown it: its standard deviation, as found in those comparisons
// beyond the noise within visits, and how many visits that knowledge is worth. Buffers may lie on other pages each time.
const (
	betweenVisits = 0.005
	betweenWorth  = 2.0
)

// Degrees of freedom of the noise within visits, by simulation of the least: eight quartets.
const withinFreedom = 4

// Visits whose fast samples took so much longer than all's say nothing of the level: a neighbour slowed them from begin to end. Beside a single one that
// was not slowed they do: nothing else tells that its own level is not the exception. (A depthwise convolution's first visit found
// 1.54 and 1.56 in two runs, the six that followed 1.22 to 1.27, some of them slowed.)
const loudVisit = 0.06

// Times as wide as it is an interval of one visit has to be to hold what later visits find. On a shared Emerald Rapids host, of four runs' 694 comparisons that
// were visited again, the interval of the first visit held the ratio of the others (given its own error) in 92 of 100, twice as wide in 97.
const alone = 2

// AcrossVisits is the ratio with an interval that speaks of other visits too: of a single one twice as wide, about the value.
func AcrossVisits(r record.Ratio) record.Ratio {
	if len(r.Visits) < 2 && r.Value > 0 && r.CI95[0] > 0 {
		for i, end := range r.CI95 {
			r.CI95[i] = min(r.Value*math.Pow(end/r.Value, alone), math.MaxFloat64)
		}
	}
	return r
}

// armTimes are the times of a launch of either arm in one visit: samples 2i and 2i+1 are of quartet i.
type armTimes [2][]float64

func (v armTimes) quartets() int { return len(v[0]) / 2 }

// visitsSummary is what several visits say of a ratio.
type visitsSummary struct{ Value, Lo, Hi float64 }

// summarizeVisits estimates the ratio of the arms' undisturbed times: of the means of the fastest third of their samples. Both had as many,
// between each other's. What an arm's times vary by of themselves is taken for disturbance too: an arm that varies by a normal 5 %
// beside one that varies by 1 % looks 4 % faster than in the median (see reachQuartets).
//
// The variance is that of the delete-a-group jackknife over at most ten blocks of neighbouring quartets (Künsch 1989), or, where it is more, that of
// the visits' own ratios, moderated by what such visits differ by in general (Smyth 2004, with a fixed prior); the interval is Student's.
func summarizeVisits(visits []armTimes, confidence float64) visitsSummary {
	var all armTimes
	for _, v := range visits {
		all[0], all[1] = append(all[0], v[0]...), append(all[1], v[1]...)
	}
	value, within := jackknife(all)
	var levels, slowed []float64
	loud := all.level() + 2*math.Log1p(loudVisit)
	for _, v := range visits {
		switch {
		case v.quartets() < LeastQuartetsOfVisit:
		case v.level() <= loud:
			levels = append(levels, v.logRatio())
		default:
			slowed = append(slowed, v.logRatio())
		}
	}
	if len(levels) < 2 {
		levels = append(levels, slowed...)
	}
	n := math.Max(1, float64(len(levels)))
	seen := 0.0
	if len(levels) > 1 {
		seen = variance(levels)
	}
	expected := within*n + betweenVisits*betweenVisits
	between := (betweenWorth*expected + (n-1)*seen) / (betweenWorth + n - 1) / n
	half := studentQuantile((1+confidence)/2, int(betweenWorth+n-1)+withinFreedom) * math.Sqrt(math.Max(within, between))
	return visitsSummary{math.Exp(value), math.Exp(value - half), math.Min(math.Exp(value+half), math.MaxFloat64)}
}

// jackknife returns the logarithm of the ratio and its variance.
func jackknife(v armTimes) (value, variance float64) {
	const most = 10
	n := v.quartets()
	groups := min(n, most)
	value = v.logRatio()
	if groups < 2 {
		return value, math.Ln2 * math.Ln2 // of one ratio nothing is known
	}
	left := make([]float64, groups)
	for g := range left {
		from, to := 2*(g*n/groups), 2*((g+1)*n/groups)
		left[g] = armTimes{slices.Concat(v[0][:from], v[0][to:]), slices.Concat(v[1][:from], v[1][to:])}.logRatio()
	}
	mean, _ := meanStd(left)
	for _, x := range left {
		variance += (x - mean) * (x - mean)
	}
	return value, variance * float64(groups-1) / float64(groups)
}

func (v armTimes) logRatio() float64 { return math.Log(fastMean(v[0])) - math.Log(fastMean(v[1])) }

// level is the logarithm of the product of the arms' undisturbed times.
func (v armTimes) level() float64 { return math.Log(fastMean(v[0])) + math.Log(fastMean(v[1])) }

// fastMean is the mean of the fastest share of xs; the last of them may count in part.
func fastMean(xs []float64) float64 {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	left, sum := fastShare*float64(len(xs)), 0.0
	whole := left
	for _, x := range xs {
		part := math.Min(1, left)
		if part <= 0 {
			break
		}
		sum, left = sum+part*x, left-part
	}
	return sum / whole
}

// ratioOfVisits is the record of several visits; quartets are all of theirs, one visit after another. common: see Pool.
func ratioOfVisits(quartets []Quartet, times [2][]float64, visits []int, barriers []float64, common float64) (record.Ratio, error) {
	if err := checkQuartets(quartets); err != nil {
		return record.Ratio{}, err
	}
	r := record.Ratio{Visits: visits, BarrierNS: barriers}
	logs := make([]float64, len(quartets))
	for i, q := range quartets {
		r.Quartets, logs[i] = append(r.Quartets, q.Ratio()), math.Log(q.Ratio())
	}
	_, r.EffectiveN = effectiveRatios(logs, ascend(logs))
	parts, from := make([]armTimes, len(visits)), 0
	for i, n := range visits {
		parts[i] = armTimes{times[0][2*from : 2*(from+n)], times[1][2*from : 2*(from+n)]}
		from += n
	}
	counted := make([]int, len(visits))
	for i := range counted {
		counted[i] = i
	}
	s := summarizeVisits(parts, pooledLevel)
	if within := placed(barriers, common); len(within) > 0 && len(within) < len(visits) {
		var alone, others []armTimes
		n := 0
		for i, v := range parts {
			if slices.Contains(within, i) {
				alone, n = append(alone, v), n+v.quartets()
			} else {
				others = append(others, v)
			}
		}
		if n >= MinQuartets {
			a, o := summarizeVisits(alone, pooledLevel), summarizeVisits(others, pooledLevel)
			if len(within) > 1 || o.Value < a.Lo || o.Value > a.Hi {
				s, counted = a, within
			}
		}
	}
	r.Value, r.CI95, r.Counted = s.Value, [2]float64{s.Lo, s.Hi}, counted
	reachQuartets(&r)
	return r, nil
}

// reachQuartets widens the interval of the undisturbed times' ratio where that of all quartets that count, the quiet ones or not, lies wholly beyond it: to
// hold both. Then what an arm's times vary by is not what disturbs both (see summarizeVisits), and what is said of the ratio holds either way.
func reachQuartets(r *record.Ratio) {
	var logs []float64
	from := 0
	for i, n := range r.Visits {
		if slices.Contains(r.Counted, i) {
			for _, q := range r.Quartets[from : from+n] {
				logs = append(logs, math.Log(q))
			}
		}
		from += n
	}
	value, lo, hi, ok := SignedRank(logs, pooledLevel)
	_, effective := effectiveRatios(logs, ascend(logs))
	wider := math.Sqrt(float64(len(logs)) / effective)
	lo, hi = math.Exp(value-(value-lo)*wider), math.Exp(value+(hi-value)*wider)
	if ok && (lo > r.CI95[1] || hi < r.CI95[0]) {
		r.CI95 = [2]float64{math.Min(r.CI95[0], lo), math.Max(r.CI95[1], hi)}
	}
}
