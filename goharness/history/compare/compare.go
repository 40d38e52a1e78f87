// Package compare tells two sets of measurements apart: two documents (Documents) or two builds
// of ridge on one machine (Interleave).
//
// # Two documents
//
// Samples of one run know nothing of the next: clocks, pages and neighbours differ from run to
// run. The effect of a case is x = ln(cost in NEW / cost in OLD), above 0 where NEW is slower,
// with the variance
//
//	se² = within_OLD² + within_NEW² + 2·drift²
//
// within is the standard error of the median from the stored samples, with the effective count of package
// measure, moderated by those of the other cases; drift is the relative standard deviation of a level from run to run, see Drift. The degrees of
// freedom are Welch and Satterthwaite's. The interval of a case holds for all cases together
// (Holm 1979): the k-th most significant of m is held to the level 1 − 0.05/(m−k).
//
// A case is slower or faster when its interval lies beyond the threshold, same when it lies within,
// ambiguous otherwise. It is clock when the change vanishes in cycles.
package compare

import (
	"fmt"
	"math"
	"slices"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// Schema of a comparison's JSON.
const Schema = "ridge.comparison/1"

// Outcome of a case.
type Outcome string

// The outcomes. Only Slower is a regression.
const (
	Slower        Outcome = "slower"         // the interval lies beyond the threshold
	Faster        Outcome = "faster"         // likewise
	Clock         Outcome = "clock"          // the change in time vanishes in cycles
	Same          Outcome = "same"           // the interval lies within the threshold
	Ambiguous     Outcome = "ambiguous"      // the interval reaches over the threshold
	New           Outcome = "new"            // only in NEW
	Gone          Outcome = "gone"           // only in OLD
	NotComparable Outcome = "not comparable" // the reason says why
)

// Outcomes in display order.
var Outcomes = []Outcome{Slower, Faster, Clock, NotComparable, New, Gone, Ambiguous, Same}

// Options of Documents. The zero value means a threshold of 3 %, times, and drift from the probes.
type Options struct {
	Threshold float64 // relative change that matters; 0 means 0.03
	Metric    Metric  // "" means Time
	// Drift from the history, in place of that of the documents' probes.
	Drift *Drift
}

// DefaultThreshold is the least change that is called by default.
const DefaultThreshold = 0.03

// Comparison is what two documents or two builds say of each other.
type Comparison struct {
	Schema      string          `json:"schema"`
	Interleaved bool            `json:"interleaved"`
	Old         Side            `json:"old"`
	New         Side            `json:"new"`
	Metric      Metric          `json:"metric"`
	Unit        string          `json:"unit"`
	Threshold   float64         `json:"threshold"`
	Confidence  float64         `json:"confidence"`
	Drift       *Drift          `json:"drift,omitempty"`
	ProbeShift  *Shift          `json:"probe_shift,omitempty"`
	Counts      map[Outcome]int `json:"counts"`
	Attributed  []string        `json:"attributions"`
	Warnings    []string        `json:"warnings"`
	Cases       []Case          `json:"cases"`
}

// Side is one of the two.
type Side struct {
	Name     string `json:"name"`
	RunID    string `json:"run_id,omitempty"`
	Created  string `json:"created,omitempty"`
	Host     string `json:"host,omitempty"`
	Chip     string `json:"chip,omitempty"`
	Version  string `json:"version,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// Case is one case in both.
type Case struct {
	ID      string  `json:"id"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Old and New are in the comparison's unit.
	Old float64 `json:"old,omitempty"`
	New float64 `json:"new,omitempty"`
	// Ratio of costs, NEW over OLD: above 1 NEW is slower (for rates: has the lower rate).
	Ratio float64     `json:"cost_ratio,omitempty"`
	CI    *[2]float64 `json:"cost_ratio_ci,omitempty"`
	// Level that the interval has for this case alone, so that all hold at the comparison's confidence.
	Level float64 `json:"level,omitempty"`
	// Within and Between are the standard errors of ln ratio within the runs and between them.
	Within  float64 `json:"within,omitempty"`
	Between float64 `json:"between,omitempty"`
	// Cycles is the ratio of costs in cycles, where both clocks are known.
	Cycles     float64  `json:"cycles_ratio,omitempty"`
	Attributed []string `json:"attributions,omitempty"`
	// Rounds are the ratios of the rounds of builds that ran in turn.
	Rounds []float64 `json:"rounds,omitempty"`

	old, new *item
}

// Documents compares two documents case by case.
func Documents(old, new *record.Calibration, o Options) (Comparison, error) {
	if o.Threshold == 0 {
		o.Threshold = DefaultThreshold
	}
	if !(o.Threshold > 0 && o.Threshold < 1) {
		return Comparison{}, fmt.Errorf("threshold %v: expected more than 0 and less than 1 (100 %%)", o.Threshold)
	}
	if o.Metric == "" {
		o.Metric = Time
	}
	if !slices.Contains(Metrics, o.Metric) {
		return Comparison{}, fmt.Errorf("metric %q: expected one of %s", o.Metric, MetricNames())
	}
	c := Comparison{Schema: Schema, Old: sideOf(old), New: sideOf(new), Metric: o.Metric, Unit: o.Metric.unit(),
		Threshold: o.Threshold, Confidence: measure.Confidence}
	a, err := items(old, o.Metric)
	if err != nil {
		return Comparison{}, fmt.Errorf("OLD: %w", err)
	}
	b, err := items(new, o.Metric)
	if err != nil {
		return Comparison{}, fmt.Errorf("NEW: %w", err)
	}
	c.Cases = match(a, b)
	drift, cycles, shift := probeDrift(old, new)
	if o.Drift != nil {
		drift = *o.Drift
		cycles = drift
	}
	c.Drift, c.ProbeShift = &drift, shift
	c.judge(drift, cycles)
	c.Attributed = documentChanges(old, new)
	c.warn(o)
	c.count()
	return c, nil
}

func sideOf(d *record.Calibration) Side {
	s := Side{RunID: d.RunID, Created: d.Created, Host: d.Host.Hostname, Version: d.Tool.Version, Revision: d.Tool.Revision, Chip: d.Host.CPU.Model}
	if d.Host.Name != "" {
		s.Host = d.Host.Name
	}
	for _, dev := range d.Devices {
		if dev.ID != "cpu" {
			s.Chip = dev.Name
		}
	}
	return s
}

// judge gives every comparable case its interval and outcome.
func (c *Comparison) judge(drift, inCycles Drift) {
	var at []int
	var within []spread
	for i := range c.Cases {
		if k := &c.Cases[i]; k.Outcome == "" {
			at, within = append(at, i), append(within, add(k.old.within, k.new.within))
		}
	}
	within = moderate(within)
	var tests, cycles []test
	for n, i := range at {
		k := &c.Cases[i]
		k.Old, k.New = k.old.value, k.new.value
		x := k.new.cost - k.old.cost
		tests = append(tests, combine(x, within[n], drift))
		k.Ratio, k.Within, k.Between = ratioOf(x), within[n].se, math.Sqrt2*drift.PerRun
		k.Attributed = k.old.changes(k.new)
		y := test{x: math.NaN()}
		if o, n2 := k.old.clock, k.new.clock; o > 0 && n2 > 0 && c.Metric.timed() {
			y = combine(x+math.Log(n2/o), within[n], inCycles)
			k.Cycles = ratioOf(y.x)
		}
		cycles = append(cycles, y)
	}
	edge := math.Log1p(c.Threshold)
	levels := holm(tests, edge, 1-c.Confidence)
	for n, i := range at {
		k, t := &c.Cases[i], tests[n]
		half := t.half(levels[n])
		k.Level = levels[n]
		k.CI = &[2]float64{ratioOf(t.x - half), ratioOf(t.x + half)}
		k.Outcome = outcomeOf(t.x-half, t.x+half, edge)
		y := cycles[n]
		if math.IsNaN(y.x) || math.Abs(t.x) <= edge || math.Abs(y.x) > edge {
			continue
		}
		// In cycles there is no change. Where the time is called, that alone takes the call back; where it
		// is not, the interval in cycles must say so.
		if k.Outcome == Slower || k.Outcome == Faster || k.Outcome == Ambiguous && math.Abs(y.x)+y.half(levels[n]) <= edge {
			k.Outcome = Clock
			k.Reason = fmt.Sprintf("%+.1f %% in cycles: the clock went from %.2f to %.2f GHz", 100*(k.Cycles-1), k.old.clock, k.new.clock)
		}
	}
}

// ratioOf a logarithm, as a number that JSON can hold and that has an inverse.
func ratioOf(x float64) float64 { return math.Exp(math.Min(math.Max(x, -700), 700)) }

// outcomeOf an interval of ln cost ratio.
func outcomeOf(lo, hi, edge float64) Outcome {
	switch {
	case lo > edge:
		return Slower
	case hi < -edge:
		return Faster
	case lo >= -edge && hi <= edge:
		return Same
	}
	return Ambiguous
}

func (c *Comparison) warn(o Options) {
	c.Warnings = []string{}
	if c.Drift.Assumed {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the drift between the runs is assumed (%.1f %%): %s. Keep the runs in the history, or use compare --interleave", 100*c.Drift.PerRun, c.Drift.Source))
	}
	if s := c.ProbeShift; s != nil && math.Abs(math.Log(s.Ratio)) > math.Log1p(c.Threshold) {
		what := "one pair of runs cannot tell for how long. Measure again, keep a history, or use compare --interleave"
		if o.Drift != nil {
			what = "what cases share with the probes is the machine's and no build's"
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf("the probes, which no build changes, took %+.1f %% time in NEW (median of %d): the machine itself was in another state: %s", 100*(s.Ratio-1), s.Probes, what))
	}
	broken := 0
	for _, k := range c.Cases {
		if k.new != nil && k.old != nil && k.old.unusable == "" && k.new.broken {
			broken++
		}
	}
	if broken > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d cases that OLD could measure are wrong, invalid, crashed or timed out in NEW (not comparable)", broken))
	}
}

func (c *Comparison) count() {
	c.Counts = map[Outcome]int{}
	for _, k := range c.Cases {
		c.Counts[k.Outcome]++
	}
	if c.Attributed == nil {
		c.Attributed = []string{}
	}
	if c.Cases == nil {
		c.Cases = []Case{}
	}
	slices.SortStableFunc(c.Cases, func(a, b Case) int {
		return slices.Index(Outcomes, a.Outcome) - slices.Index(Outcomes, b.Outcome)
	})
}

// Regressions are the cases that got slower.
func (c *Comparison) Regressions() []Case {
	var out []Case
	for _, k := range c.Cases {
		if k.Outcome == Slower {
			out = append(out, k)
		}
	}
	return out
}
