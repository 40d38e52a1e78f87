package fusion

import (
	"fmt"
	"math"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// Verdicts on one shape (REFERENCE 1.3) and what a pattern's shapes amount to.
const (
	Strong      = "strong"
	Moderate    = "moderate"
	Minimal     = "minimal"
	Slower      = "slower"
	NotMeasured = "not measured"

	Fuse      = "fuse"
	DoNotFuse = "do_not_fuse"
	Depends   = "depends_on_size"
)

// cuts are the speed-ups at which verdicts begin.
var cuts = []measure.Cut{{From: 1.5, Class: Strong}, {From: 1.1, Class: Moderate}, {From: 0.95, Class: Minimal}}

// Cuts are the speed-ups at which verdicts change: a comparison ends when its interval clears them.
func Cuts() []float64 {
	var out []float64
	for _, c := range cuts {
		out = append(out, c.From)
	}
	return out
}

// Decide is the verdict on a speed-up: given only where the whole interval lies in one class.
func Decide(r record.Ratio) measure.Verdict { return measure.Decide(r, cuts, Slower) }

// answer is what a shape says about fusing.
type answer int

const (
	open answer = iota // the interval holds 1.1, or nothing was measured
	gain               // all of the interval at 1.1 or above
	none               // all of it below 1.1, not below 0.95
	loss               // all of it below 0.95
)

func answerOf(s record.FusionShape) answer {
	lo, hi := s.SpeedupCI95[0], s.SpeedupCI95[1]
	switch {
	case !s.Status.Counts() || s.Trials < measure.MinQuartets:
		return open
	case lo >= 1.1:
		return gain
	case hi < 0.95:
		return loss
	case hi < 1.1:
		return none
	}
	return open
}

// sized is a shape with its place in the sweep.
type sized struct {
	record.FusionShape
	name string
	size int64
}

// quorum is the share of a pattern's shapes whose intervals must tell. What noise leaves open of the others then changes no recommendation: of 40 patterns
// measured twice on a shared host, and twice again, 6 and 7 went to or from inconclusive when one open interval was enough, 1 and 3 since.
const quorum = 0.75

// recommend sums up the shapes of a pattern, in the order of their sizes. No shape may speak against it, and three in four must speak for it; of the rest,
// whose intervals reach over a cut, the values must lie on its side.
//
//	fuse             some shape gains 1.1 or more; none is slower: no value below 0.95, of three in four no interval either
//	do_not_fuse      no shape gains 1.1: no value reaches it, of three in four no interval either
//	depends_on_size  gains on one side of a size, losses on the other: one crossing; no value below 0.95 where to fuse, none from 1.1 on where not to
//	inconclusive     anything else
func recommend(shapes []sized, quick bool) record.Recommendation {
	var n [4]int
	safe, slow, fast, unsure := 0, 0, 0, 0 // intervals from 0.95 on; values below it; values from 1.1 on whose intervals are not; intervals that reach below 0.95
	for _, s := range shapes {
		a := answerOf(s.FusionShape)
		n[a]++
		if !s.Status.Counts() {
			continue
		}
		if s.SpeedupCI95[0] >= 0.95 && s.Trials >= measure.MinQuartets {
			safe++
		} else {
			unsure++
		}
		if s.Speedup < 0.95 {
			slow++
		}
		if a != gain && s.Speedup >= 1.1 {
			fast++
		}
	}
	enough := func(k int) bool { return len(shapes) > 0 && float64(k) >= quorum*float64(len(shapes)) }
	counted := fmt.Sprintf("of %d shapes %d gain 1.1 or more, %d less, %d are slower, %d are inconclusive", len(shapes), n[gain], n[none], n[loss], n[open])
	r := record.Recommendation{Verdict: measure.Inconclusive, Reason: counted}
	switch {
	case n[gain] > 0 && n[loss] == 0 && slow == 0 && enough(safe):
		r.Verdict = Fuse
	case n[gain] == 0 && fast == 0 && enough(n[none]+n[loss]):
		r.Verdict = DoNotFuse
	case n[gain] > 0 && n[loss] > 0 && quick:
		r.Reason += "; a quick run looks for no crossover"
	case n[gain] > 0 && n[loss] == 0 && unsure > 0:
		r.Reason += fmt.Sprintf("; %d may be slower", unsure)
	case n[gain] > 0 && n[loss] > 0:
		switch c := crossover(shapes); {
		case c == nil:
			r.Reason += "; gains and losses do not change over at one size"
		case !enough(len(shapes) - n[open]):
			r.Reason += "; too few tell on which side of the crossover they are"
		case contradicted(*c, shapes):
			r.Reason += "; a value speaks against the crossover, though its interval does not"
		default:
			r.Verdict, r.Crossover = Depends, c
		}
	}
	return r
}

// crossover finds the one size at which shapes go over from losing to gaining or back; nil when they
// mix. Shapes between without an answer widen the bracket.
func crossover(shapes []sized) *record.Crossover {
	var gains, losses [2]int64 // smallest and largest size
	first := map[answer]bool{}
	for _, s := range shapes {
		var to *[2]int64
		a := answerOf(s.FusionShape)
		switch a {
		case gain:
			to = &gains
		case loss:
			to = &losses
		default:
			continue
		}
		if !first[a] {
			*to = [2]int64{s.size, s.size}
			first[a] = true
		}
		to[0], to[1] = min(to[0], s.size), max(to[1], s.size)
	}
	switch {
	case losses[1] < gains[0]:
		return &record.Crossover{Parameter: shapes[0].name, Between: [2]int64{losses[1], gains[0]}, FuseAbove: true, Value: even(shapes, losses[1], gains[0])}
	case gains[1] < losses[0]:
		return &record.Crossover{Parameter: shapes[0].name, Between: [2]int64{gains[1], losses[0]}, Value: even(shapes, losses[0], gains[1])}
	}
	return nil
}

// contradicted reports whether a value lies below 0.95 among the sizes to fuse at or reaches 1.1 among the others.
func contradicted(c record.Crossover, shapes []sized) bool {
	for _, s := range shapes {
		if !s.Status.Counts() {
			continue
		}
		low, high := s.size <= c.Between[0], s.size >= c.Between[1]
		if !c.FuseAbove {
			low, high = high, low
		}
		if high && s.Speedup < 0.95 || low && s.Speedup >= 1.1 {
			return true
		}
	}
	return false
}

// even is the size between a loss and a gain where the speed-up is about 1, on the line between them in logarithms.
func even(shapes []sized, from, to int64) float64 {
	at := func(size int64, want answer) float64 {
		for _, s := range shapes {
			if s.size == size && answerOf(s.FusionShape) == want {
				return math.Log(s.Speedup)
			}
		}
		return math.NaN()
	}
	low, high := at(from, loss), at(to, gain)
	a, b := math.Log(float64(from)), math.Log(float64(to))
	return math.Exp(a - low/(high-low)*(b-a))
}
