package measure

import (
	"math"
	"slices"
)

// SignedRank gives the pseudo-median of independent values that lie symmetrically about their centre (Hodges and Lehmann 1963) and the
// interval of Wilcoxon's signed-rank test, which is exact whatever their distribution is. false: the values are too few for
// an interval at the confidence (six for 95 %); lo and hi are their hull then.
func SignedRank(xs []float64, confidence float64) (value, lo, hi float64, ok bool) {
	if len(xs) == 0 {
		return 0, math.Inf(-1), math.Inf(1), false
	}
	means := pairMeans(xs)
	value = Quantile(means, 0.5)
	if k := signedRank(len(xs), confidence); k > 0 {
		return value, means[k-1], means[len(means)-k], true
	}
	return value, slices.Min(xs), slices.Max(xs), false
}
