package ceiling

import (
	"math"
	"sort"
)

// Point of a sweep: working set in bytes and the figure there (bandwidth or latency).
type Point struct {
	Bytes int64
	Value float64
}

// Plateau is a stretch of a sweep over which the figure stays about the same.
type Plateau struct {
	From, To int64   // working sets in bytes, inclusive
	Value    float64 // median over the stretch
	Points   int
}

// Plateaus splits a sweep over working-set sizes into stretches of nearly constant figure:
// neighbours belong together while they differ by less than tol (0.15 = 15 %) and the stretch
// as a whole by less than 2·tol. Stretches of one point between two plateaus are the slopes
// between levels and are left out.
func Plateaus(points []Point, tol float64) []Plateau {
	ps := append([]Point(nil), points...)
	sort.Slice(ps, func(i, j int) bool { return ps[i].Bytes < ps[j].Bytes })
	var out []Plateau
	for i := 0; i < len(ps); {
		lo, hi := ps[i].Value, ps[i].Value
		j := i + 1
		for ; j < len(ps); j++ {
			v := ps[j].Value
			if differ(v, ps[j-1].Value) > tol || differ(math.Min(lo, v), math.Max(hi, v)) > 2*tol {
				break
			}
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
		if j-i >= 2 || i == 0 || j == len(ps) {
			var vs []float64
			for _, p := range ps[i:j] {
				vs = append(vs, p.Value)
			}
			sort.Float64s(vs)
			out = append(out, Plateau{ps[i].Bytes, ps[j-1].Bytes, vs[len(vs)/2], j - i})
		}
		i = j
	}
	return out
}

func differ(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / math.Max(math.Abs(a), math.Abs(b))
}
