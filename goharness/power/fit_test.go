package power

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// launches of a machine with 60 pJ/FLOP, 800 pJ/byte and 5 W, its energies noisy by sigma.
func launches(r *rand.Rand, n int, sigma float64, shape func(i int) (flops, bytes float64)) []Launch {
	var out []Launch
	for i := range n {
		f, b := shape(i)
		s := max(f/200e9, b/20e9) * (1 + r.Float64())
		j := (60e-12*f + 800e-12*b + 5*s) * max(0.1, 1+sigma*r.NormFloat64())
		out = append(out, Launch{FLOPs: f, Bytes: b, Seconds: s, Joules: j})
	}
	return out
}

func mixed(i int) (float64, float64) {
	return []float64{1e6, 1e9, 4e9, 2e8, 6e7}[i%5] * float64(1+i%3), []float64{4e7, 3e7, 2e8, 8e7, 6e7}[i%5] * float64(1+i%4)
}

func TestTheEnergyRooflineIsFoundWithHonestIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	inside, trials := [3]int{}, 500
	for range trials {
		got, err := FitRoofline(launches(r, 20, 0.02, mixed))
		if err != nil {
			t.Fatal(err)
		}
		for j, x := range []struct {
			truth float64
			ci    [2]float64
		}{{60e-12, got.FLOPCI95}, {800e-12, got.ByteCI95}, {5, got.WattsCI95}} {
			if x.ci[0] <= x.truth && x.truth <= x.ci[1] {
				inside[j]++
			}
		}
	}
	t.Logf("inside of %d: FLOP %d, byte %d, watts %d", trials, inside[0], inside[1], inside[2])
	for j, n := range inside {
		if n < trials*93/100 || n > trials*98/100 {
			t.Errorf("coefficient %d: %d of %d intervals hold the truth, want 95 %%", j, n, trials)
		}
	}
	exact, err := FitRoofline(launches(r, 12, 0, mixed))
	if err != nil || math.Abs(exact.PerFLOP/60e-12-1) > 1e-6 || math.Abs(exact.PerByte/800e-12-1) > 1e-6 || math.Abs(exact.Watts/5-1) > 1e-6 {
		t.Errorf("without noise: %v, %v", exact, err)
	}
}

func TestAFitThatSaysNothingIsRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for _, tc := range []struct {
		name string
		ls   []Launch
		want string
	}{
		{"few cases", launches(r, 5, 0.01, mixed), "5 cases with energy: 6 are needed"},
		{"one intensity", launches(r, 20, 0.01, func(i int) (float64, float64) { return 1e9 * float64(i+1), 1e8 * float64(i+1) }), "too much alike"},
		{"the same case eight times", slices.Repeat(launches(r, 1, 0, mixed), 8), "too much alike to tell the energy of a FLOP from that of a byte and of time (condition +Inf)"},
		{"two cases, each four times", slices.Repeat(launches(r, 2, 0, mixed), 4), "(condition +Inf)"},
		{"a power that never ends", append(launches(r, 9, 0.01, mixed), Launch{FLOPs: 1, Bytes: 1, Seconds: 1, Joules: math.Inf(1)}), "a case has +Inf J"},
		{"negative joules, as net energies may be", append(launches(r, 9, 0.01, mixed), Launch{FLOPs: 1, Bytes: 1, Seconds: 1, Joules: -3}), "a case has -3 J"},
		{"no arithmetic", launches(r, 20, 0.01, func(i int) (float64, float64) { return 0, 1e8 * float64(i+1) }), "no case has any FLOP"},
		{"noise", launches(r, 20, 0.4, mixed), "poor"},
		{"bytes too few to matter", launches(r, 20, 0.05, func(i int) (float64, float64) { return 1e9 * float64(i+1), 1e3 * float64(1+i*i%7) }), "energy of a byte is not told apart from 0"},
		{"nonsense", append(launches(r, 9, 0.01, mixed), Launch{Joules: math.NaN()}), "a case has NaN J"},
	} {
		got, err := FitRoofline(tc.ls)
		if !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, %v", tc.name, got, err)
		}
	}
}
