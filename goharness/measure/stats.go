package measure

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Confidence is the level of the intervals that ridge reports.
const Confidence = 0.95

// ErrNoSamples is returned when there is nothing to summarise.
var ErrNoSamples = errors.New("no samples: a summary needs at least one")

// Summary is the description of a series of values, in the values' unit.
type Summary struct {
	N              int
	Median         float64
	Lo, Hi         float64 // interval of the median, see Summarize
	Min, Max       float64
	Mean, Std, MAD float64 // Std divides by n−1 (0 for one value); MAD is the median of |x − median|, unscaled
	P90, P95, P99  float64 // see Quantile
	Lag1           float64 // bias-corrected lag-1 autocorrelation, clipped to [0, 0.99]
	EffectiveN     float64 // independent samples that carry the same information about the median
	Supported      bool    // whether EffectiveN is enough for an order-statistic interval at the level
	RelHalfWidth   float64 // (Hi − Lo) / 2 / |Median|
	Confidence     float64 // level that Lo and Hi were computed for
}

// Summarize describes the series xs, in the order it was taken, with an interval of its
// median at the given confidence (0 < confidence < 1).
//
// The interval is the exact binomial order-statistic interval for EffectiveN independent
// samples, its ranks scaled to the n there are. When EffectiveN supports no interval at
// that level (fewer than 6 at 95 %), Supported is false and the interval is the hull of
// [Min, Max] and Student's t interval for EffectiveN samples; it is cut at 0 when no value
// is negative, and a single value x gets x ± |x|, because nothing is known of its spread.
// NaN and infinite values are refused.
func Summarize(xs []float64, confidence float64) (Summary, error) {
	s, sorted, err := summarize(xs, confidence, effective)
	if err == nil {
		s.P90, s.P95, s.P99 = Quantile(sorted, 0.90), Quantile(sorted, 0.95), Quantile(sorted, 0.99)
		s.MAD = mad(sorted, s.Median)
	}
	return s, err
}

// SummarizeRatios is Summarize for ratios of paired samples that come in rounds, each with a level of its own, in the order they were
// taken: ρ₁ as estimated, since the pairs cancel most of what neighbours share, and the rounds show in the blocks of neighbours.
// MAD, P90, P95 and P99 are left out.
func SummarizeRatios(xs []float64, confidence float64) (Summary, error) {
	s, _, err := summarize(xs, confidence, effectiveRounds)
	return s, err
}

// summarize sets all but MAD and the upper percentiles, and gives the series in ascending order.
func summarize(xs []float64, confidence float64, effective func(xs []float64, a ascent) (lag1, neff float64)) (s Summary, sorted []float64, err error) {
	if len(xs) == 0 {
		return s, nil, ErrNoSamples
	}
	if !(confidence > 0 && confidence < 1) {
		return s, nil, fmt.Errorf("confidence %v: expected a value between 0 and 1", confidence)
	}
	for i, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return s, nil, fmt.Errorf("sample %d of %d is %v: expected a finite value", i, len(xs), x)
		}
	}
	a := ascend(xs)
	sorted = a.values
	n := len(sorted)
	s = Summary{N: n, Median: Quantile(sorted, 0.5), Min: sorted[0], Max: sorted[n-1], Confidence: confidence}
	s.Mean, s.Std = meanStd(xs)
	s.Lag1, s.EffectiveN = effective(xs, a)
	s.interval(sorted)
	return s, sorted, nil
}

// interval sets Lo, Hi, Supported and RelHalfWidth.
func (s *Summary) interval(sorted []float64) {
	n := len(sorted)
	m := int(s.EffectiveN + 1e-9)
	if k := medianRank(m, s.Confidence); k > 0 {
		// The k-th of m order statistics estimates the quantile k/(m+1); the same quantile
		// of n samples has rank k(n+1)/(m+1), rounded outwards.
		r := max(1, int(float64(k)*float64(n+1)/float64(m+1)+1e-9))
		s.Supported = true
		s.Lo, s.Hi = sorted[r-1], sorted[n-r]
	} else {
		half := math.Abs(s.Median)
		if n > 1 {
			half = studentHalf(s.Std, s.EffectiveN, s.Confidence)
		}
		s.Lo, s.Hi = math.Min(s.Min, s.Median-half), math.Max(s.Max, s.Median+half)
		if s.Min >= 0 {
			s.Lo = math.Max(0, s.Lo)
		}
	}
	if w := (s.Hi - s.Lo) / 2; w > 0 {
		s.RelHalfWidth = w / math.Abs(s.Median)
		if s.Median == 0 {
			s.RelHalfWidth = math.MaxFloat64
		}
	}
}

// Quantile of an ascending series: linear interpolation between the order statistics at
// position p(n−1) counted from 0 (type 7 of Hyndman and Fan 1996, NumPy's default).
func Quantile(sorted []float64, p float64) float64 {
	h := p * float64(len(sorted)-1)
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	lo, hi := sorted[i], sorted[i+1]
	if lo == hi {
		return lo
	}
	f := h - float64(i)
	return lo*(1-f) + hi*f
}

// Median of a series in any order; 0 for none.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	return Quantile(sorted, 0.5)
}

// meanStd divides by the largest magnitude, so that no square overflows, and counts from the
// first value, so that equal values have no spread at all.
func meanStd(xs []float64) (mean, std float64) {
	scale := 0.0
	for _, x := range xs {
		scale = larger(scale, x)
	}
	if scale == 0 {
		return 0, 0
	}
	n, first := float64(len(xs)), xs[0]/scale
	for _, x := range xs {
		mean += (x/scale - first) / n
	}
	if len(xs) > 1 {
		var ss float64
		for _, x := range xs {
			d := x/scale - first - mean
			ss += d * d
		}
		std = math.Sqrt(ss / (n - 1))
	}
	return (first + mean) * scale, std * scale
}

// larger of a magnitude and that of x. A NaN of x is found in what the scale is used for; math.Max, which looks for it here, takes as long as all else.
func larger(scale, x float64) float64 {
	if x = math.Abs(x); x > scale {
		return x
	}
	return scale
}

func mad(sorted []float64, median float64) float64 {
	d := make([]float64, len(sorted))
	for i, x := range sorted {
		d[i] = math.Abs(x - median)
	}
	return Median(d)
}

// medianRank is the largest rank k for which the k-th smallest and k-th largest of m
// independent samples enclose the median with at least the given confidence:
// 2·P(Bin(m, ½) ≤ k−1) ≤ 1 − confidence. 0 means that m samples are too few.
func medianRank(m int, confidence float64) int {
	if m < 1 {
		return 0
	}
	// Terms more than 12 standard deviations (√m/2 each) below the middle add less than 1e-30.
	i := max(0, m/2-int(6*math.Sqrt(float64(m))))
	all, _ := math.Lgamma(float64(m + 1))
	in, _ := math.Lgamma(float64(i + 1))
	out, _ := math.Lgamma(float64(m - i + 1))
	p := math.Exp(all - in - out - float64(m)*math.Ln2)
	// The relative slack keeps a probability that equals the limit, such as 2⁻ᵏ, on its right side.
	limit := (1 - confidence) / 2 * (1 + 1e-9)
	k := 0
	for sum := p; sum <= limit && i < m/2; sum += p {
		i++
		k = i
		p *= float64(m-i+1) / float64(i)
	}
	return k
}

// studentHalf is the half width of the t interval of a median for m effective samples with
// sample deviation std. The median's standard error is that of the mean times √(π/2) for
// normal noise, and the variance seen in a correlated series is short of the process's by the
// factor 1 − 1/m. m is rounded down, to at least two.
func studentHalf(std, m, confidence float64) float64 {
	nu := max(int(m+1e-9)-1, 1)
	return studentQuantile((1+confidence)/2, nu) * std * math.Sqrt(math.Pi/2/float64(nu))
}

// studentQuantile inverts Student's distribution with nu ≥ 1 degrees of freedom for ½ < p < 1,
// by bisection on the angle θ = atan(t/√nu).
func studentQuantile(p float64, nu int) float64 {
	lo, hi := 0.0, math.Pi/2
	for range 60 {
		if mid := (lo + hi) / 2; studentCentral(mid, nu) < 2*p-1 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Sqrt(float64(nu)) * math.Tan((lo+hi)/2)
}

// studentCentral is P(|T| ≤ √nu·tan θ) for nu degrees of freedom (Abramowitz and Stegun,
// 26.7.3 and 26.7.4).
func studentCentral(theta float64, nu int) float64 {
	sin, cos := math.Sincos(theta)
	term, sum := 1.0, 0.0
	first := 2 // even nu: 1 + ½cos² + (1·3)/(2·4)cos⁴ + …
	if nu%2 == 1 {
		first, term = 3, cos // odd nu: cos + ⅔cos³ + …
	}
	for i := first; i <= nu; i += 2 {
		sum += term
		term *= cos * cos * float64(i-1) / float64(i)
	}
	if nu%2 == 1 {
		return 2 / math.Pi * (theta + sin*sum)
	}
	return sin * sum
}
