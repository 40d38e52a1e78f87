package measure

import (
	"context"
	"fmt"
	"math"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// MinQuartets is the least number of quartets a verdict is given on, LeastQuartetsOfVisit that of one of several visits.
const (
	MinQuartets          = 8
	LeastQuartetsOfVisit = MinQuartets / 2
)

// CompareOptions of Compare. The zero value means DESIGN's numbers for a CPU.
type CompareOptions struct {
	// MinSample, WarmupMax, WarmupWindow, WarmupAgree and Now are those of Options, and
	// hold for each arm.
	MinSample    time.Duration
	WarmupMax    time.Duration
	WarmupWindow time.Duration
	WarmupAgree  float64
	Now          func() time.Duration
	// Quick asks for ±2 % instead of ±0.5 % of the ratio; RelHalfWidth overrides both.
	Quick        bool
	RelHalfWidth float64
	// Cuts are the ratios the caller's classes change at. The comparison also ends when none of
	// them lies within the interval.
	Cuts []float64
	// Budget is the time for the quartets; 0 means 4 s. LeastQuartets of them (0 means MinQuartets) are taken while
	// they end within three budgets, and always one.
	Budget        time.Duration
	LeastQuartets int
	// MaxQuartets bounds the quartets; 0 means 256.
	MaxQuartets int
	// Quartets > 0 replaces the rule and the budget: exactly so many, tested once at 95 %.
	// Warmup launches of each arm then go before, as in Options.
	Quartets int
	Warmup   int
	// Launches of a sample, where they are known beforehand (one of programs that cannot take less than MinSample); 0 calibrates them, which takes two
	// launches of each arm at least.
	Launches int
	// Cold leaves out the untimed launches: caches hold nothing of use to either arm.
	Cold bool
	// Refill is the longest that loading into the caches what the other arm displaced can take. They are left out too
	// where a launch of either arm lasts Refills times as long (0: 50 times: half of each arm's samples are then slower by 2 % at most).
	Refill  time.Duration
	Refills int
	// Clear, above 1, ends a fixed number of Quartets early: from two on, once the whole interval is above Clear or below 1/Clear. 0: never.
	// Of Launches that are known to be long one quartet does, where its interval and the ratio of every sample to every sample of the other arm say so.
	Clear float64
}

// refills is what CompareOptions.Refills are where it is 0.
const refills = 50

// Compare measures a against b in quartets A B B A (every other four of them B A A B). Each sample follows a launch of the same arm, so that no arm
// meets the caches as the other left them (not when Cold): one untimed launch goes before the first sample of all and wherever the arm changes.
// The ratio of a quartet is (A₁+A₂)/(B₁+B₂), times of one launch: above 1 arm b is faster. A drift that is linear
// over a quartet cancels. SummarizeQuartets says which of them count and what they amount to.
//
// The interval is tested at 8, 16, 32, … quartets. Asking K times whether it clears a cut-off
// would find a difference where there is none K times as often, so each test, and the interval
// reported, has the level 1 − 0.05/K: the ratio's interval holds at 95 % for all tests together.
// When ctx ends, what was measured is returned with ctx's error.
func Compare(ctx context.Context, a, b Sampler, o CompareOptions) (Compared, error) {
	c, err := newComparison(ctx, a, b, o)
	if err != nil {
		return Compared{}, err
	}
	err = c.run()
	var out Compared
	var errs [3]error
	out.Ratio, errs[0] = c.ratio()
	for i, a := range c.arms {
		out.Times[i], errs[1+i] = a.record(c.stop)
		out.Samples[i] = a.samples
	}
	narrow := len(c.quartets) >= MinQuartets && HalfWidth(out.Ratio) <= c.o.RelHalfWidth
	out.Converged = c.stop == StopInterval || c.stop == StopTrials || c.stop == StopBudget && narrow
	for _, e := range errs {
		if err == nil {
			err = e
		}
	}
	return out, err
}

// HalfWidth is half the width of a ratio's interval over its value.
func HalfWidth(r record.Ratio) float64 { return (r.CI95[1] - r.CI95[0]) / 2 / r.Value }

// Compared is what a comparison measured.
type Compared struct {
	Ratio     record.Ratio
	Times     [2]record.Time
	Samples   [2][]backend.Sample // as the devices gave them, two a quartet
	Converged bool                // the ratio's interval is as narrow as asked for or clears the cuts, or Quartets was reached
}

type comparison struct {
	o        CompareOptions
	arms     [2]*arm
	last     int              // the arm that ran last, -1 before any
	ahead    []backend.Sample // the first sample of the next quartet, where it is there
	quartets []Quartet
	level    float64 // confidence of each look
	stop     string
	now      func() time.Duration
}

type arm struct {
	*run
	samples []backend.Sample
}

func newComparison(ctx context.Context, a, b Sampler, o CompareOptions) (*comparison, error) {
	setDefault(&o.Budget, 4*time.Second)
	setDefault(&o.MaxQuartets, 256)
	setDefault(&o.LeastQuartets, MinQuartets)
	setDefault(&o.Refills, refills)
	if o.Quartets < 0 {
		return nil, fmt.Errorf("compare options: Quartets is %d: expected 0 (the stop rule) or more", o.Quartets)
	}
	if o.LeastQuartets < 1 || o.LeastQuartets > MinQuartets {
		return nil, fmt.Errorf("compare options: LeastQuartets is %d: expected 1 to %d", o.LeastQuartets, MinQuartets)
	}
	if o.Clear != 0 && !(o.Clear > 1) {
		return nil, fmt.Errorf("compare options: Clear is %v: expected 0 or a ratio above 1", o.Clear)
	}
	if o.MaxQuartets < MinQuartets {
		return nil, fmt.Errorf("compare options: MaxQuartets is %d: expected at least %d", o.MaxQuartets, MinQuartets)
	}
	for _, c := range o.Cuts {
		if !(c > 0) || math.IsInf(c, 0) {
			return nil, fmt.Errorf("compare options: cut-off %v: expected a ratio above 0", c)
		}
	}
	ro, err := Options{
		MinSample: o.MinSample, WarmupMax: o.WarmupMax, WarmupWindow: o.WarmupWindow, WarmupAgree: o.WarmupAgree,
		Now: o.Now, Quick: o.Quick, RelHalfWidth: o.RelHalfWidth, Budget: o.Budget,
		Trials: o.Quartets, Warmup: o.Warmup, Launches: o.Launches,
	}.withDefaults()
	if err != nil {
		return nil, err
	}
	o.RelHalfWidth = ro.RelHalfWidth
	c := &comparison{o: o, last: -1, now: ro.Now}
	c.level = level(o.MaxQuartets)
	if o.Quartets > 0 {
		c.level = Confidence
	}
	for i, s := range []Sampler{a, b} {
		c.arms[i] = &arm{run: &run{taker: taker{ctx: ctx, s: s, now: ro.Now}, o: ro}}
	}
	return c, nil
}

func (c *comparison) run() error {
	for i, arm := range c.arms {
		if err := arm.prepare(); err != nil {
			return fmt.Errorf("warming up arm %d: %w", i, err)
		}
	}
	if c.o.Quartets > 0 {
		for len(c.quartets) < c.o.Quartets {
			if err := c.quartet(); err != nil {
				return err
			}
			if clear, err := c.clear(); err != nil || clear {
				c.stop = StopTrials
				return err
			}
		}
		c.stop = StopTrials
		return nil
	}
	begin, budget, grace := c.now(), c.o.Budget, 3*c.o.Budget
	if dl, ok := c.arms[0].ctx.Deadline(); ok {
		left := time.Until(dl) * 9 / 10
		budget, grace = min(budget, left), min(grace, left)
	}
	for target := MinQuartets; ; target = min(2*target, c.o.MaxQuartets) {
		for len(c.quartets) < target {
			n := len(c.quartets)
			spent := c.now() - begin
			each := spent / time.Duration(max(n, 1))
			if n > 0 && spent+each > budget && (n >= c.o.LeastQuartets || spent+each > grace) {
				c.stop = StopBudget
				return nil
			}
			if err := c.quartet(); err != nil {
				return err
			}
		}
		s, err := SummarizeQuartets(c.quartets, c.level)
		if err != nil {
			return fmt.Errorf("summarising the quartets: %w", err)
		}
		if (s.Hi-s.Lo)/2/s.Value <= c.o.RelHalfWidth || len(c.o.Cuts) > 0 && clears(s.Lo, s.Hi, c.o.Cuts) {
			c.stop = StopInterval
			return nil
		}
		if target >= c.o.MaxQuartets {
			c.stop = StopBudget
			return nil
		}
	}
}

// clear reports whether the quartets so far are beyond CompareOptions.Clear.
func (c *comparison) clear() (bool, error) {
	if c.o.Clear == 0 || len(c.quartets) < 2 && !(c.o.Launches == 1 && c.apart()) {
		return false, nil
	}
	s, err := SummarizeQuartets(c.quartets, c.level)
	if err != nil {
		return false, fmt.Errorf("summarising the quartets: %w", err)
	}
	return s.Lo > c.o.Clear || s.Hi < 1/c.o.Clear, nil
}

// apart reports whether every sample of one arm took more than Clear times as long as every sample of the other.
func (c *comparison) apart() bool {
	var least, most [2]float64
	for i, a := range c.arms {
		least[i] = math.Inf(1)
		for _, s := range a.samples {
			least[i], most[i] = min(least[i], s.NS()), max(most[i], s.NS())
		}
	}
	return least[0] > c.o.Clear*most[1] || least[1] > c.o.Clear*most[0]
}

// level is the confidence of each of the looks at 8, 16, 32, … quartets up to most: all together hold at 95 %.
func level(most int) float64 {
	looks := 1
	for n := MinQuartets; n < most; n *= 2 {
		looks++
	}
	return 1 - (1-Confidence)/float64(looks)
}

// turns is the number of quartets after which the arms change places: A B B A four times, B A A B four times, and so on. Correlated
// noise spreads the sum of the two inner, adjacent samples more than that of the outer ones, and the arm whose times
// spread more gains by the choice of the quiet half: always inside, arm b gained 0.10 % of 32 quartets under AR(1) noise of 1 % and 0.5.
const turns = 4

// quartet measures A B B A or B A A B; an incomplete one leaves no trace. The two inner samples are one call of the device, and
// so are the last and the first of the next quartet where it goes on with the same arm: a call costs as much as a short sample.
func (c *comparison) quartet() error {
	order, next := arms(len(c.quartets)), arms(len(c.quartets)+1)
	begin, ahead := c.ahead, 1
	c.ahead = nil
	var err error
	if len(begin) == 0 {
		if begin, err = c.take(order[0], 1); err != nil {
			return err
		}
	}
	inner, err := c.take(order[1], 2)
	if err != nil {
		return err
	}
	if next[0] == order[3] && len(c.quartets)+1 != c.o.Quartets && inner[1].EndNS-inner[1].StartNS < int64(worthSaving) {
		ahead = 2
	}
	end, err := c.take(order[3], ahead)
	if err != nil {
		return err
	}
	c.ahead = end[1:]
	var sum [2]float64
	for i, x := range []backend.Sample{begin[0], inner[0], inner[1], end[0]} {
		sum[order[i]] += x.NS()
		c.arms[order[i]].samples = append(c.arms[order[i]].samples, x)
	}
	c.quartets = append(c.quartets, Quartet{sum[0], sum[1]})
	return nil
}

// arms of the samples of quartet i.
func arms(i int) [4]int {
	if i/turns%2 == 1 {
		return [4]int{1, 0, 0, 1}
	}
	return [4]int{0, 1, 1, 0}
}

// worthSaving bounds the samples that are taken ahead for a quartet that may not follow.
const worthSaving = 5 * time.Millisecond

// take takes samples of an arm, each after a launch of the same arm: before samples of several launches a CPU's team runs as many
// untimed ones by itself; before one that is a single launch another goes untimed, unless this arm ran last.
func (c *comparison) take(which, samples int) ([]backend.Sample, error) {
	arm, untimed := c.arms[which], 0
	if arm.launches == 1 && !c.o.Cold && !c.long() && c.last != which {
		untimed = 1
	}
	c.last = which
	s, err := arm.take(arm.launches, untimed+samples)
	if err != nil {
		return nil, fmt.Errorf("arm %d: %w", which, err)
	}
	if len(s) != untimed+samples {
		return nil, fmt.Errorf("arm %d: the device gave %d of %d samples", which, len(s), untimed+samples)
	}
	for _, x := range s {
		if x.EndNS == x.StartNS {
			return nil, fmt.Errorf("arm %d: %d launches took 0 ns: the device's clock is too coarse", which, x.Launches)
		}
	}
	return s[untimed:], nil
}

// long reports whether one launch of either arm, the last that it ran, lasts so long that what the caches held before it does not matter.
func (c *comparison) long() bool {
	for _, a := range c.arms {
		last := float64(a.warm.sample)
		if n := len(a.samples); n > 0 {
			last = a.samples[n-1].NS()
		}
		if c.o.Refill == 0 || last < float64(c.o.Refills)*float64(c.o.Refill) {
			return false
		}
	}
	return true
}

func (c *comparison) ratio() (record.Ratio, error) { return ratioOf(c.quartets, c.level) }

// ratioOf is the record of quartets; of none it is empty.
func ratioOf(qs []Quartet, level float64) (record.Ratio, error) {
	if len(qs) == 0 {
		return record.Ratio{}, nil
	}
	s, err := SummarizeQuartets(qs, level)
	if err != nil {
		return record.Ratio{}, fmt.Errorf("summarising the quartets: %w", err)
	}
	r := record.Ratio{Value: s.Value, CI95: [2]float64{s.Lo, s.Hi}, Quiet: s.Quiet, EffectiveN: s.EffectiveN}
	for _, q := range qs {
		r.Quartets = append(r.Quartets, q.Ratio())
	}
	return r, nil
}

func (a *arm) record(stop string) (record.Time, error) {
	a.stop, a.trace.Samples = stop, a.samples
	return a.time()
}
