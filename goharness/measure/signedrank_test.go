package measure

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Of 2,000 series of heavy-tailed noise about the truth the interval misses it as often as it may.
func TestSignedRankIntervalsHoldTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{6, 12, 24, 60} {
		missed := 0
		for range 2000 {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = 1 + rng.NormFloat64()/math.Abs(rng.NormFloat64()) // Cauchy
			}
			if _, lo, hi, ok := SignedRank(xs, 0.95); !ok || lo > 1 || hi < 1 {
				missed++
			}
		}
		if missed > 135 { // 100 ± 3.5 standard deviations
			t.Errorf("%d values: %d of 2,000 intervals miss", n, missed)
		}
	}
}

func TestFewValuesHaveNoSignedRankInterval(t *testing.T) {
	if v, lo, hi, ok := SignedRank([]float64{3, 1, 2, 5, 4}, 0.95); ok || v != 3 || lo != 1 || hi != 5 {
		t.Error(v, lo, hi, ok)
	}
	if _, _, hi, ok := SignedRank(nil, 0.95); ok || !math.IsInf(hi, 1) {
		t.Error("no value has an interval")
	}
}
