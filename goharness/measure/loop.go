package measure

import (
	"context"
	"fmt"
	"math"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// Sampler takes timed samples of launches launches each, back to back. A prepared
// backend.Executable is one. When ctx ends it may return fewer samples with ctx's error.
type Sampler interface {
	Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error)
}

// Stop rules recorded in record.Time.
const (
	StopInterval    = "interval"    // the interval became narrow enough
	StopBudget      = "budget"      // the time or the sample budget was used up
	StopTrials      = "trials"      // the number of samples asked for was reached
	StopInterrupted = "interrupted" // the context ended or the device failed
)

// Options of Run. The zero value means DESIGN's numbers for a CPU.
type Options struct {
	// MinSample is the least duration of a sample; 0 means 200 µs. GPUs use 1 ms.
	MinSample time.Duration
	// Quick looks at 7, 14, 28, … samples and asks for ±2 % instead of 10, 20, 40, … and ±0.5 %.
	Quick bool
	// FirstLook and RelHalfWidth override the first n tested and the half width asked for,
	// relative to the median; 0 leaves what Quick says.
	FirstLook    int
	RelHalfWidth float64
	// Budget is the time for sampling, without calibration and warm-up; 0 means 2 s. At
	// least MinSamples samples are taken (0 means 3) while they end within three budgets,
	// and always one.
	Budget     time.Duration
	MinSamples int
	// MaxSamples bounds the samples kept; 0 means FirstLook·2⁹ (5,120).
	MaxSamples int
	// WarmupMax bounds the warm-up; 0 means 1 s. WarmupWindow is the least length of one
	// of the windows that must agree within WarmupAgree; 0 means 10 ms and 0.02.
	WarmupMax    time.Duration
	WarmupWindow time.Duration
	WarmupAgree  float64
	// Launches fixes the launches per sample; 0 calibrates them to MinSample.
	Launches int
	// Trials > 0 replaces the stop rule: exactly so many samples, each of the calibrated
	// launches (one launch where a single one lasts MinSample, or Launches where given).
	Trials int
	// Warmup replaces the warm-up rule when it or Trials is above 0: so many launches before
	// the first sample. Calibration launches count among them; where calibration needs more,
	// the higher number is run and recorded. With Launches set nothing is calibrated, so the
	// number is exact.
	Warmup int
	// Now is the clock that budgets are counted on; nil means MonotonicNow.
	Now func() time.Duration
}

// Trace tells how a measurement went.
type Trace struct {
	Samples   []backend.Sample // as the device gave them
	Windows   []float64        // warm-up windows: median time of one launch in ns
	Looks     []Look           // tests of the stop rule
	Converged bool             // the interval is as narrow as asked for, or Trials was reached
	Wanted    float64          // relative half width asked for
	Elapsed   time.Duration    // calibration, warm-up and sampling
}

// Look is one test of the stop rule.
type Look struct {
	N            int
	EffectiveN   float64
	RelHalfWidth float64
	Confidence   float64
}

// relHalfWidth of an interval that is narrow enough by default.
func relHalfWidth(quick bool) float64 {
	if quick {
		return 0.02
	}
	return 0.005
}

func (o Options) withDefaults() (Options, error) {
	first := 10
	if o.Quick {
		first = 7
	}
	setDefault(&o.MinSample, 200*time.Microsecond)
	setDefault(&o.FirstLook, first)
	setDefault(&o.RelHalfWidth, relHalfWidth(o.Quick))
	setDefault(&o.Budget, 2*time.Second)
	setDefault(&o.MinSamples, 3)
	setDefault(&o.MaxSamples, o.FirstLook<<9)
	setDefault(&o.WarmupMax, time.Second)
	setDefault(&o.WarmupWindow, 10*time.Millisecond)
	setDefault(&o.WarmupAgree, 0.02)
	if o.Now == nil {
		o.Now = MonotonicNow
	}
	for name, v := range map[string]float64{
		"MinSample": float64(o.MinSample), "FirstLook": float64(o.FirstLook), "RelHalfWidth": o.RelHalfWidth,
		"Budget": float64(o.Budget), "MinSamples": float64(o.MinSamples), "MaxSamples": float64(o.MaxSamples),
		"WarmupMax": float64(o.WarmupMax), "WarmupWindow": float64(o.WarmupWindow), "WarmupAgree": o.WarmupAgree,
		"Launches": float64(o.Launches), "Trials": float64(o.Trials), "Warmup": float64(o.Warmup),
	} {
		if !(v >= 0) {
			return o, fmt.Errorf("measure options: %s is %v: expected 0 (default) or more", name, v)
		}
	}
	return o, nil
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// lookConfidence is the level of look k = 1, 2, … of the stop rule: looking again and again
// for a narrow interval favours samples that happen to look quiet, so later looks are held
// to a stricter level.
func lookConfidence(k int) float64 { return 1 - (1-Confidence)/float64(k) }

// Run calibrates, warms up and samples s until the interval of the median is as narrow as
// asked for, the budget is used up, or Trials samples are taken. When ctx ends it returns what was
// measured, if anything, with ctx's error. Disturbed samples are flagged and kept.
func Run(ctx context.Context, s Sampler, o Options) (record.Time, Trace, error) {
	o, err := o.withDefaults()
	if err != nil {
		return record.Time{}, Trace{}, err
	}
	r := &run{taker: taker{ctx: ctx, s: s, now: o.Now}, o: o}
	begin := o.Now()
	r.trace.Wanted = o.RelHalfWidth
	if err = r.prepare(); err == nil {
		err = r.sample()
	}
	r.trace.Elapsed = o.Now() - begin
	t, sumErr := r.time()
	if err == nil {
		err = sumErr
	}
	return t, r.trace, err
}

// taker takes checked samples.
type taker struct {
	ctx context.Context
	s   Sampler
	now func() time.Duration
}

// take measures and refuses answers that no clock can give. It returns the good samples
// before an error with it.
func (t taker) take(launches, samples int) ([]backend.Sample, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	got, err := t.s.Measure(t.ctx, launches, samples)
	for i, s := range got {
		if s.Launches < 1 || s.EndNS < s.StartNS {
			return got[:i], fmt.Errorf("sample %d of %d×%d launches: %d launches from %d to %d ns is not a time: check the device's clock",
				i, samples, launches, s.Launches, s.StartNS, s.EndNS)
		}
	}
	if err != nil {
		return got, fmt.Errorf("taking %d samples of %d launches: %w", samples, launches, err)
	}
	if len(got) == 0 {
		return nil, fmt.Errorf("taking %d samples of %d launches: the device returned none", samples, launches)
	}
	return got, nil
}

type run struct {
	taker
	o        Options
	launches int
	warm     warmth
	stop     string
	trace    Trace
}

// sample takes the samples that count.
func (r *run) sample() error {
	if r.o.Trials > 0 {
		for len(r.trace.Samples) < r.o.Trials {
			if err := r.add(r.o.Trials - len(r.trace.Samples)); err != nil {
				return err
			}
		}
		r.stop, r.trace.Converged = StopTrials, true
		return nil
	}
	begin := r.now()
	budget, grace := r.o.Budget, 3*r.o.Budget
	if dl, ok := r.ctx.Deadline(); ok {
		// Stop of one's own accord before the deadline, with a tenth left for the report.
		left := time.Until(dl) * 9 / 10
		budget, grace = min(budget, left), min(grace, left)
	}
	for look := 1; ; look++ {
		target := min(r.o.FirstLook<<(look-1), r.o.MaxSamples)
		for len(r.trace.Samples) < target {
			n := r.affordable(budget, grace, r.now()-begin)
			if n == 0 {
				return r.end(look)
			}
			if err := r.add(min(n, target-len(r.trace.Samples))); err != nil {
				return err
			}
		}
		narrow, err := r.look(look)
		if err != nil {
			return err
		}
		if narrow {
			r.stop, r.trace.Converged = StopInterval, true
			return nil
		}
		if target >= r.o.MaxSamples {
			r.stop = StopBudget
			return nil
		}
	}
}

// end stops on the budget; the samples since the last look may have made the interval narrow.
func (r *run) end(look int) error {
	r.stop = StopBudget
	if n := len(r.trace.Looks); n > 0 && r.trace.Looks[n-1].N == len(r.trace.Samples) {
		return nil
	}
	narrow, err := r.look(look)
	if narrow {
		r.stop, r.trace.Converged = StopInterval, true
	}
	return err
}

// affordable is the number of samples to take at once: half of those that fit into what is
// left of the budget, so that a wrong estimate of their time corrects itself on the way.
func (r *run) affordable(budget, grace, spent time.Duration) int {
	have := len(r.trace.Samples)
	each := r.warm.sample
	if have > 0 {
		each = max(spent/time.Duration(have), 1)
	}
	n := int(math.Max(0, float64(budget-spent)/float64(max(each, 1))))
	if n == 0 && have < r.o.MinSamples && (have == 0 || spent+each <= grace) {
		return 1
	}
	return (n + 1) / 2
}

func (r *run) add(n int) error {
	got, err := r.take(r.launches, n)
	for i, s := range got {
		if s.EndNS == s.StartNS {
			return fmt.Errorf("sample %d of %d launches took 0 ns: the device's clock is too coarse for %d launches; raise the launches per sample",
				len(r.trace.Samples)+i, r.launches, s.Launches)
		}
		r.trace.Samples = append(r.trace.Samples, s)
	}
	return err
}

func (r *run) look(k int) (bool, error) {
	s, err := Summarize(launchTimes(r.trace.Samples), lookConfidence(k))
	if err != nil {
		return false, err
	}
	r.trace.Looks = append(r.trace.Looks, Look{s.N, s.EffectiveN, s.RelHalfWidth, s.Confidence})
	return s.RelHalfWidth <= r.o.RelHalfWidth && s.N >= leastForLag1, nil
}

// time makes the record of what was measured; without a sample it is empty but for the warm-up.
func (r *run) time() (record.Time, error) {
	out := record.Time{
		Launches: r.launches, StopRule: r.stop,
		WarmupNS: float64(r.warm.ns), WarmupLaunches: r.warm.launches, WarmupConverged: r.warm.converged,
	}
	if out.StopRule == "" {
		out.StopRule = StopInterrupted
	}
	if len(r.trace.Samples) == 0 {
		return out, nil
	}
	level := Confidence
	if n := len(r.trace.Looks); n > 0 {
		level = r.trace.Looks[n-1].Confidence
	}
	err := describe(&out, r.trace.Samples, level)
	return out, err
}

// describe fills the distribution's fields of t from samples.
func describe(t *record.Time, samples []backend.Sample, level float64) error {
	t.Disturbed = nil
	for i, x := range samples {
		if Disturbed(x) {
			t.Disturbed = append(t.Disturbed, i)
		}
	}
	return describeTimes(t, launchTimes(samples), level)
}

// describeTimes fills them from the times of one launch.
func describeTimes(t *record.Time, xs []float64, level float64) error {
	s, err := Summarize(xs, level)
	if err != nil {
		return fmt.Errorf("summarising the samples: %w", err)
	}
	t.MedianNS, t.CI95NS, t.RelHalfWidth = s.Median, [2]float64{s.Lo, s.Hi}, s.RelHalfWidth
	t.MinNS, t.MaxNS, t.MeanNS, t.StdNS, t.MADNS = s.Min, s.Max, s.Mean, s.Std, s.MAD
	t.P90NS, t.P95NS, t.P99NS = s.P90, s.P95, s.P99
	t.Lag1, t.EffectiveN = s.Lag1, s.EffectiveN
	t.SamplesNS = xs
	return nil
}

// Disturbed reports whether the team lost its CPU during a sample: any involuntary switch,
// or run-queue delay or steal beyond 1 % of the sample. Unknown (−1) is no disturbance.
func Disturbed(s backend.Sample) bool {
	limit := float64(s.EndNS-s.StartNS) / 100
	return s.Switches > 0 || float64(s.RunDelayNS) > limit || float64(s.StealNS) > limit
}

func launchTimes(samples []backend.Sample) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = s.NS()
	}
	return out
}
