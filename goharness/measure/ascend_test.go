package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSeriesAscendAsASortHasThem(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func(i int) float64{
		"noise":       func(int) float64 { return 1000 * math.Exp(0.02*rng.NormFloat64()) },
		"either sign": func(int) float64 { return rng.NormFloat64() },
		"all equal":   func(int) float64 { return 7.25 },
		"few values":  func(int) float64 { return float64(rng.IntN(5)) - 2 },
		"rising":      func(i int) float64 { return float64(i) },
		"falling":     func(i int) float64 { return -float64(i) / 3 },
		"an outlier hides the rest": func(i int) float64 { // what differs in the last bits alone, in falling order
			if i == 0 {
				return 1e300
			}
			return math.Float64frombits(math.Float64bits(1) + 4096 - uint64(i%4096))
		},
		"subnormals": func(i int) float64 { return float64(rng.IntN(3)-1) * 5e-324 * float64(i) },
		"extremes":   func(i int) float64 { return []float64{math.MaxFloat64, -math.MaxFloat64, 0, 5e-324, -5e-324}[i%5] },
	}
	for name, value := range kinds {
		for _, n := range []int{0, 1, 2, 3, 16, 250, 4000} {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = value(i)
			}
			a := ascend(xs)
			if want := slices.Sorted(slices.Values(xs)); !slices.Equal(a.values, want) {
				t.Fatalf("%s, %d values: they are not in ascending order", name, n)
			}
			places := make([]bool, n)
			for i, place := range a.order {
				if places[place] || xs[place] != a.values[i] {
					t.Fatalf("%s, %d values: place %d of value %d", name, n, place, i)
				}
				places[place] = true
			}
			for i, rank := range a.midRanks() {
				if n > 250 {
					break
				}
				less, same := 0, 0
				for _, x := range xs {
					if x < xs[i] {
						less++
					} else if x == xs[i] {
						same++
					}
				}
				if want := float64(less) + float64(same+1)/2; rank != want {
					t.Fatalf("%s, %d values: rank %v, want %v", name, n, rank, want)
				}
			}
		}
	}
}
