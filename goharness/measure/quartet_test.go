package measure

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// machine is a virtual machine that two arms run on; it logs every call.
type machine struct {
	VirtualClock
	log   []call
	limit int // calls after which cancel is called
	stop  func()
}

type call struct {
	arm, launches, samples int
}

type onMachine struct {
	m      *machine
	arm    int
	launch func(m *machine) time.Duration
}

func (a onMachine) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	a.m.log = append(a.m.log, call{a.arm, launches, samples})
	if a.m.stop != nil && len(a.m.log) > a.m.limit {
		a.m.stop()
	}
	var out []backend.Sample
	for range samples {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		start := a.m.t
		a.m.t += time.Duration(launches) * a.launch(a.m)
		out = append(out, backend.Sample{StartNS: int64(start), EndNS: int64(a.m.t), Launches: launches})
	}
	return out, nil
}

func steadyArm(m *machine, arm int, d time.Duration) onMachine {
	return onMachine{m, arm, func(*machine) time.Duration { return d }}
}

func TestQuartetsRunABBAEachSampleAfterALaunchOfItsArm(t *testing.T) {
	for _, cold := range []bool{false, true} {
		m := &machine{}
		x, err := Compare(context.Background(), steadyArm(m, 0, 60*time.Microsecond), steadyArm(m, 1, 40*time.Microsecond),
			CompareOptions{Now: m.Now, Cold: cold})
		r, ta, tb := x.Ratio, x.Times[0], x.Times[1]
		if err != nil || r.Value != 1.5 || r.CI95 != [2]float64{1.5, 1.5} || len(r.Quartets) != 8 {
			t.Fatalf("ratio %+v, err %v", r, err)
		}
		if ta.MedianNS != 60e3 || tb.MedianNS != 40e3 || len(ta.SamplesNS) != 16 || len(tb.SamplesNS) != 16 {
			t.Errorf("arms: %v and %v ns, %d and %d samples", ta.MedianNS, tb.MedianNS, len(ta.SamplesNS), len(tb.SamplesNS))
		}
		// A, then BB and AA in turn (the last A of a quartet with the first of the next), B after the arms have changed places.
		runs := []call{{0, 0, 1}, {1, 0, 2}, {0, 0, 2}, {1, 0, 2}, {0, 0, 2}, {1, 0, 2}, {0, 0, 2}, {1, 0, 2}, {0, 0, 1},
			{1, 0, 1}, {0, 0, 2}, {1, 0, 2}, {0, 0, 2}, {1, 0, 2}, {0, 0, 2}, {1, 0, 2}, {0, 0, 2}, {1, 0, 1}}
		var want []call
		for _, r := range runs {
			want = append(want, call{r.arm, []int{ta.Launches, tb.Launches}[r.arm], r.samples})
		}
		if got := m.log[len(m.log)-len(want):]; !slices.Equal(got, want) {
			t.Errorf("cold %v: calls %v\nwant %v", cold, got, want)
		}
	}
}

func TestLongLaunchesHaveNoUntimedOnesBeforeThem(t *testing.T) {
	short, long := []int{3, 2}, []int{2, 1} // samples of the last quartet's calls: the inner two, the last one
	for _, c := range []struct {
		refill  time.Duration
		refills int
		want    []int
	}{{0, 0, short}, {time.Microsecond, 0, long}, {20 * time.Microsecond, 0, long}, {21 * time.Microsecond, 0, short}, {333 * time.Microsecond, 3, long}, {334 * time.Microsecond, 3, short}} {
		m := &machine{}
		if _, err := Compare(context.Background(), steadyArm(m, 0, time.Millisecond), steadyArm(m, 1, 2*time.Millisecond),
			CompareOptions{Now: m.Now, Refill: c.refill, Refills: c.refills, Quartets: 3, Warmup: 2}); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, x := range m.log[len(m.log)-len(c.want):] {
			got = append(got, x.samples)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("refill %v, %d times: samples %v, want %v", c.refill, c.refills, got, c.want)
		}
	}
}

// Arms that are known to be long are launched once each before the quartets, and not again before their first sample.
func TestKnownLaunchesAreNotCalibrated(t *testing.T) {
	for _, c := range []struct {
		refill   time.Duration
		launches int
		want     []call // before the first sample of the second arm, and that one
	}{
		{time.Microsecond, 1, []call{{0, 1, 1}, {1, 1, 1}, {0, 1, 1}, {1, 1, 2}}},
		{time.Microsecond, 0, []call{{0, 1, 1}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {1, 1, 2}}},
		{0, 1, []call{{0, 1, 1}, {1, 1, 1}, {0, 1, 2}, {1, 1, 3}}}, // how long it takes to fill the caches again is not known
	} {
		m := &machine{}
		x, err := Compare(context.Background(), steadyArm(m, 0, time.Millisecond), steadyArm(m, 1, 2*time.Millisecond),
			CompareOptions{Now: m.Now, Refill: c.refill, Quartets: 2, Warmup: 1, Launches: c.launches})
		if err != nil || x.Ratio.Value != 0.5 || x.Times[0].Launches != 1 || len(m.log) < len(c.want) || !slices.Equal(m.log[:len(c.want)], c.want) {
			t.Errorf("refill %v, launches %d: %v, ratio %v, calls %v, want %v", c.refill, c.launches, err, x.Ratio.Value, m.log, c.want)
		}
	}
}

func TestLinearDriftCancels(t *testing.T) {
	m := &machine{}
	drifting := func(base float64) func(*machine) time.Duration {
		return func(m *machine) time.Duration { // 10 % slower per second
			return time.Duration(base * (1 + 0.1*m.t.Seconds()))
		}
	}
	x, err := Compare(context.Background(), onMachine{m, 0, drifting(1e6)}, onMachine{m, 1, drifting(1e6)}, CompareOptions{Now: m.Now})
	r := x.Ratio
	if err != nil || math.Abs(r.Value-1) > 1e-4 {
		t.Errorf("ratio %v in %v, err %v", r.Value, r.CI95, err)
	}
}

func TestCancelledComparisonKeepsWholeQuartets(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m := &machine{stop: cancel, limit: 22}
	x, err := Compare(ctx, steadyArm(m, 0, time.Millisecond), steadyArm(m, 1, time.Millisecond), CompareOptions{Now: m.Now, RelHalfWidth: 1e-9})
	r, ta, tb := x.Ratio, x.Times[0], x.Times[1]
	if !errors.Is(err, context.Canceled) || len(r.Quartets) == 0 || len(r.Quartets) >= 8 || r.Value != 1 {
		t.Errorf("ratio %+v, err %v", r, err)
	}
	if len(ta.SamplesNS) != 2*len(r.Quartets) || len(tb.SamplesNS) != 2*len(r.Quartets) || ta.StopRule != StopInterrupted {
		t.Errorf("%d and %d samples for %d quartets, rule %s", len(ta.SamplesNS), len(tb.SamplesNS), len(r.Quartets), ta.StopRule)
	}
}

func TestSlowComparisonEndsOnItsBudget(t *testing.T) {
	for _, c := range []struct {
		launch   time.Duration
		quartets int
	}{{20 * time.Millisecond, 8}, {500 * time.Millisecond, 3}, {20 * time.Second, 1}} {
		m := &machine{}
		x, err := Compare(context.Background(), steadyArm(m, 0, c.launch), steadyArm(m, 1, c.launch), CompareOptions{Now: m.Now})
		r, ta := x.Ratio, x.Times[0]
		if err != nil || len(r.Quartets) != c.quartets {
			t.Errorf("%v: %d quartets, want %d (%s), err %v", c.launch, len(r.Quartets), c.quartets, ta.StopRule, err)
		}
		if x.Converged != (c.quartets >= MinQuartets) || len(x.Samples[0]) != 2*c.quartets || len(x.Samples[1]) != 2*c.quartets {
			t.Errorf("%v: %d quartets converged %v with %d and %d samples", c.launch, c.quartets, x.Converged, len(x.Samples[0]), len(x.Samples[1]))
		}
		if v := Decide(r, []Cut{{0.9, "same"}}, "slower"); (v.Class == Inconclusive) != (c.quartets < MinQuartets) {
			t.Errorf("%v: verdict %q from %d quartets", c.launch, v.Class, len(r.Quartets))
		}
	}
}

func TestComparisonEndsWhenTheIntervalClearsTheCuts(t *testing.T) {
	n := Noise{Sigma: 0.02}
	count := func(cuts []float64) int {
		src, err := NewNoiseSource(n, 4)
		if err != nil {
			t.Fatal(err)
		}
		clock := &VirtualClock{}
		a, b := &Simulated{clock, 80 * time.Microsecond, src}, &Simulated{clock, 40 * time.Microsecond, src}
		x, err := Compare(context.Background(), a, b, CompareOptions{Now: clock.Now, Cuts: cuts})
		if err != nil {
			t.Fatal(err)
		}
		return len(x.Ratio.Quartets)
	}
	if far, near, none := count([]float64{1.5}), count([]float64{2}), count(nil); far >= near || far > 32 || none != near {
		t.Errorf("%d quartets for a far cut-off, %d for one at the ratio, %d without", far, near, none)
	}
}

func TestQuartetsAskedForReplaceTheRule(t *testing.T) {
	m := &machine{}
	x, err := Compare(context.Background(), steadyArm(m, 0, time.Second), steadyArm(m, 1, time.Second),
		CompareOptions{Now: m.Now, Quartets: 11, Warmup: 4})
	r, ta := x.Ratio, x.Times[0]
	if err != nil || len(r.Quartets) != 11 || ta.StopRule != StopTrials || ta.WarmupLaunches != 4 {
		t.Errorf("%d quartets, rule %s, %d warm-up launches, err %v", len(r.Quartets), ta.StopRule, ta.WarmupLaunches, err)
	}
}

// Fixed quartets end early where the whole interval is beyond Clear, either way, and not where a wide interval says so, or one
// quartet alone of launches that are not known to be long.
func TestClearRatiosNeedFewOfTheQuartetsAskedFor(t *testing.T) {
	for _, tc := range []struct {
		name     string
		a, b     []time.Duration // of launches, in turn
		clear    float64
		quartets int
		launches int
	}{
		{"b twice as fast", []time.Duration{2 * time.Second}, []time.Duration{time.Second}, 1.15, 2, 0},
		{"a twice as fast", []time.Duration{time.Second}, []time.Duration{2 * time.Second}, 1.15, 2, 0},
		{"10 %", []time.Duration{1100 * time.Millisecond}, []time.Duration{time.Second}, 1.15, 11, 0},
		{"not asked for", []time.Duration{2 * time.Second}, []time.Duration{time.Second}, 0, 11, 0},
		{"wide", []time.Duration{time.Second, 4 * time.Second, 2 * time.Second, time.Second, 5 * time.Second}, []time.Duration{time.Second}, 1.15, 11, 0},
		{"b three times as fast, launches not known to be long", []time.Duration{3 * time.Second}, []time.Duration{time.Second}, 1.15, 2, 0},
		{"b three times as fast, long launches", []time.Duration{3 * time.Second}, []time.Duration{time.Second}, 1.15, 1, 1},
		{"a three times as fast, long launches", []time.Duration{time.Second}, []time.Duration{3 * time.Second}, 1.15, 1, 1},
		{"b twice as fast, long launches", []time.Duration{2 * time.Second}, []time.Duration{time.Second}, 1.15, 2, 1},
		{"b faster but for one sample, long launches", []time.Duration{time.Second, time.Second, time.Second, 8 * time.Second}, []time.Duration{time.Second}, 1.15, 11, 1},
		{"wide, long launches", []time.Duration{time.Second, 5 * time.Second, time.Second}, []time.Duration{time.Second}, 1.15, 11, 1},
	} {
		m := &machine{}
		calls := 0
		varied := onMachine{m, 0, func(*machine) time.Duration { calls++; return tc.a[calls%len(tc.a)] }}
		x, err := Compare(context.Background(), varied, steadyArm(m, 1, tc.b[0]), CompareOptions{Now: m.Now, Quartets: 11, Warmup: 1, Clear: tc.clear, Launches: tc.launches})
		if err != nil || len(x.Ratio.Quartets) != tc.quartets || x.Times[0].StopRule != StopTrials {
			t.Errorf("%s: %d quartets, rule %s, want %d (%v)", tc.name, len(x.Ratio.Quartets), x.Times[0].StopRule, tc.quartets, err)
		}
	}
}

func TestBadComparisonsAreRefused(t *testing.T) {
	m := &machine{}
	a := steadyArm(m, 0, time.Millisecond)
	for _, o := range []CompareOptions{{MaxQuartets: 4}, {Quartets: -1}, {Cuts: []float64{math.NaN()}}, {Cuts: []float64{-1}}, {Budget: -1}, {Clear: 1}, {Clear: math.NaN()}} {
		o.Now = m.Now
		if _, err := Compare(context.Background(), a, a, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if _, err := Compare(context.Background(), a, answer{}, CompareOptions{Now: m.Now}); err == nil {
		t.Error("an arm without samples was accepted")
	}
}

func TestVerdictNeedsTheWholeIntervalBetweenItsCuts(t *testing.T) {
	cuts := []Cut{{1.1, "moderate"}, {1.5, "strong"}, {0.95, "minimal"}}
	eight := make([]float64, 8)
	for _, c := range []struct {
		name           string
		lo, hi         float64
		quartets       []float64
		class, atLeast string
	}{
		{"strong", 1.6, 1.7, eight, "strong", "strong"},
		{"from its cut on", 1.5, 1.7, eight, "strong", "strong"},
		{"up to the next cut", 1.1, 1.4999, eight, "moderate", "moderate"},
		{"touches the next cut", 1.2, 1.5, eight, Inconclusive, "moderate"},
		{"over a cut", 1.4, 1.6, eight, Inconclusive, "moderate"},
		{"over two cuts", 1.0, 1.6, eight, Inconclusive, "minimal"},
		{"minimal", 0.96, 1.05, eight, "minimal", "minimal"},
		{"slower", 0.5, 0.9, eight, "slower", Inconclusive},
		{"slower or not", 0.9, 1.0, eight, Inconclusive, Inconclusive},
		{"too few quartets", 1.6, 1.7, eight[:7], Inconclusive, Inconclusive},
		{"no interval", math.NaN(), 1.7, eight, Inconclusive, Inconclusive},
	} {
		got := Decide(record.Ratio{CI95: [2]float64{c.lo, c.hi}, Quartets: c.quartets}, cuts, "slower")
		if got.Class != c.class || got.AtLeast != c.atLeast {
			t.Errorf("%s: %+v, want %s, at least %s", c.name, got, c.class, c.atLeast)
		}
	}
}
