package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func quartetsOf(ratios ...float64) []Quartet {
	var out []Quartet
	for _, r := range ratios {
		out = append(out, Quartet{math.Sqrt(r), 1 / math.Sqrt(r)}) // all equally quiet
	}
	return out
}

// Worked by hand: eight values at 99.2 % leave out no mean of a pair; the pseudo-median of 1..8 is 4.5.
func TestRatioIsThePseudoMedianOfTheQuietQuartets(t *testing.T) {
	logs := []float64{4, 1, 8, 2, 7, 3, 6, 5}
	var rs []float64
	for _, l := range logs {
		rs = append(rs, math.Exp(l/100))
	}
	loud := append(quartetsOf(rs...), Quartet{90, 2}, Quartet{50, 1e-1 * 50}) // disturbed: not among the eight
	s, err := SummarizeQuartets(loud, 0.9917)
	if err != nil || math.Abs(s.Value-math.Exp(0.045)) > 1e-12 || math.Abs(s.Lo-math.Exp(0.01)) > 1e-12 || math.Abs(s.Hi-math.Exp(0.08)) > 1e-12 {
		t.Errorf("%+v, err %v", s, err)
	}
	if !slices.Equal(s.Quiet, []int{0, 1, 2, 3, 4, 5, 6, 7}) || !s.Supported || s.EffectiveN != 8 {
		t.Errorf("quartets %v count, %v effective, supported %v", s.Quiet, s.EffectiveN, s.Supported)
	}
}

func TestExchangingTheArmsInvertsTheRatio(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 70; n += 3 {
		var ab, ba []Quartet
		for range n {
			q := Quartet{1.3 * (1 + 0.2*r.ExpFloat64()), 1 + 0.1*r.ExpFloat64()}
			ab, ba = append(ab, q), append(ba, Quartet{q.B, q.A})
		}
		x, errX := SummarizeQuartets(ab, 0.99)
		y, errY := SummarizeQuartets(ba, 0.99)
		if errX != nil || errY != nil || math.Abs(x.Value*y.Value-1) > 1e-9 || math.Abs(x.Lo*y.Hi-1) > 1e-9 || !slices.Equal(x.Quiet, y.Quiet) {
			t.Errorf("%d quartets: %+v and %+v, errors %v and %v", n, x, y, errX, errY)
		}
		if want := min(n, max(MinQuartets, (n+1)/2)); len(x.Quiet) != want {
			t.Errorf("%d of %d quartets count, want %d", len(x.Quiet), n, want)
		}
	}
}

// A neighbour that slows one arm by 1.3 and the other by 1.9 for two thirds of the time must not show.
func TestALoudSpellDoesNotMoveTheRatio(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var qs []Quartet
	for i := range 120 {
		q := Quartet{1.2 * (1 + 0.01*r.ExpFloat64()), 1 + 0.01*r.ExpFloat64()}
		if i >= 50 {
			q.A, q.B = q.A*1.9, q.B*1.3
		}
		qs = append(qs, q)
	}
	s, err := SummarizeQuartets(qs[:100], 0.99)
	if err != nil || math.Abs(s.Value-1.2) > 0.01 || s.Lo > 1.2 || s.Hi < 1.2 {
		t.Errorf("%+v, err %v", s, err)
	}
}

func TestTimesThatAreNoneAreRefused(t *testing.T) {
	for _, q := range []Quartet{{0, 1}, {1, 0}, {math.NaN(), 1}, {1, math.Inf(1)}, {-1, 1}} {
		if s, err := SummarizeQuartets([]Quartet{{1, 1}, q}, 0.95); err == nil {
			t.Errorf("%v was accepted: %+v", q, s)
		}
	}
	if _, err := SummarizeQuartets(nil, 0.95); err == nil {
		t.Error("no quartets were accepted")
	}
	if _, err := SummarizeQuartets(quartetsOf(1), 1); err == nil {
		t.Error("a confidence of 1 was accepted")
	}
}

// Ranks against published tables of the signed-rank test (two-sided 5 % and 1 %): the critical sum w has P(W ≤ w) ≤ α/2, k = w+1.
func TestSignedRankKnowsTheTables(t *testing.T) {
	for _, c := range []struct{ n, five, one int }{{5, -1, -1}, {6, 0, -1}, {8, 3, 0}, {10, 8, 3}, {16, 29, 19}, {20, 52, 37}, {25, 89, 68}, {50, 434, 373}} {
		if k := signedRank(c.n, 0.95); k != c.five+1 {
			t.Errorf("n %d at 95 %%: rank %d, want %d", c.n, k, c.five+1)
		}
		if k := signedRank(c.n, 0.99); k != c.one+1 {
			t.Errorf("n %d at 99 %%: rank %d, want %d", c.n, k, c.one+1)
		}
	}
	for n := exactRank + 1; n < 400; n += 37 { // the normal ranks go on where the exact ones end
		if a, b := signedRank(n, 0.99), signedRank(n-1, 0.99); a <= b {
			t.Errorf("n %d: rank %d, %d before", n, a, b)
		}
	}
}

// Coverage of independent noise and of a skewed one, at the level that is claimed.
func TestRatioIntervalsHoldTheTruth(t *testing.T) {
	const trials = 2000
	for _, noise := range []struct {
		name string
		draw func(*rand.Rand) float64
	}{
		{"normal", func(r *rand.Rand) float64 { return math.Exp(0.02 * r.NormFloat64()) }},
		{"exponential", func(r *rand.Rand) float64 { return 1 + 0.05*r.ExpFloat64() }},
	} {
		for _, n := range []int{8, 16, 24, 64} {
			r := rand.New(rand.NewPCG(7, uint64(n)))
			missed := 0
			for range trials {
				var qs []Quartet
				for range n {
					qs = append(qs, Quartet{1.2 * noise.draw(r), noise.draw(r)})
				}
				s, err := SummarizeQuartets(qs, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				if s.Lo > 1.2 || s.Hi < 1.2 {
					missed++
				}
			}
			if share := float64(missed) / trials; share > 0.065 {
				t.Errorf("%s noise, %d quartets: %.1f %% of the 95 %% intervals miss the truth", noise.name, n, 100*share)
			}
		}
	}
}

// spread is how often intervals hold the truth, and their half widths relative to it, ascending.
type spread struct {
	held   float64
	widths []float64
}

func spreadOf(trials int, truth float64, interval func(trial int) [2]float64) spread {
	var s spread
	for i := range trials {
		ci := interval(i)
		s.held += float64(count(ci[0] <= truth && truth <= ci[1])) / float64(trials)
		s.widths = append(s.widths, (ci[1]-ci[0])/2/truth)
	}
	slices.Sort(s.widths)
	return s
}

// The intervals of fusion patterns come from few quartets on a host whose noise is correlated: they must hold the truth and still say
// something. Student's factor for the bare effective number, one degree of freedom, gave ±100 % for noise of 1 %.
func TestFewQuartetsUnderCorrelatedNoiseGiveAnIntervalThatIsNarrowAndHolds(t *testing.T) {
	const trials, sigma, rho = 4000, 0.01, 0.6
	noise := Noise{Name: "AR(1) 0.6", Sigma: sigma, Rho: rho}
	samples := spreadOf(trials, 1.2, func(trial int) [2]float64 {
		src, err := NewNoiseSource(noise, 99<<32+uint64(trial))
		if err != nil {
			t.Fatal(err)
		}
		clock := &VirtualClock{}
		got, err := Compare(t.Context(), &Simulated{Clock: clock, Launch: 48 * time.Microsecond, Source: src}, &Simulated{Clock: clock, Launch: 40 * time.Microsecond, Source: src},
			CompareOptions{Quartets: MinQuartets, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		return got.Ratio.CI95
	})
	// Where the quartets' ratios themselves are correlated, which quartets keep from being, eight do not show it: an estimate of ρ
	// from eight is known to 0.35. Such intervals hold less often; docs/measuring.md has the figure. They must not be wide either.
	r := rand.New(rand.NewPCG(11, 12))
	ratios := spreadOf(trials, 1.2, func(int) [2]float64 {
		z, of := r.NormFloat64(), make([]float64, MinQuartets)
		for i := range of {
			of[i] = 1.2 * math.Exp(sigma*z)
			z = rho*z + math.Sqrt(1-rho*rho)*r.NormFloat64()
		}
		s, err := SummarizeQuartets(quartetsOf(of...), Confidence)
		if err != nil {
			t.Fatal(err)
		}
		return [2]float64{s.Lo, s.Hi}
	})
	for _, c := range []struct {
		what  string
		s     spread
		least float64
	}{{"samples", samples, 0.95}, {"ratios of quartets", ratios, 0.77}} {
		wide := c.s.widths[trials*95/100]
		t.Logf("%s with AR(1) %.1f of %.0f %%, %d quartets: %.1f %% of %d intervals hold the truth, ±%.2f %% in the median, ±%.2f %% at the 95th percentile",
			c.what, rho, 100*sigma, MinQuartets, 100*c.s.held, trials, 100*c.s.widths[trials/2], 100*wide)
		if c.s.held < c.least {
			t.Errorf("%s: %.1f %% of the intervals hold the truth, want %.0f %%", c.what, 100*c.s.held, 100*c.least)
		}
		if wide >= 0.1 {
			t.Errorf("%s: ±%.1f %% at the 95th percentile, want less than 10 %%", c.what, 100*wide)
		}
	}
}
