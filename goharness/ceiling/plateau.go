package ceiling

import (
	"fmt"
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
// between levels and are left out. Neighbouring stretches whose medians differ by less than
// 2·tol are one plateau that a disturbed point had split.
func Plateaus(points []Point, tol float64) []Plateau {
	ps := append([]Point(nil), points...)
	sort.Slice(ps, func(i, j int) bool { return ps[i].Bytes < ps[j].Bytes })
	var runs [][]Point
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
			last := len(runs) - 1
			if last >= 0 && differ(median(runs[last]), median(ps[i:j])) < 2*tol {
				runs[last] = append(runs[last], ps[i:j]...)
			} else {
				runs = append(runs, append([]Point(nil), ps[i:j]...))
			}
		}
		i = j
	}
	var out []Plateau
	for _, r := range runs {
		out = append(out, Plateau{r[0].Bytes, r[len(r)-1].Bytes, median(r), len(r)})
	}
	return out
}

// Match names for each plateau of a latency sweep the level of memory that it shows: the one
// whose range of working sets (from what the level inside holds to what it holds itself)
// covers most of the plateau's octaves. The last plateau is DRAM when it reaches to twice the
// largest cache, however early it begins: the share of a cache that is ours may be small. The
// zero Level where no level is known.
func Match(found []Plateau, levels []Level) []Level {
	out := make([]Level, len(found))
	for i, p := range found {
		// A point stands for half an octave on both sides.
		from, to := math.Log2(float64(p.From))-0.5, math.Log2(float64(p.To))+0.5
		best, inner := 0.0, math.Inf(-1)
		for _, l := range levels {
			outer := math.Inf(1)
			if l.Capacity > 0 {
				outer = math.Log2(float64(l.Capacity))
			} else if math.IsInf(inner, -1) {
				continue // no cache is known: not even DRAM can be told
			}
			if o := math.Min(to, outer) - math.Max(from, inner); o > best {
				best, out[i] = o, l
			}
			inner = outer
		}
		if n := len(levels); i == len(found)-1 && n > 1 && levels[n-1].Capacity == 0 && p.To >= 2*levels[n-2].Capacity && levels[n-2].Capacity > 0 {
			out[i] = levels[n-1]
		}
	}
	return out
}

// mostCaches are the cache levels that any known CPU has.
const mostCaches = 4

// LevelsOf takes the levels of one thread's memory from the plateaus of a latency sweep: the
// last is DRAM, each other a cache that ends with its plateau. nil when there are fewer than
// two or more than CPUs have levels.
func LevelsOf(found []Plateau) []Level {
	if len(found) < 2 || len(found) > mostCaches+1 {
		return nil
	}
	var out []Level
	for i, p := range found[:len(found)-1] {
		out = append(out, Level{Name: fmt.Sprintf("L%d", i+1), Capacity: p.To, PerThread: p.To})
	}
	return append(out, Level{Name: DRAM})
}

func median(ps []Point) float64 {
	var vs []float64
	for _, p := range ps {
		vs = append(vs, p.Value)
	}
	sort.Float64s(vs)
	return vs[len(vs)/2]
}

func differ(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / math.Max(math.Abs(a), math.Abs(b))
}
