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

// scripted is a Sampler whose launches take the time that a function of their number says,
// on a virtual clock.
type scripted struct {
	VirtualClock
	launch   func(i int) time.Duration // time of launch i
	edit     func(s *backend.Sample)   // last change to a sample
	after    func(samples int)         // called after each sample with their number
	calls    [][2]int                  // launches, samples of every call
	launches int
	samples  int
	lead     int // untimed launches before the first sample of each call
}

func (s *scripted) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	s.calls = append(s.calls, [2]int{launches, samples})
	var out []backend.Sample
	for range s.lead {
		s.t += s.launch(s.launches)
		s.launches++
	}
	for range samples {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		start := s.t
		for range launches {
			s.t += s.launch(s.launches)
			s.launches++
		}
		x := backend.Sample{StartNS: int64(start), EndNS: int64(s.t), Launches: launches, Switches: -1, RunDelayNS: -1, StealNS: -1}
		if len(out) == 0 {
			x.Untimed = s.lead
		}
		s.samples++
		if s.edit != nil {
			s.edit(&x)
		}
		if s.after != nil {
			s.after(s.samples)
		}
		out = append(out, x)
	}
	return out, nil
}

func constant(d time.Duration) *scripted {
	return &scripted{launch: func(int) time.Duration { return d }}
}

func runScripted(t *testing.T, s *scripted, o Options) (record.Time, Trace) {
	t.Helper()
	o.Now = s.Now
	got, trace, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return got, trace
}

func TestLaunchesAreCalibratedToTheLeastSample(t *testing.T) {
	for _, c := range []struct {
		launch time.Duration
		least  time.Duration
	}{
		{1 * time.Nanosecond, 0}, {130 * time.Nanosecond, 0}, {50 * time.Microsecond, 0}, {199 * time.Microsecond, 0},
		{time.Millisecond, 0}, {50 * time.Microsecond, time.Millisecond},
	} {
		got, trace := runScripted(t, constant(c.launch), Options{MinSample: c.least})
		least := max(c.least, 0)
		if least == 0 {
			least = 200 * time.Microsecond
		}
		lasts := time.Duration(got.Launches) * c.launch
		if lasts < least || got.Launches > 1 && lasts > 2*least+c.launch {
			t.Errorf("%v: %d launches last %v, want about %v", c.launch, got.Launches, lasts, least)
		}
		if got.MedianNS != float64(c.launch) || !trace.Converged || got.StopRule != StopInterval || len(got.SamplesNS) != 10 {
			t.Errorf("%v: median %v after %d samples, converged %v by %s", c.launch, got.MedianNS, len(got.SamplesNS), trace.Converged, got.StopRule)
		}
	}
}

func TestAColdFirstLaunchDoesNotLeaveSamplesShort(t *testing.T) {
	s := &scripted{launch: func(i int) time.Duration {
		if i == 0 {
			return 500 * time.Microsecond
		}
		return time.Microsecond
	}}
	if got, _ := runScripted(t, s, Options{}); got.Launches < 200 {
		t.Errorf("%d launches per sample, want at least 200", got.Launches)
	}
}

func TestWarmupWaitsUntilTheKernelIsSteady(t *testing.T) {
	// The clock ramps up over the first 300 ms of virtual time.
	s := &scripted{}
	s.launch = func(int) time.Duration {
		return time.Duration(50e3 * (1 + math.Exp(-float64(s.t)/float64(60*time.Millisecond))))
	}
	got, trace := runScripted(t, s, Options{})
	if !got.WarmupConverged || math.Abs(got.MedianNS/50e3-1) > 0.1 || len(trace.Windows) < 3 {
		t.Errorf("median %v after windows %v, converged %v", got.MedianNS, trace.Windows, got.WarmupConverged)
	}
	if got.WarmupLaunches < 1 || got.WarmupNS < 20e6 {
		t.Errorf("warm-up of %d launches and %v ns", got.WarmupLaunches, got.WarmupNS)
	}
}

func TestWarmupThatNeverSettlesEndsAtItsLimit(t *testing.T) {
	s := &scripted{}
	s.launch = func(int) time.Duration { // each call, and so each window, is 20 % slower or faster than the last
		return time.Duration(300e3 * (1 + 0.2*float64(len(s.calls)%2)))
	}
	got, trace := runScripted(t, s, Options{WarmupMax: 200 * time.Millisecond})
	if got.WarmupConverged || got.WarmupNS > 200e6 || got.WarmupNS < 150e6 || len(trace.Windows) < 10 {
		t.Errorf("warm-up of %v ns in %d windows, converged %v", got.WarmupNS, len(trace.Windows), got.WarmupConverged)
	}
}

func TestAPreemptedFirstLaunchDoesNotSetTheSamplesOfFixedCounts(t *testing.T) {
	for _, o := range []Options{{Trials: 5}, {Trials: 5, Warmup: 1}, {Warmup: 1}} {
		s := &scripted{launch: func(i int) time.Duration {
			if i == 0 {
				return 4 * time.Millisecond // 20 samples' worth
			}
			return time.Microsecond
		}}
		if got, _ := runScripted(t, s, o); got.Launches < 200 {
			t.Errorf("trials %d, warm-up %d: %d launches of 1 µs per sample, want at least 200", o.Trials, o.Warmup, got.Launches)
		}
	}
}

func TestAKernelThatGetsFasterIsCalibratedAgain(t *testing.T) {
	s := &scripted{}
	s.launch = func(int) time.Duration {
		if s.t < 8*time.Millisecond {
			return 100 * time.Microsecond
		}
		return 10 * time.Microsecond
	}
	if got, _ := runScripted(t, s, Options{}); got.Launches < 18 {
		t.Errorf("%d launches of 10 µs per sample", got.Launches)
	}
}

func TestSlowKernelsStillGiveSamples(t *testing.T) {
	for _, c := range []struct {
		name    string
		launch  time.Duration
		samples int
		rule    string
	}{
		{"budget for two", 900 * time.Millisecond, 3, StopBudget},
		{"slower than the budget", 2500 * time.Millisecond, 2, StopBudget},
		{"slower than three budgets", 10 * time.Second, 1, StopBudget},
	} {
		got, trace := runScripted(t, constant(c.launch), Options{})
		if len(got.SamplesNS) != c.samples || got.StopRule != c.rule || trace.Converged || got.MedianNS != float64(c.launch) {
			t.Errorf("%s: %d samples, %s, converged %v, median %v", c.name, len(got.SamplesNS), got.StopRule, trace.Converged, got.MedianNS)
		}
	}
}

func TestNoisyKernelStopsOnTheBudgetWithItsWidth(t *testing.T) {
	src, err := NewNoiseSource(Noise{Sigma: 0.08, Rho: 0.8}, 1)
	if err != nil {
		t.Fatal(err)
	}
	clock := &VirtualClock{}
	got, trace, err := Run(context.Background(), &Simulated{clock, time.Millisecond, src}, Options{Budget: 100 * time.Millisecond, Now: clock.Now})
	if err != nil || trace.Converged || got.StopRule != StopBudget || got.RelHalfWidth <= 0.005 {
		t.Errorf("converged %v, rule %s, width %v, err %v", trace.Converged, got.StopRule, got.RelHalfWidth, err)
	}
	if n := len(got.SamplesNS); n < 60 || n > 140 {
		t.Errorf("%d samples of 1 ms in 100 ms", n)
	}
	if last := trace.Looks[len(trace.Looks)-1]; last.N != len(got.SamplesNS) || last.RelHalfWidth != got.RelHalfWidth {
		t.Errorf("the last look %+v is not what is reported (%d, %v)", last, len(got.SamplesNS), got.RelHalfWidth)
	}
}

func TestLooksAreAtDoublingCounts(t *testing.T) {
	for _, quick := range []bool{false, true} {
		src, _ := NewNoiseSource(Noise{Sigma: 0.05}, 1)
		clock := &VirtualClock{}
		_, trace, err := Run(context.Background(), &Simulated{clock, time.Millisecond, src}, Options{Quick: quick, MaxSamples: 60, Now: clock.Now})
		var ns []int
		for _, l := range trace.Looks {
			ns = append(ns, l.N)
		}
		want := []int{10, 20, 40, 60}
		if quick {
			want = []int{7, 14, 28, 56, 60}
		}
		if err != nil || !slices.Equal(ns, want[:len(ns)]) || len(ns) < 3 {
			t.Errorf("quick %v: looks at %v, want %v; err %v", quick, ns, want, err)
		}
	}
}

func TestTrialsReplaceTheRule(t *testing.T) {
	for _, c := range []struct {
		name                      string
		launch                    time.Duration
		o                         Options
		launches, samples, warmup int
	}{
		{"calibrated launches", 100 * time.Microsecond, Options{Trials: 12, Warmup: 50}, 3, 12, 50},
		{"a launch as long as a sample", 300 * time.Microsecond, Options{Trials: 4, Warmup: 9}, 1, 4, 9},
		{"fixed launches, exact warm-up", 100 * time.Microsecond, Options{Trials: 5, Warmup: 7, Launches: 2}, 2, 5, 7},
		{"fixed launches, no warm-up", 100 * time.Microsecond, Options{Trials: 1, Launches: 1}, 1, 1, 0},
		{"more calibration than warm-up asked for", 100 * time.Microsecond, Options{Trials: 5, Warmup: 1}, 3, 5, 8},
	} {
		s := constant(c.launch)
		got, trace := runScripted(t, s, c.o)
		if got.Launches != c.launches || len(got.SamplesNS) != c.samples || got.WarmupLaunches != c.warmup || got.StopRule != StopTrials || !trace.Converged {
			t.Errorf("%s: %d launches, %d samples, %d warm-up launches, %s", c.name, got.Launches, len(got.SamplesNS), got.WarmupLaunches, got.StopRule)
		}
		if want := c.warmup + c.launches*c.samples; s.launches != want {
			t.Errorf("%s: %d launches ran, want %d", c.name, s.launches, want)
		}
	}
}

func TestCancellingKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := constant(time.Millisecond)
	s.after = func(n int) {
		if n == 25 {
			cancel()
		}
	}
	got, trace, err := Run(ctx, s, Options{Trials: 1000, Launches: 1, Warmup: 5, Now: s.Now})
	if !errors.Is(err, context.Canceled) || len(got.SamplesNS) != 20 || got.MedianNS != 1e6 || got.StopRule != StopInterrupted || trace.Converged {
		t.Errorf("%d samples, median %v, rule %s, err %v", len(got.SamplesNS), got.MedianNS, got.StopRule, err)
	}
}

func TestCancelledBeforeTheFirstSampleIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := constant(time.Millisecond)
	got, _, err := Run(ctx, s, Options{Now: s.Now})
	if !errors.Is(err, context.Canceled) || len(got.SamplesNS) != 0 || len(s.calls) != 0 {
		t.Errorf("err %v, %d samples, %d calls", err, len(got.SamplesNS), len(s.calls))
	}
}

func TestADeadlineShortensTheBudget(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	src, _ := NewNoiseSource(Noise{Sigma: 0.09}, 1)
	s := &Spun{Spinner: BusySpin{}, Launch: time.Millisecond, Source: src}
	got, _, err := Run(ctx, s, Options{RelHalfWidth: 1e-6})
	if err != nil || got.StopRule != StopBudget || len(got.SamplesNS) < 3 {
		t.Errorf("%d samples, rule %s, err %v: expected to stop before the deadline", len(got.SamplesNS), got.StopRule, err)
	}
}

func TestDisturbedSamplesAreFlaggedAndKept(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*backend.Sample)
		want bool
	}{
		{"quiet", func(s *backend.Sample) { s.Switches, s.RunDelayNS, s.StealNS = 0, 0, 0 }, false},
		{"unknown", func(s *backend.Sample) {}, false},
		{"switched", func(s *backend.Sample) { s.Switches = 1 }, true},
		{"delay of 0.9 %", func(s *backend.Sample) { s.RunDelayNS = 9_000 }, false},
		{"delay of 1.1 %", func(s *backend.Sample) { s.RunDelayNS = 11_000 }, true},
		{"steal of 1.1 %", func(s *backend.Sample) { s.StealNS = 11_000 }, true},
	} {
		s := constant(time.Millisecond)
		s.edit = func(x *backend.Sample) {
			if s.samples%4 == 0 {
				c.edit(x)
			}
		}
		got, _ := runScripted(t, s, Options{Trials: 8, Launches: 1})
		var want []int
		if c.want {
			want = []int{3, 7}
		}
		if !slices.Equal(got.Disturbed, want) || len(got.SamplesNS) != 8 {
			t.Errorf("%s: disturbed %v of %d, want %v", c.name, got.Disturbed, len(got.SamplesNS), want)
		}
	}
}

// answer gives the same samples to every call.
type answer struct {
	samples []backend.Sample
	err     error
}

func (a answer) Measure(context.Context, int, int) ([]backend.Sample, error) { return a.samples, a.err }

func TestAnswersThatAreNoTimesAreErrors(t *testing.T) {
	failed := errors.New("device lost")
	for _, c := range []struct {
		name string
		a    answer
		want error
	}{
		{"no samples", answer{}, nil},
		{"time runs backwards", answer{samples: []backend.Sample{{StartNS: 5, EndNS: 4, Launches: 1}}}, nil},
		{"no launches", answer{samples: []backend.Sample{{StartNS: 5, EndNS: 9}}}, nil},
		{"zero duration", answer{samples: []backend.Sample{{StartNS: 5, EndNS: 5, Launches: 1}}}, nil},
		{"device error", answer{err: failed}, failed},
	} {
		_, _, err := Run(context.Background(), c.a, Options{Trials: 3, Launches: 1})
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: err %v", c.name, err)
		}
	}
	if _, _, err := Run(context.Background(), answer{}, Options{Budget: -1}); err == nil {
		t.Error("a negative budget was accepted")
	}
}

func TestSoakRunsBackToBackAndReportsItsEdges(t *testing.T) {
	s := constant(time.Millisecond)
	s.t = 5 * time.Second
	got, err := Soak(context.Background(), s, 3, 2*time.Second, s.Now)
	if err != nil || got.Start != 5*time.Second || got.End-got.Start < 2*time.Second || got.End-got.Start > 2*time.Second+6*time.Millisecond {
		t.Errorf("%+v, err %v", got, err)
	}
	if got.Launches != int64(s.launches) || time.Duration(got.Launches)*time.Millisecond != got.End-got.Start {
		t.Errorf("%d launches reported, %d run in %v", got.Launches, s.launches, got.End-got.Start)
	}
	for _, call := range s.calls {
		if time.Duration(call[0]*call[1])*time.Millisecond > soakBurst {
			t.Errorf("a call of %v launches is longer than %v", call, soakBurst)
		}
	}
}

// The energy of a launch is that of the phase over all launches in it.
func TestASoakCountsUntimedLaunches(t *testing.T) {
	s := constant(time.Millisecond)
	s.lead = 7
	got, err := Soak(context.Background(), s, 3, 2*time.Second, s.Now)
	if err != nil || time.Duration(got.Launches)*time.Millisecond != got.End-got.Start || got.Launches != int64(s.launches) || len(s.calls) < 10 {
		t.Errorf("%d launches in %v, %d run in %d calls, err %v", got.Launches, got.End-got.Start, s.launches, len(s.calls), err)
	}
}

func TestACancelledSoakReportsWhatRan(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := constant(time.Millisecond)
	s.after = func(n int) {
		if n == 10 {
			cancel()
		}
	}
	got, err := Soak(ctx, s, 1, time.Hour, s.Now)
	if !errors.Is(err, context.Canceled) || got.Launches != 10 || got.End != 10*time.Millisecond {
		t.Errorf("%+v, err %v", got, err)
	}
	if _, err := Soak(ctx, s, 0, time.Second, s.Now); err == nil {
		t.Error("0 launches were accepted")
	}
}

// A prepared program of any platform can be measured.
var _ Sampler = backend.Executable(nil)
