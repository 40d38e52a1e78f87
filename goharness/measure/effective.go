package measure

import "math"

const (
	// maxLag1 keeps (1−ρ)/(1+ρ) away from 0.
	maxLag1 = 0.99
	// leastForLag1 is the least number of values whose autocorrelation is estimated.
	leastForLag1 = 5
	// minBlocks is the least number of blocks from which an autocorrelation of block means
	// is estimated.
	minBlocks = 10
)

// effective returns the lag-1 autocorrelation of xs (bias-corrected) and the effective
// sample count for its median. Fewer than five values say nothing of their correlation: they
// get 0 and n.
//
// The base is n·(1−ρ)/(1+ρ), taken with ρ one standard error above its estimate, because an
// underestimated ρ makes the interval too narrow and an overestimated one only costs samples.
// It is applied to the values and to their ranks (a few huge outliers hide the correlation
// of the rest from the former), and again to the ranks averaged over blocks of 2, 4, 8, …
// neighbours: noise that is a sum of a fast and a slow part has a small ρ₁ and yet few
// independent samples. The least count is returned.
func effective(xs []float64, a ascent) (lag1, neff float64) {
	return effectiveWith(upperLag1, 0, xs, a)
}

// effectiveRatios is effective for the logarithms of the quartets' ratios. Quartets cancel what neighbours share: on a shared host their
// lag-1 autocorrelation was 0.03 on average over 80 comparisons, while the error of its estimate from eight is 0.35 and would
// cost them half of their count. So only what lies a standard error above nothing is believed. The self-test holds the
// coverage at 8, 16 and 32 quartets.
func effectiveRatios(xs []float64, a ascent) (lag1, neff float64) {
	lower := func(rho, n float64) float64 { return math.Max(0, rho-math.Sqrt(n)/(n-3)) } // the correction multiplies the error by n/(n−3)
	return effectiveWith(lower, 1, xs, a)
}

// effectiveRounds is effective with ρ as estimated.
func effectiveRounds(xs []float64, a ascent) (lag1, neff float64) {
	return effectiveWith(func(rho, _ float64) float64 { return rho }, 0, xs, a)
}

// effectiveWith takes each ρ through bound, and block variances less so many of their standard errors √(2/m).
func effectiveWith(bound func(rho, n float64) float64, errs float64, xs []float64, a ascent) (lag1, neff float64) {
	n := float64(len(xs))
	if len(xs) < leastForLag1 {
		return 0, n
	}
	ranks := a.midRanks()
	middle, std := meanStd(ranks)
	total := std * std
	if total == 0 { // all values are equal: there is no noise to be correlated
		return 0, n
	}
	mean, _ := meanStd(xs)
	lag1 = correctedLag1(xs, mean)
	neff = math.Min(n*shrink(bound(lag1, n)), n*shrink(bound(correctedLag1(ranks, middle), n)))
	for block := halve(ranks, ranks); len(block) >= minBlocks; block = halve(block, block) {
		// The mean of all ranks has variance v/blocks/shrink(ρ); independent ones total/m.
		m := float64(len(block))
		mean, std := meanStd(block)
		rho := correctedLag1(block, mean)
		if errs > 0 {
			rho = bound(rho, m)
		}
		if v := std * std / (1 + errs*math.Sqrt(2/m)); v > 0 {
			neff = math.Min(neff, total/v*m*shrink(rho))
		}
	}
	return lag1, math.Max(neff, 1)
}

// shrink is the share of independent samples in a series of lag-1 autocorrelation rho.
func shrink(rho float64) float64 { return (1 - rho) / (1 + rho) }

// upperLag1 is rho plus its standard error √((1−ρ²)/n) (Bartlett 1946, first-order process).
func upperLag1(rho, n float64) float64 {
	return math.Min(rho+math.Sqrt((1-rho*rho)/n), maxLag1)
}

// correctedLag1 is the lag-1 autocorrelation of values of that mean, corrected for its small-sample bias
// E[r] ≈ ρ − (1+3ρ)/n (Marriott and Pope 1954), clipped to [0, maxLag1].
func correctedLag1(xs []float64, mean float64) float64 {
	n := float64(len(xs))
	var num, den float64
	scale := 0.0
	for _, x := range xs {
		scale = larger(scale, x-mean)
	}
	if scale == 0 || n < leastForLag1 {
		return 0
	}
	before := 0.0 // nothing comes before the first
	for _, x := range xs {
		x -= mean
		d := x / scale
		den += d * d
		num += d * before / scale
		before = x
	}
	r := (n*num/den + 1) / (n - 3)
	return math.Min(math.Max(r, 0), maxLag1)
}

// halve averages neighbours into to, which may be xs; an odd first value is left out.
func halve(xs, to []float64) []float64 {
	xs = xs[len(xs)%2:]
	to = to[:len(xs)/2]
	for i := range to {
		to[i] = (xs[2*i] + xs[2*i+1]) / 2
	}
	return to
}

func variance(xs []float64) float64 {
	_, s := meanStd(xs)
	return s * s
}
