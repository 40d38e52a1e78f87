package compare

import (
	"cmp"
	"math"
	"slices"

	"ridge/goharness/measure"
)

// test is the effect of a case with its standard error and degrees of freedom.
type test struct{ x, se, dof float64 }

// add the variances of two runs, with Welch and Satterthwaite's degrees of freedom.
func add(a, b spread) spread {
	va, vb := a.se*a.se, b.se*b.se
	return spread{math.Sqrt(va + vb), (va + vb) * (va + vb) / (va*va/a.dof + vb*vb/b.dof)}
}

// combine the variance within two runs with that of the drift between them.
func combine(x float64, within spread, d Drift) test {
	s := add(within, spread{math.Sqrt2 * d.PerRun, math.Max(float64(d.DoF), 1)})
	return test{x, s.se, s.dof}
}

// half is the interval's half width at a level.
func (t test) half(level float64) float64 {
	return t.se * measure.StudentQuantile((1+level)/2, int(t.dof))
}

// p of the hypothesis that the effect is not beyond the edge.
func (t test) p(edge float64) float64 {
	over := math.Abs(t.x) - edge
	if over <= 0 {
		return 1
	}
	return measure.StudentTails(over/t.se, int(t.dof))
}

// holm gives each test the level of its interval.
func holm(tests []test, edge, alpha float64) []float64 {
	ps := make([]float64, len(tests))
	for i, t := range tests {
		ps[i] = t.p(edge)
	}
	return holmLevels(ps, alpha)
}

// holmLevels gives the levels of intervals so that with probability 1 − alpha no case that did
// not change beyond the edge is called (Holm 1979, step down). Those after the first that is
// not called share its level.
func holmLevels(ps []float64, alpha float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	levels := make([]float64, len(ps))
	left, open := len(ps), true
	for _, at := range order {
		share := alpha / float64(left)
		levels[at] = 1 - share
		if open = open && ps[at] <= share; open && left > 1 {
			left--
		}
	}
	return levels
}
