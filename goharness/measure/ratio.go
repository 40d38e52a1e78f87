package measure

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// Quartet is one quartet A B B A: the time of one launch of either arm, summed over its two samples.
type Quartet struct{ A, B float64 }

// Ratio of the quartet: above 1 arm b is faster.
func (q Quartet) Ratio() float64 { return q.A / q.B }

// RatioSummary is what quartets say of the ratio of the two arms.
type RatioSummary struct {
	Value      float64
	Lo, Hi     float64
	Quiet      []int   // indices of the quartets that count, ascending
	EffectiveN float64 // independent ones among them
	Supported  bool    // whether they are enough for an interval at the level
}

// SummarizeQuartets estimates the ratio with an interval at the given confidence (0 < confidence < 1).
//
// Half of the quartets count, at least MinQuartets: those with the least product A·B, in which both arms together were
// disturbed least. What a neighbour on the host slows, it slows by factors that differ between programs and for seconds on end:
// the medians of all quartets of one comparison differed by up to 30 % from run to run. The choice cannot
// favour an arm: the product does not change when the two are exchanged, so of two identical programs the ratio stays as
// often above 1 as below.
//
// The value is the pseudo-median of the logarithms of the ratios, the median of the means of all pairs (Hodges and Lehmann 1963), its interval
// the one of Wilcoxon's signed-rank test: at eight quartets as wide as that of the plain median, at more a quarter narrower. It is
// widened by √(n/n_eff) when neighbours are correlated (see effectiveRatios); where n_eff supports no interval at that level,
// it is the hull of all and of Student's interval. Times that are not finite and above 0 are refused.
func SummarizeQuartets(qs []Quartet, confidence float64) (RatioSummary, error) {
	if len(qs) == 0 {
		return RatioSummary{}, ErrNoSamples
	}
	if !(confidence > 0 && confidence < 1) {
		return RatioSummary{}, fmt.Errorf("confidence %v: expected a value between 0 and 1", confidence)
	}
	if err := checkQuartets(qs); err != nil {
		return RatioSummary{}, err
	}
	s := RatioSummary{Quiet: quiet(qs)}
	n := len(s.Quiet)
	logs := make([]float64, n)
	for i, j := range s.Quiet {
		logs[i] = math.Log(qs[j].Ratio())
	}
	a := ascend(logs)
	sorted := a.values
	_, s.EffectiveN = effectiveRatios(logs, a)
	walsh := pairMeans(sorted)
	value := Quantile(walsh, 0.5)
	lo, hi := value, value
	if k := signedRank(int(s.EffectiveN+1e-9), confidence); k > 0 {
		s.Supported = true
		k = signedRank(n, confidence)
		wider := math.Sqrt(float64(n) / s.EffectiveN)
		lo, hi = value-(value-walsh[k-1])*wider, value+(walsh[len(walsh)-k]-value)*wider
	} else {
		half := math.Ln2 // of one ratio nothing is known
		if n > 1 {
			_, std := meanStd(logs)
			half = correlatedHalf(std, float64(n), s.EffectiveN, confidence)
		}
		lo, hi = math.Min(sorted[0], value-half), math.Max(sorted[n-1], value+half)
	}
	// Equal times must give their ratio, not what a logarithm and its inverse leave of it.
	s.Value, s.Lo, s.Hi = math.Exp(value), math.Exp(lo), math.Min(math.Exp(hi), math.MaxFloat64)
	if sorted[0] == sorted[n-1] && s.Supported {
		s.Value = qs[s.Quiet[0]].Ratio()
		s.Lo, s.Hi = s.Value, s.Value
	}
	return s, nil
}

// checkQuartets refuses times that are not finite and above 0.
func checkQuartets(qs []Quartet) error {
	for i, q := range qs {
		if !(q.A > 0 && q.B > 0) || math.IsInf(q.A, 0) || math.IsInf(q.B, 0) {
			return fmt.Errorf("quartet %d of %d took %v and %v ns: expected finite times above 0", i, len(qs), q.A, q.B)
		}
	}
	return nil
}

// correlatedHalf is the half width of the t interval of the centre of n values of standard deviation std that are worth m independent ones, as
// those of a first-order process with f = m/n = (1−ρ)/(1+ρ) are. Their variance is larger than std² by (n−1)/(n−1/f), for neighbours are alike, and
// known as well as that of n·(1−ρ²)/(1+ρ²) independent values (Bayley and Hammersley 1946), which are more than m: at m of 2 of
// 8 values, 3 degrees of freedom instead of 1.
func correlatedHalf(std, n, m, confidence float64) float64 {
	f := m / n
	rho := (1 - f) / (1 + f)
	dof := n*(1-rho*rho)/(1+rho*rho) - 1
	std *= math.Sqrt((n - 1) / math.Max(1, n-1/f))
	return studentQuantile((1+confidence)/2, max(1, int(dof))) * std * math.Sqrt(math.Pi/2/m)
}

// quiet picks the half of the quartets with the least product of times, at least MinQuartets.
func quiet(qs []Quartet) []int {
	order := make([]int, len(qs))
	for i := range order {
		order[i] = i
	}
	keep := min(len(qs), max(MinQuartets, (len(qs)+1)/2))
	slices.SortStableFunc(order, func(i, j int) int {
		switch a, b := math.Log(qs[i].A)+math.Log(qs[i].B), math.Log(qs[j].A)+math.Log(qs[j].B); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	order = order[:keep]
	slices.Sort(order)
	return order
}

// pairMeans are the n(n+1)/2 means of all pairs of xs, each with itself too (Walsh averages), ascending.
func pairMeans(xs []float64) []float64 {
	out := make([]float64, 0, len(xs)*(len(xs)+1)/2)
	for i, a := range xs {
		for _, b := range xs[i:] {
			out = append(out, a/2+b/2)
		}
	}
	slices.Sort(out)
	return out
}

// exactRank is the count up to which the distribution of the signed-rank sum is added up; beyond it is normal.
const exactRank = 50

var signedRanks sync.Map // [2]float64{n, confidence} to rank

// signedRank is the largest rank k for which the k-th smallest and the k-th largest mean of pairs of n independent, symmetric values
// enclose their centre with at least the given confidence: 2·P(W ≤ k−1) ≤ 1 − confidence, W the sum of the ranks of
// positive values (Wilcoxon 1945). 0 means that n values are too few.
func signedRank(n int, confidence float64) int {
	if n < 1 {
		return 0
	}
	limit := (1 - confidence) / 2 * (1 + 1e-9)
	if n > exactRank {
		mean, dev := float64(n)*float64(n+1)/4, math.Sqrt(float64(n)*float64(n+1)*float64(2*n+1)/24)
		z := math.Sqrt2 * math.Erfinv(2*limit-1)
		return max(0, int(math.Floor(mean+z*dev-0.5))+1)
	}
	key := [2]float64{float64(n), confidence}
	if k, ok := signedRanks.Load(key); ok {
		return k.(int)
	}
	sums := n * (n + 1) / 2
	p := make([]float64, sums+1) // of each sum, over the 2ⁿ signs
	p[0] = math.Exp2(-float64(n))
	for i := 1; i <= n; i++ {
		for w := sums; w >= i; w-- {
			p[w] += p[w-i]
		}
	}
	k := 0
	for sum := p[0]; sum <= limit && k < sums/2; sum += p[k] {
		k++
	}
	signedRanks.Store(key, k)
	return k
}
