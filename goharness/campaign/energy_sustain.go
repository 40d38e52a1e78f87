package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ridge/goharness/ceiling"
	"ridge/goharness/fusion"
	"ridge/goharness/power"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// sustainCase runs each arm of a case back to back and watches.
func (c *campaign) sustainCase(ctx context.Context, r *record.Result) (totals []power.Total, reason string, err error) {
	k, ok := c.asked[r.ID]
	if !ok {
		return nil, "the plan of this run does not have the case", nil
	}
	for _, a := range k.Arms {
		if a.Library == "" {
			continue
		}
		// Of a resumed run, which had no pilot that opened them.
		if err := c.libraries(ctx); ctx.Err() != nil {
			return nil, "", err
		} else if err != nil {
			return nil, err.Error(), nil
		}
		if len(r.Arms) == 0 {
			continue
		}
		if why := c.otherLibrary(a, r.Arms[0]); why != "" {
			return nil, "its baseline is " + a.Library + ": " + why, nil
		}
	}
	if err := c.energy.observer.Gone(); err != nil {
		return nil, err.Error(), nil
	}
	var arms []record.Energy
	failed, err := c.worker(k).Sustain(ctx, k, func(arm int, p runner.PreparedArm, soak runner.Soak) error {
		want, t := []string{r.Kernel}, r.Time
		if len(r.Arms) > 0 {
			want, t = r.Arms[arm].Kernels, r.Arms[arm].Time
		}
		if len(r.Arms) == 0 && len(p.Kernels) > 0 && p.Kernels[len(p.Kernels)-1] != r.Kernel || len(r.Arms) > 0 && !slices.Equal(p.Kernels, want) {
			return fmt.Errorf("kernels %v stand in for %v: it was timed with others", p.Kernels, want)
		}
		c.running("sustain", r.ID, want[len(want)-1])
		total, launches, ws, err := c.sustain(ctx, soak, t, watchMargin)
		if errors.Is(err, errOutside) { // the parent lost its CPU for a moment
			total, launches, ws, err = c.sustain(ctx, soak, t, 5*watchMargin)
		}
		if err != nil {
			return err
		}
		totals = append(totals, total)
		arms = append(arms, c.energyRecord(r, arm, total, launches, ws))
		return nil
	})
	c.running("", "", "")
	var w *record.WriteError
	switch {
	case ctx.Err() != nil:
		return nil, "", fmt.Errorf("%w: the energy of %s was in flight", ErrInterrupted, r.ID)
	case err != nil && errors.As(err, &w):
		return nil, "", err
	case err != nil:
		return nil, "", fmt.Errorf("energy of %s: %w", r.ID, err)
	case failed != nil:
		return nil, failed.Error(), nil
	}
	c.setEnergy(r, arms, "")
	return totals, "", nil
}

// askedBefore is the case as a resumed journal's result answers it: with the programs that won the pilots then, which the arms'
// names tell.
func askedBefore(k record.Case, r record.Result) record.Case {
	if len(k.Arms) != 2 || len(r.Arms) != 2 {
		return k
	}
	k.Arms = slices.Clone(k.Arms)
	k.Arms[0].Name, k.Arms[1].Name = r.Arms[0].Name, r.Arms[1].Name
	if len(r.Arms[0].Libraries) > 0 {
		k.Arms[0].Library = strings.TrimPrefix(r.Arms[0].Name, fusion.Unfused+":")
	}
	return k
}

// watchMargin is what the load lasts longer than the windows are expected to.
const watchMargin = 100 * time.Millisecond

var errOutside = errors.New("a window lies outside of the load")

// launchesInWindow is the least that a window should hold, within windowAtMost.
const (
	launchesInWindow = 8
	windowAtMost     = 10 * time.Second
)

// windows of a program that takes so long.
func (c *campaign) windows(t *record.Time) power.Plan {
	plan := c.energy.effort.Plan
	plan.Length = max(plan.Length, min(launchesInWindow*time.Duration(t.MedianNS), windowAtMost))
	return plan
}

// sustains is how long the loads of a result's programs last together.
func (c *campaign) sustains(r *record.Result) time.Duration {
	times := []*record.Time{r.Time}
	if len(r.Arms) > 0 {
		times = nil
		for _, a := range r.Arms {
			times = append(times, a.Time)
		}
	}
	sum := time.Duration(0)
	for _, t := range times {
		sum += c.energy.observer.Needs(c.windows(t)) + watchMargin
	}
	return sum
}

// sustain lets the worker run while the observer takes its windows, and relates both by the monotonic clock.
func (c *campaign) sustain(ctx context.Context, soak runner.Soak, t *record.Time, margin time.Duration) (power.Total, float64, []power.Window, error) {
	e := c.energy
	plan := c.windows(t)
	watch, stop := context.WithCancel(ctx)
	defer stop()
	type soaked struct {
		runner.Soaked
		err error
	}
	type seen struct {
		ws  []power.Window
		err error
	}
	ran, saw := make(chan soaked, 1), make(chan seen, 1)
	go func() {
		s, err := soak((e.observer.Needs(plan) + margin).Seconds(), max(1, t.Launches))
		ran <- soaked{s, err}
	}()
	go func() {
		ws, err := e.observer.Measure(watch, plan, e.random.Float64)
		saw <- seen{ws, err}
	}()
	s := <-ran
	if s.err != nil {
		stop() // nothing is left to watch
	}
	var w seen
	select {
	case w = <-saw:
	case <-time.After(stallPatience):
		return power.Total{}, 0, nil, errors.New("the meter did not finish its windows with the load: it stalled")
	}
	switch {
	case s.err != nil:
		return power.Total{}, 0, nil, s.err
	case w.err != nil:
		return power.Total{}, 0, nil, w.err
	case s.Launches < 1 || s.EndNS <= s.StartNS:
		return power.Total{}, 0, nil, errors.New("the sustain phase held no launch")
	}
	for _, x := range w.ws {
		if x.StartNS < s.StartNS || x.EndNS > s.EndNS {
			return power.Total{}, 0, nil, fmt.Errorf("%w (by %v): this machine is too busy to watch", errOutside,
				time.Duration(max(s.StartNS-x.StartNS, x.EndNS-s.EndNS)).Round(time.Microsecond))
		}
	}
	total := power.Combine(w.ws)
	return total, float64(s.Launches) / (float64(s.EndNS-s.StartNS) / 1e9) * total.Seconds, w.ws, nil
}

// stallPatience with the observer after the load has ended.
const stallPatience = 3 * time.Second

// energyRecord puts an arm's windows into the document's terms and checks them.
func (c *campaign) energyRecord(r *record.Result, arm int, t power.Total, launches float64, ws []power.Window) record.Energy {
	m := c.energy.observer.Meter()
	e := record.Energy{Joules: t.Joules, Uncertainty: t.Uncertainty, WindowNS: int64(t.Seconds * 1e9), Launches: launches, MaxWatts: t.MaxWatts,
		LimitWatts: m.Facts().LimitWatts, SensorWatts: t.PowerWatts, Meter: m.Name(), Throttled: t.Throttled}
	for _, w := range ws {
		e.Windows = append(e.Windows, record.EnergyWindow{Seconds: w.Seconds(), Joules: w.Joules, Uncertainty: w.Uncertainty})
	}
	total := c.energy.total()
	for i, d := range m.Domains() {
		if w := t.Watts[i]; w > 0 { // false for NaN
			e.Domains = append(e.Domains, record.EnergyDomain{Name: d.Name, Watts: w, InTotal: slices.Contains(total, d.Name)})
		}
	}
	e.ClockMinMHz, e.ClockAvgMHz, e.ClockMaxMHz = t.Clock.Min, t.Clock.Avg, t.Clock.Max
	e.TemperatureMinC, e.TemperatureAvgC, e.TemperatureMaxC = t.Temperature.Min, t.Temperature.Avg, t.Temperature.Max
	if t.ClockMHz[0] > 0 && t.ClockMHz[1] > 0 { // a sensor may fail at either end
		e.ClockMHz = &t.ClockMHz
	}
	if t.TemperatureC[0] != 0 && t.TemperatureC[1] != 0 {
		e.TemperatureC = &t.TemperatureC
	}
	if len(ws) > 0 {
		share := record.Unknown[float64](ws[0].NoDRAMShare)
		if ws[0].NoDRAMShare == "" {
			share = record.Known(ws[0].DRAMShare, m.Name())
		}
		e.DRAMShare = &share
	}
	if len(ws) > 0 && r.Device == "cpu" {
		bytes := record.Unknown[float64](ws[0].NoDRAMBytes)
		if ws[0].NoDRAMBytes == "" {
			bytes = record.Known(ws[0].DRAMBytes*t.Seconds/launches, c.energy.observer.ControllersSource())
		}
		e.MeasuredBytes = &bytes
	}
	e.Warnings = c.crossCheck(r, arm, t, &e)
	return e
}

// maxOverLimit: so far above the limit a single reading is told.
const maxOverLimit = 1.05

// crossCheck holds an energy against what it must agree with.
func (c *campaign) crossCheck(r *record.Result, arm int, t power.Total, e *record.Energy) []string {
	var out []string
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	if why := t.Disagrees(); why != "" {
		say("%s", why)
	}
	if limit := e.LimitWatts; limit > 0 && t.MeanWatts()-t.Uncertainty/t.Seconds > 1.02*limit {
		say("a mean power of %.4g W is above the power limit of %.4g W", t.MeanWatts(), limit)
	} else if limit > 0 && e.MaxWatts > maxOverLimit*limit {
		say("the highest reading, %.4g W, is above the power limit of %.4g W: the limit holds for a mean over a longer time", e.MaxWatts, limit)
	}
	executed, bytes, median := r.Executed(), r.Bytes, r.Time.MedianNS
	if len(r.Arms) > 0 {
		executed, bytes, median = r.Arms[arm].Executed(), r.Arms[arm].Bytes, r.Arms[arm].Time.MedianNS
	}
	perSecond := e.Launches / t.Seconds
	gflops := float64(executed) * perSecond / 1e9 // what was executed, as the ceiling counts
	if r.Ceiling != nil && r.Ceiling.ComputeGFLOPS > 0 && gflops > ceiling.Slack*r.Ceiling.ComputeGFLOPS {
		say("gflops_per_watt times power is %.4g GFLOPS, above the measured ceiling of %.4g", gflops, r.Ceiling.ComputeGFLOPS)
	}
	if slower := 1e9 / perSecond / median; slower > 1.1 || slower < 0.9 {
		say("a launch took %.3g times its timed median in the sustain phase", slower)
	}
	var share float64
	known := false
	if e.DRAMShare != nil {
		share, known = e.DRAMShare.Get()
	}
	if e.MeasuredBytes != nil && fromDRAM(r) {
		if counted, ok := e.MeasuredBytes.Get(); ok && (counted > 1.25*float64(bytes) || counted < 0.8*float64(bytes)) {
			say("the memory controllers moved %.4g bytes a launch, the model says %d", counted, bytes)
		}
	}
	if known && fromDRAM(r) {
		for _, x := range c.model.Ceilings() {
			if x.Kind == record.CeilingBandwidth && x.Level == "DRAM" && x.Theoretical.Value > 0 {
				modelled := float64(bytes) * perSecond / 1e9
				if counted := share * x.Theoretical.Value; counted > 1.25*modelled || counted < 0.8*modelled {
					say("counters saw %.4g GB/s of DRAM traffic, the model says %.4g", counted, modelled)
				}
				break
			}
		}
	}
	return out
}
