package fusion

import (
	"fmt"

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

// recommend sums up the shapes of a pattern, in the order of their sizes.
//
//	fuse             some shape gains 1.1 or more, and no measured shape can be slower: all intervals begin at 0.95 or above
//	do_not_fuse      no shape gains 1.1: all intervals end below it
//	depends_on_size  gains on one side of a size, losses on the other: one crossing
//	inconclusive     anything else
func recommend(shapes []sized, quick bool) record.Recommendation {
	var n [4]int
	risky := 0 // shapes that may be slower
	for _, s := range shapes {
		n[answerOf(s.FusionShape)]++
		if s.Status.Counts() && (s.SpeedupCI95[0] < 0.95 || s.Trials < measure.MinQuartets) {
			risky++
		}
	}
	counted := fmt.Sprintf("of %d shapes %d gain 1.1 or more, %d less, %d are slower, %d are inconclusive", len(shapes), n[gain], n[none], n[loss], n[open])
	r := record.Recommendation{Verdict: measure.Inconclusive, Reason: counted}
	switch {
	case n[gain] > 0 && risky == 0:
		r.Verdict = Fuse
	case n[gain] == 0 && n[open] == 0 && len(shapes) > 0:
		r.Verdict = DoNotFuse
	case n[gain] > 0 && n[loss] > 0 && quick:
		r.Reason += "; a quick run looks for no crossover"
	case n[gain] > 0 && n[loss] == 0:
		r.Reason += fmt.Sprintf("; %d may be slower", risky)
	case n[gain] > 0 && n[loss] > 0:
		if c := crossover(shapes); c != nil {
			r.Verdict, r.Crossover = Depends, c
		} else {
			r.Reason += "; gains and losses do not change over at one size"
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
		return &record.Crossover{Parameter: shapes[0].name, Between: [2]int64{losses[1], gains[0]}, FuseAbove: true}
	case gains[1] < losses[0]:
		return &record.Crossover{Parameter: shapes[0].name, Between: [2]int64{gains[1], losses[0]}}
	}
	return nil
}
