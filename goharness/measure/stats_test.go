package measure

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMedianRankMatchesPublishedTable(t *testing.T) {
	// Two-sided 95 % ranks of the sign test's interval (Conover, Practical Nonparametric
	// Statistics, table of the binomial with p = ½); 0: no interval exists.
	want := map[int]int{1: 0, 2: 0, 5: 0, 6: 1, 7: 1, 8: 1, 9: 2, 10: 2, 11: 2, 12: 3, 15: 4, 17: 5, 20: 6, 25: 8, 50: 18, 100: 40}
	for m, k := range want {
		if got := medianRank(m, 0.95); got != k {
			t.Errorf("m=%d: rank %d, want %d", m, got, k)
		}
	}
}

func TestMedianRankIsTheLargestThatHoldsTheLevel(t *testing.T) {
	for _, level := range []float64{0.5, 0.9, 0.95, 0.99, 0.995} {
		for m := 1; m <= 60; m++ {
			k := medianRank(m, level)
			if miss := 2 * binomialBelow(m, k); k > 0 && miss > 1-level+1e-12 {
				t.Errorf("m=%d level %v: rank %d misses the median with probability %v", m, level, k, miss)
			}
			if next := 2 * binomialBelow(m, k+1); k+1 <= m/2 && next <= 1-level-1e-12 {
				t.Errorf("m=%d level %v: rank %d would do as well as %d (%v)", m, level, k+1, k, next)
			}
		}
	}
}

// binomialBelow is P(Bin(m, ½) < k) from Pascal's triangle.
func binomialBelow(m, k int) float64 {
	row := []float64{1}
	for range m {
		next := make([]float64, len(row)+1)
		for i, v := range row {
			next[i] += v / 2
			next[i+1] += v / 2
		}
		row = next
	}
	sum := 0.0
	for _, v := range row[:k] {
		sum += v
	}
	return sum
}

func TestMedianRankApproachesTheNormalForLargeCounts(t *testing.T) {
	for _, m := range []int{1000, 5120, 100000} {
		want := float64(m)/2 - 1.959964*math.Sqrt(float64(m))/2
		if got := float64(medianRank(m, 0.95)); math.Abs(got-want) > 1 {
			t.Errorf("m=%d: rank %v, normal approximation %.1f", m, got, want)
		}
	}
}

func TestStudentQuantileMatchesPublishedTable(t *testing.T) {
	for _, c := range []struct {
		p    float64
		nu   int
		want float64
	}{
		{0.975, 1, 12.706}, {0.975, 2, 4.303}, {0.975, 3, 3.182}, {0.975, 4, 2.776}, {0.975, 5, 2.571},
		{0.975, 10, 2.228}, {0.975, 30, 2.042}, {0.995, 1, 63.657}, {0.995, 2, 9.925}, {0.9, 4, 1.533}, {0.999, 3, 10.215},
	} {
		if got := studentQuantile(c.p, c.nu); math.Abs(got-c.want) > 5.1e-4 {
			t.Errorf("t(%v; %d) = %v, want %v", c.p, c.nu, got, c.want)
		}
	}
}

func TestSummaryOfAKnownSeries(t *testing.T) {
	s, err := Summarize([]float64{2, 4, 4, 4, 5, 5, 7, 9}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"median", s.Median, 4.5}, {"mean", s.Mean, 5}, {"std", s.Std, math.Sqrt(32.0 / 7)}, {"MAD", s.MAD, 0.5},
		{"min", s.Min, 2}, {"max", s.Max, 9}, {"p90", s.P90, 7.6}, {"p95", s.P95, 8.3}, {"p99", s.P99, 8.86},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestTinyAndTiedSeries(t *testing.T) {
	for _, c := range []struct {
		name      string
		xs        []float64
		median    float64
		lo, hi    float64
		supported bool
	}{
		{"one value: nothing is known of its spread", []float64{100}, 100, 0, 200, false},
		{"one negative value", []float64{-100}, -100, -200, 0, false},
		{"two equal values", []float64{7, 7}, 7, 7, 7, false},
		// One degree of freedom: t(0.975; 1)·√(π/2)·std, cut at 0.
		{"two values", []float64{100, 102}, 101, 101 - 12.7062*1.2533141*math.Sqrt2, 101 + 12.7062*1.2533141*math.Sqrt2, false},
		{"zeros", []float64{0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, true},
		{"all equal", []float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, 5, 5, 5, true},
	} {
		s, err := Summarize(c.xs, 0.95)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if s.Median != c.median || math.Abs(s.Lo-c.lo) > 1e-3 || math.Abs(s.Hi-c.hi) > 1e-3 || s.Supported != c.supported {
			t.Errorf("%s: median %v in [%v, %v] supported %v, want %v in [%v, %v] %v",
				c.name, s.Median, s.Lo, s.Hi, s.Supported, c.median, c.lo, c.hi, c.supported)
		}
	}
}

func TestFiveValuesSupportNoOrderStatisticInterval(t *testing.T) {
	s, err := Summarize([]float64{10, 11, 10, 12, 11}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if s.Supported || s.Lo >= s.Min || s.Hi <= s.Max {
		t.Errorf("[%v, %v] supported %v: expected wider than [%v, %v]", s.Lo, s.Hi, s.Supported, s.Min, s.Max)
	}
}

func TestBadInputIsRefused(t *testing.T) {
	if _, err := Summarize(nil, 0.95); !errors.Is(err, ErrNoSamples) {
		t.Errorf("no samples: %v", err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := Summarize([]float64{1, bad, 2}, 0.95); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	for _, level := range []float64{0, 1, -1, math.NaN()} {
		if _, err := Summarize([]float64{1, 2}, level); err == nil {
			t.Errorf("confidence %v was accepted", level)
		}
	}
}

func TestHugeValuesDoNotOverflow(t *testing.T) {
	s, err := Summarize([]float64{1e300, 1.1e300, 0.9e300, 1e300, 1.05e300}, 0.95)
	if err != nil || math.IsInf(s.Std, 0) || math.Abs(s.Mean/1.01e300-1) > 1e-9 {
		t.Errorf("mean %v std %v err %v", s.Mean, s.Std, err)
	}
}

func TestLag1IsUnbiasedWhereThePlainEstimatorIsNot(t *testing.T) {
	const n, trials = 40, 3000
	// The correction is of first order in 1/n, and the clip at 0.99 lowers the mean near 1.
	for rho, tolerance := range map[float64]float64{0.3: 0.035, 0.6: 0.035, 0.9: 0.05} {
		var corrected, plain float64
		for seed := range trials {
			xs := draw(t, Noise{Sigma: 0.01, Rho: rho}, uint64(seed), n)
			mean, _ := meanStd(xs)
			c := correctedLag1(xs, mean)
			corrected += c / trials
			plain += (c*(n-3) - 1) / n / trials
		}
		if math.Abs(corrected-rho) > tolerance {
			t.Errorf("ρ=%v: corrected mean %.3f", rho, corrected)
		}
		if math.Abs(plain-rho) < math.Abs(corrected-rho) {
			t.Errorf("ρ=%v: the plain estimator (%.3f) is nearer than the corrected one (%.3f)", rho, plain, corrected)
		}
	}
}

func TestAlternatingSeriesGainsNothing(t *testing.T) {
	xs := make([]float64, 40)
	for i := range xs {
		xs[i] = 10 + float64(i%2)
	}
	s, err := Summarize(xs, 0.95)
	if err != nil || s.Lag1 != 0 || s.EffectiveN > 40 {
		t.Errorf("ρ=%v n_eff=%v err %v: negative correlation must count as none", s.Lag1, s.EffectiveN, err)
	}
}

func TestOutliersDoNotHideCorrelation(t *testing.T) {
	xs := draw(t, Noise{Sigma: 0.01, Rho: 0.95}, 3, 400)
	r := rand.New(rand.NewPCG(1, 1))
	for range 8 {
		xs[r.IntN(len(xs))] += 100
	}
	s, err := Summarize(xs, 0.95)
	if err != nil || s.Lag1 > 0.3 || s.EffectiveN > 60 {
		t.Errorf("ρ=%v of the values, n_eff=%v of 400, err %v: expected the ranks to show the correlation", s.Lag1, s.EffectiveN, err)
	}
}

func draw(t *testing.T, n Noise, seed uint64, count int) []float64 {
	t.Helper()
	src, err := NewNoiseSource(n, seed)
	if err != nil {
		t.Fatal(err)
	}
	xs := make([]float64, count)
	for i := range xs {
		xs[i], _ = src.next()
	}
	return xs
}

var series = rapid.SliceOfN(rapid.Float64Range(1, 1e9), 1, 80)

func TestSummaryProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := series.Draw(t, "xs")
		if rapid.Bool().Draw(t, "ties") {
			for i := range xs {
				xs[i] = 1 + math.Floor(xs[i]/3e8)
			}
		}
		kept := slices.Clone(xs)
		s, err := Summarize(xs, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(kept, xs) {
			t.Fatal("the input was reordered")
		}
		ordered := []float64{s.Min, s.Median, s.P90, s.P95, s.P99, s.Max}
		if !slices.IsSorted(ordered) && len(xs) > 1 {
			t.Fatalf("min, median, p90, p95, p99, max are out of order: %v", ordered)
		}
		if s.Lo > s.Median || s.Hi < s.Median || s.Lo < 0 {
			t.Fatalf("median %v is outside [%v, %v]", s.Median, s.Lo, s.Hi)
		}
		if s.Supported && (s.Lo < s.Min || s.Hi > s.Max) || !s.Supported && (s.Lo > s.Min || s.Hi < s.Max) {
			t.Fatalf("supported %v: [%v, %v] against [%v, %v]", s.Supported, s.Lo, s.Hi, s.Min, s.Max)
		}
		if s.EffectiveN < 1 || s.EffectiveN > float64(len(xs)) || s.Lag1 < 0 || s.Lag1 > maxLag1 {
			t.Fatalf("n_eff %v of %d, ρ %v", s.EffectiveN, len(xs), s.Lag1)
		}
		if wide, _ := Summarize(xs, 0.99); wide.Lo > s.Lo || wide.Hi < s.Hi {
			t.Fatalf("99 %% [%v, %v] is inside 95 %% [%v, %v]", wide.Lo, wide.Hi, s.Lo, s.Hi)
		}
	})
}

func TestSummaryScalesWithItsInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := series.Draw(t, "xs")
		// A power of two scales every intermediate value exactly.
		f := math.Ldexp(1, rapid.IntRange(-20, 20).Draw(t, "exponent"))
		ys := make([]float64, len(xs))
		for i := range xs {
			ys[i] = xs[i] * f
		}
		a, _ := Summarize(xs, 0.95)
		b, _ := Summarize(ys, 0.95)
		for i, p := range [][2]float64{
			{a.Median * f, b.Median}, {a.Lo * f, b.Lo}, {a.Hi * f, b.Hi}, {a.Std * f, b.Std}, {a.MAD * f, b.MAD},
			{a.P99 * f, b.P99}, {a.EffectiveN, b.EffectiveN}, {a.Lag1, b.Lag1}, {a.RelHalfWidth, b.RelHalfWidth},
		} {
			if math.Abs(p[0]-p[1]) > 1e-9*math.Abs(p[0]) {
				t.Fatalf("figure %d: %v against %v", i, p[0], p[1])
			}
		}
	})
}

func TestOrderChangesNothingButTheCorrelation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := series.Draw(t, "xs")
		ys := rapid.Permutation(xs).Draw(t, "ys")
		a, _ := Summarize(xs, 0.95)
		b, _ := Summarize(ys, 0.95)
		// Sums may differ in their last bits.
		if a.Median != b.Median || a.Min != b.Min || a.Max != b.Max || a.MAD != b.MAD || a.P90 != b.P90 || a.P99 != b.P99 ||
			math.Abs(a.Mean-b.Mean) > 1e-9*a.Mean || math.Abs(a.Std-b.Std) > 1e-6*a.Mean {
			t.Fatalf("%+v\n%+v", a, b)
		}
	})
}
