package op

import "math"

// softRow is the softmax of one query: for each visible key its score, its weight and what bounds the error of the exponential's argument in
// units of roundoff: scale·Σ|q||k| of the sum, and |s| + top − s of scaling it to base 2 and subtracting the maximum. drift is the
// weights' mean of that.
type softRow struct {
	score, weight, scoreMag []float64
	drift                   float64
}

func (r *softRow) floats() int { return 3 * len(r.weight) }

// newSoftRow has the magnitudes of the scores themselves; nil: they are given.
func newSoftRow(score, mag []float64) *softRow {
	if mag == nil {
		mag = make([]float64, len(score))
	}
	r := &softRow{score: score, weight: make([]float64, len(score)), scoreMag: mag}
	top := math.Inf(-1)
	for _, s := range score {
		top = math.Max(top, s)
	}
	for j, s := range score {
		mag[j] += math.Abs(s) + top - s
	}
	var sum float64
	for j, s := range score {
		r.weight[j] = math.Exp(s - top)
		sum += r.weight[j]
	}
	for j := range r.weight {
		r.weight[j] /= sum
		r.drift += r.weight[j] * mag[j]
	}
	return r
}

// productRow is the row of the query at q0 of input 0 with n keys from k0 of input 1.
func productRow(in *Inputs, q0, k0, n, dim int64, scale float64) *softRow {
	q, k := make([]float64, dim), make([]float64, dim)
	in.Span(0, q0, 1, q)
	score, mag := make([]float64, n), make([]float64, n)
	for j := range score {
		in.Span(1, k0+int64(j)*dim, 1, k)
		var d dot
		d.add(q, k)
		score[j], mag[j] = d.sum*scale, d.mag*scale
	}
	return newSoftRow(score, mag)
}

// weighted is Σ w·v with its errors; see Attention.Expect.
func weighted(r *softRow, v func(j int64) float64) Expectation {
	vals := make([]float64, len(r.weight))
	var o, mag, rounded float64
	for j, w := range r.weight {
		vals[j] = v(int64(j))
		o += w * vals[j]
		mag += w * math.Abs(vals[j])
	}
	mag *= math.Sqrt(float64(len(vals)))
	for j, w := range r.weight {
		mag += w * math.Abs(vals[j]-o) * (1 + r.scoreMag[j])
		rounded += w * (vals[j] - o) * w * (vals[j] - o)
	}
	return Expectation{Value: o, Magnitude: mag, Rounded: math.Sqrt(rounded)}
}

// A score s that is rounded n times, each relatively by u at most, is off by δ, |δ| ≤ |s|·((1+u)ⁿ − 1). With weights
// w·e^δ/Σ w·e^δ instead of w:
//
//	o' − o = Σ w·e^δ·(v − o) / Σ w·e^δ = Σ w·(e^δ − 1)·(v − o) / Σ w·e^δ,  as Σ w·(v − o) = 0
//
// so |o' − o| ≤ Σ w·(e^|δ| − 1)·|v − o| / Σ w·e^−|δ|. Weights that are stored as well are off by u each, which adds at most
// u·Σ w'·|v| with w' ≤ w·e^|δ| / Σ w·e^−|δ|. The output's own rounding sees the deviation, too: the factor 1 + u.

func (r *softRow) delta(j int, u float64, roundings int) float64 {
	return math.Abs(r.score[j]) * (math.Pow(1+u, float64(roundings)) - 1)
}

// storedSum bounds what stored scores and stored weights do to Σ w·v.
func (r *softRow) storedSum(u float64, roundings int, v func(j int64) float64) float64 {
	var o, least, moved, stored float64
	vals := make([]float64, len(r.weight))
	for j, w := range r.weight {
		vals[j] = v(int64(j))
		o += w * vals[j]
		least += w * math.Exp(-r.delta(j, u, roundings))
	}
	if least == 0 { // no key is seen
		return 0
	}
	for j, w := range r.weight {
		d := r.delta(j, u, roundings)
		moved += w * math.Expm1(d) * math.Abs(vals[j]-o)
		stored += w * math.Exp(d) * math.Abs(vals[j])
	}
	return (1 + u) * (moved + u*stored) / least
}

// storedWeight bounds what stored scores do to weight i: it is largest when its own score is off by +|δ| and all others
// by −|δ|, smallest the other way round.
func (r *softRow) storedWeight(u float64, roundings int, i int64) float64 {
	if i >= int64(len(r.weight)) {
		return 0
	}
	var up, down float64
	for j, w := range r.weight {
		d := r.delta(j, u, roundings)
		if int64(j) == i {
			d = -d
		}
		up += w * math.Exp(-d)
		down += w * math.Exp(d)
	}
	w, e := r.weight[i], math.Exp(r.delta(int(i), u, roundings))
	return (1 + u) * math.Max(w*e/up-w, w-w/e/down)
}
