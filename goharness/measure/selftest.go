package measure

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"
)

// SelfTestOptions configure SelfTest.
type SelfTestOptions struct {
	Trials int    // simulated trials per row; 0 means 400
	Seed   uint64 // of the simulated noise
	// Spinner of the real-time part; nil leaves it out.
	Spinner Spinner
	// SpinBudget is the real time given to each spun kernel; 0 means 500 ms.
	SpinBudget time.Duration
}

// Goals of the self-test.
const (
	coverageGoal  = 0.90 // share of intervals that hold the truth
	falseGoal     = 0.05 // share of A/A comparisons that call a difference
	foundGoal     = 0.95 // share of comparisons that find a true 5 % difference
	spinTolerance = 0.01 // of the median of a spun kernel, or spinFloor
	spinFloor     = time.Microsecond
	simLaunch     = 40 * time.Microsecond
)

// Report of a self-test.
type Report struct {
	Trials int
	Rows   []ReportRow
}

// ReportRow is one property measured against its goal.
type ReportRow struct {
	Test   string
	Noise  string
	Value  float64 // a share, or for spun kernels the relative error of the median
	AtMost bool    // whether Goal is an upper limit
	Goal   float64
	Judged bool // rows that are only shown have no goal
	Detail string
}

// Passed reports whether the row reaches its goal.
func (r ReportRow) Passed() bool {
	switch {
	case !r.Judged:
		return true
	case math.IsNaN(r.Value):
		return false
	case r.AtMost:
		return r.Value <= r.Goal
	}
	return r.Value >= r.Goal
}

// Passed reports whether every judged row reaches its goal.
func (r Report) Passed() bool {
	for _, row := range r.Rows {
		if !row.Passed() {
			return false
		}
	}
	return len(r.Rows) > 0
}

// Write prints the report as a table.
func (r Report) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "test\tnoise\tmeasured\tgoal\tverdict\tdetail\n")
	for _, row := range r.Rows {
		goal, verdict := "-", "shown only"
		if row.Judged {
			goal, verdict = fmt.Sprintf("≥ %.1f %%", 100*row.Goal), "passed"
			if row.AtMost {
				goal = fmt.Sprintf("≤ %.1f %%", 100*row.Goal)
			}
			if !row.Passed() {
				verdict = "FAILED"
			}
		}
		fmt.Fprintf(tw, "%s\t%s\t%.1f %%\t%s\t%s\t%s\n", row.Test, row.Noise, 100*row.Value, goal, verdict, row.Detail)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("writing the self-test report: %w", err)
	}
	_, err := fmt.Fprintf(w, "%d simulated trials per row\n", r.Trials)
	return err
}

// SelfTest measures the measurement: how often the interval holds the truth, how often two
// equal kernels are called different, whether a 5 % difference is found, and, with a Spinner,
// whether the median of a kernel of known duration is right in real time.
func SelfTest(ctx context.Context, o SelfTestOptions) (Report, error) {
	if o.Trials < 0 || o.SpinBudget < 0 {
		return Report{}, fmt.Errorf("self-test of %d trials and %v: expected 0 (default) or more", o.Trials, o.SpinBudget)
	}
	setDefault(&o.Trials, 400)
	setDefault(&o.SpinBudget, 500*time.Millisecond)
	t := &selfTest{ctx: ctx, o: o, report: Report{Trials: o.Trials}}
	judged := SelfTestNoises()
	for i, n := range append(judged, SlowSteps()) {
		steps := []func(Noise, bool) error{t.coverage, t.compare}
		for _, step := range steps {
			if err := step(n, i < len(judged)); err != nil {
				return t.report, fmt.Errorf("self-test with noise %q: %w", n.Name, err)
			}
		}
	}
	if o.Spinner != nil {
		if err := t.spin(); err != nil {
			return t.report, fmt.Errorf("self-test in real time: %w", err)
		}
	}
	return t.report, nil
}

type selfTest struct {
	ctx    context.Context
	o      SelfTestOptions
	report Report
}

func (t *selfTest) add(row ReportRow) { t.report.Rows = append(t.report.Rows, row) }

// simulate makes two arms, the second faster by the given factor, that share clock and noise.
func (t *selfTest) simulate(n Noise, trial int, speedup float64) (a, b *Simulated, err error) {
	src, err := NewNoiseSource(n, t.o.Seed<<32+uint64(trial))
	if err != nil {
		return nil, nil, err
	}
	clock := &VirtualClock{}
	a = &Simulated{Clock: clock, Launch: time.Duration(math.Round(float64(simLaunch) * speedup)), Source: src}
	b = &Simulated{Clock: clock, Launch: simLaunch, Source: src}
	return a, b, nil
}

// coverage counts how often the interval holds the process's median: at fixed counts and where the
// stop rule ends.
func (t *selfTest) coverage(n Noise, judged bool) error {
	truth := n.Median() * float64(simLaunch)
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"coverage, 10 trials", Options{Trials: 10, Launches: 5}},
		{"coverage, 40 trials", Options{Trials: 40, Launches: 5}},
		{"coverage at stop, quick", Options{Quick: true}},
		{"coverage at stop", Options{}},
	} {
		var held, converged, samples int
		for trial := range t.o.Trials {
			_, s, err := t.simulate(n, trial, 1)
			if err != nil {
				return err
			}
			c.o.Now = s.Clock.Now
			got, trace, err := Run(t.ctx, s, c.o)
			if err != nil {
				return err
			}
			held += count(got.CI95NS[0] <= truth && truth <= got.CI95NS[1])
			converged += count(trace.Converged)
			samples += len(got.SamplesNS)
		}
		t.add(ReportRow{
			Test: c.name, Noise: n.Name, Value: t.share(held), Goal: coverageGoal, Judged: judged,
			Detail: fmt.Sprintf("%d samples on average, %.0f %% converged", samples/t.o.Trials, 100*t.share(converged)),
		})
	}
	return nil
}

// compare counts wrong and right findings of differences. Quartets cancel slow noise, so
// these rows are judged for every noise.
func (t *selfTest) compare(n Noise, _ bool) error {
	if err := t.ratios(n); err != nil {
		return err
	}
	for _, c := range []struct {
		name    string
		speedup float64
		o       CompareOptions
	}{
		{"A/A called different", 1, CompareOptions{Cuts: []float64{1}}},
		{"5 % difference found", 1.05, CompareOptions{Cuts: []float64{1}}},
	} {
		var different, held, quartets int
		for trial := range t.o.Trials {
			a, b, err := t.simulate(n, trial, c.speedup)
			if err != nil {
				return err
			}
			c.o.Now = a.Clock.Now
			compared, err := Compare(t.ctx, a, b, c.o)
			if err != nil {
				return err
			}
			r := compared.Ratio
			below, above := r.CI95[1] < 1, r.CI95[0] > 1
			different += count(above || below && c.speedup == 1)
			held += count(r.CI95[0] <= c.speedup && c.speedup <= r.CI95[1])
			quartets += len(r.Quartets)
		}
		row := ReportRow{Test: c.name, Noise: n.Name, Value: t.share(different), Goal: falseGoal, AtMost: true, Judged: true,
			Detail: fmt.Sprintf("%d quartets on average", quartets/t.o.Trials)}
		if c.speedup != 1 {
			row.Goal, row.AtMost = foundGoal, false
			row.Detail += fmt.Sprintf(", interval holds the truth in %.1f %%", 100*t.share(held))
		}
		t.add(row)
	}
	return nil
}

// ratios counts how often the interval of few quartets holds the true ratio.
func (t *selfTest) ratios(n Noise) error {
	const speedup = 1.2
	for _, quartets := range []int{MinQuartets, 2 * MinQuartets, 4 * MinQuartets} {
		var held int
		var width float64
		for trial := range t.o.Trials {
			a, b, err := t.simulate(n, trial, speedup)
			if err != nil {
				return err
			}
			got, err := Compare(t.ctx, a, b, CompareOptions{Quartets: quartets, Now: a.Clock.Now})
			if err != nil {
				return err
			}
			r := got.Ratio
			held += count(r.CI95[0] <= speedup && speedup <= r.CI95[1])
			width += HalfWidth(r) / float64(t.o.Trials)
		}
		t.add(ReportRow{Test: fmt.Sprintf("ratio, %d quartets", quartets), Noise: n.Name, Value: t.share(held), Goal: coverageGoal, Judged: true,
			Detail: fmt.Sprintf("±%.1f %% on average", 100*width)})
	}
	return nil
}

// spin measures kernels of known duration in real time.
func (t *selfTest) spin() error {
	noise := Noise{Name: "programmed, iid 1 %", Sigma: 0.01}
	for _, launch := range []time.Duration{20 * time.Microsecond, time.Millisecond} {
		src, err := NewNoiseSource(noise, t.o.Seed)
		if err != nil {
			return err
		}
		got, trace, err := Run(t.ctx, &Spun{Spinner: t.o.Spinner, Launch: launch, Source: src}, Options{Budget: t.o.SpinBudget})
		if err != nil {
			return err
		}
		truth := float64(launch) * noise.Median()
		t.add(ReportRow{
			Test: fmt.Sprintf("median of a %v spin", launch), Noise: noise.Name, AtMost: true, Judged: true,
			Value: math.Abs(got.MedianNS-truth) / truth, Goal: math.Max(spinTolerance, float64(spinFloor)/truth),
			Detail: fmt.Sprintf("%.0f ns, %d samples of %d launches, converged %v", got.MedianNS, len(got.SamplesNS), got.Launches, trace.Converged),
		})
	}
	return nil
}

func (t *selfTest) share(n int) float64 { return float64(n) / float64(t.o.Trials) }

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
