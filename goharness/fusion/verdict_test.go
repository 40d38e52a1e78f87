package fusion

import (
	"context"
	"testing"
	"time"

	"ridge/goharness/measure"
)

// Two identical programs under every kind of noise of the self-test: the verdict, where there is one,
// is minimal.
func TestIdenticalProgramsAreMinimal(t *testing.T) {
	const trials = 200
	for _, noise := range append(measure.SelfTestNoises(), measure.SlowSteps()) {
		t.Run(noise.Name, func(t *testing.T) {
			verdicts := map[string]int{}
			for trial := range trials {
				verdicts[simulated(t, noise, uint64(trial), 1)]++
			}
			if verdicts[Minimal] < trials*95/100 || verdicts[Strong]+verdicts[Moderate]+verdicts[Slower] > 0 {
				t.Errorf("%d trials of identical programs: %v, want at least 95 %% minimal and no other verdict", trials, verdicts)
			}
		})
	}
}

// A speed-up 5 % away from every cut is found: the verdict is right or, seldom, open.
func TestTrueSpeedupsGetTheirVerdict(t *testing.T) {
	const trials = 100
	for _, c := range []struct {
		speedup float64
		verdict string
	}{{0.9, Slower}, {1.04, Minimal}, {1.16, Moderate}, {1.42, Moderate}, {1.58, Strong}} {
		for _, noise := range measure.SelfTestNoises() {
			right, open := 0, 0
			for trial := range trials {
				switch simulated(t, noise, uint64(trial), c.speedup) {
				case c.verdict:
					right++
				case measure.Inconclusive:
					open++
				}
			}
			if right < trials*95/100 || right+open < trials {
				t.Errorf("speed-up %v, noise %q: %d of %d %s and %d inconclusive, want at least 95 %% and no other verdict", c.speedup, noise.Name, right, trials, c.verdict, open)
			}
		}
	}
}

// simulated is the verdict on two simulated programs of which the fused one is speedup times as fast.
func simulated(t *testing.T, noise measure.Noise, seed uint64, speedup float64) string {
	t.Helper()
	source, err := measure.NewNoiseSource(noise, seed)
	if err != nil {
		t.Fatal(err)
	}
	clock := &measure.VirtualClock{}
	arm := func(factor float64) *measure.Simulated {
		return &measure.Simulated{Clock: clock, Launch: time.Duration(100e3 * factor), Source: source}
	}
	got, err := measure.Compare(context.Background(), arm(speedup), arm(1), measure.CompareOptions{Cuts: Cuts(), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return Decide(got.Ratio).Class
}
