package power

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"
)

// Plan of the windows over one load.
type Plan struct {
	Windows int
	Length  time.Duration // of each
}

// Needs is how long the load must last for a plan.
func (o *Observer) Needs(p Plan) time.Duration {
	return o.Lead() + time.Duration(p.Windows)*(o.Lasts(p.Length)+o.phase())
}

// phase is the longest random wait before a window: it spreads the windows over the phases of
// the sensor's updates and of whatever repeats in the load.
func (o *Observer) phase() time.Duration { return max(o.slowest(), 20*time.Millisecond) }

// Measure takes a plan's windows while a load runs. random gives numbers from 0 to 1.
func (o *Observer) Measure(ctx context.Context, p Plan, random func() float64) ([]Window, error) {
	o.begin()
	if o.unit() == Watts { // what it shows before the load, or as it begins
		if _, err := o.Read(ctx); err != nil {
			return nil, err
		}
	}
	if err := o.clock.Sleep(ctx, o.Lead()); err != nil {
		return nil, err
	}
	end, moved := o.traffic(ctx), o.moves()
	var out []Window
	for range p.Windows {
		if err := o.clock.Sleep(ctx, time.Duration(random()*float64(o.phase()))); err != nil {
			return out, err
		}
		w, err := o.Window(ctx, p.Length)
		if err != nil {
			return out, err
		}
		out = append(out, w)
	}
	if err := o.frozen(); err != nil {
		return nil, err
	}
	o.settle()
	share, why := end()
	rate, noRate := moved()
	for i := range out {
		out[i].DRAMShare, out[i].NoDRAMShare = share, why
		out[i].DRAMBytes, out[i].NoDRAMBytes = rate, noRate
	}
	return out, nil
}

// traffic begins to count DRAM's traffic where the meter can.
func (o *Observer) traffic(ctx context.Context) (end func() (float64, string)) {
	m, ok := o.meter.(TrafficMeter)
	if !ok {
		return func() (float64, string) { return 0, o.meter.Name() + " does not count DRAM traffic" }
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone != nil {
		why := o.gone.Error()
		return func() (float64, string) { return 0, why }
	}
	// A call of the driver may hang like a reading.
	_, err := ask(ctx, o, func(context.Context) (struct{}, error) { return struct{}{}, m.BeginTraffic() })
	return func() (float64, string) {
		if err != nil {
			return 0, err.Error()
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.gone != nil {
			return 0, o.gone.Error()
		}
		share, err := ask(ctx, o, func(context.Context) (float64, error) { return m.EndTraffic() })
		if err != nil {
			return 0, err.Error()
		}
		return share, ""
	}
}

// moves begins to count what the host's memory controllers move.
func (o *Observer) moves() (end func() (float64, string)) {
	m := o.controllers
	if m == nil {
		return func() (float64, string) { return 0, o.noControllers }
	}
	first, err := o.readControllers(m)
	began := o.clock.Now()
	return func() (float64, string) {
		if err != nil {
			return 0, err.Error()
		}
		last, err := o.readControllers(m)
		if err != nil {
			return 0, err.Error()
		}
		rate, err := m.Rate(first, last, o.clock.Now()-began)
		if err != nil {
			return 0, err.Error()
		}
		return rate, ""
	}
}

// readControllers gives up on counters that do not answer: they are not read again, since that call still holds them.
func (o *Observer) readControllers(m *Traffic) ([]uint64, error) {
	type answer struct {
		counts []uint64
		err    error
	}
	got := make(chan answer, 1)
	go func() {
		counts, err := m.Read()
		got <- answer{counts, err}
	}()
	select {
	case a := <-got:
		return a.counts, a.err
	case <-time.After(o.stall):
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.controllers, o.noControllers = nil, "the counters of the memory controllers stalled: no answer within "+o.stall.String()
	return nil, noData("%s", o.noControllers)
}

// Idle is the baseline: one window without a load. A counter other than a package's that never moves
// (the DRAM of many desktops) is left out from here on, and the answer says so.
func (o *Observer) Idle(ctx context.Context, length time.Duration) (Window, map[string]string, error) {
	o.begin()
	first, err := o.Read(ctx)
	if err != nil {
		return Window{}, nil, err
	}
	if o.unit() == Joules {
		moved := make([]bool, len(o.domains))
		for waited := time.Duration(0); waited < patience(o.slowest()); waited += 20 * time.Millisecond {
			if err := o.clock.Sleep(ctx, 20*time.Millisecond); err != nil {
				return Window{}, nil, err
			}
			r, err := o.Read(ctx)
			if err != nil {
				return Window{}, nil, err
			}
			all := true
			for i := range moved {
				moved[i] = moved[i] || r.Counts[i] != first.Counts[i]
				all = all && moved[i]
			}
			if all {
				break
			}
		}
		for _, i := range o.main() {
			// One that moved before has stalled: the window refuses it, since a baseline without it fits no total with it.
			if !moved[i] && !o.moved[i] && strings.Contains(o.domains[i].Name, "dram") {
				o.still[i] = "the counter never moved: left out of the total"
			}
		}
	}
	w, err := o.Window(ctx, length)
	if err == nil {
		err = o.awoken()
	}
	o.settle()
	return w, o.LeftOut(), err
}

// LeftOut names the domains that are not in the total because they never moved, and those beside it that failed.
func (o *Observer) LeftOut() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[string]string{}
	for i, why := range o.failed {
		out[o.domains[i].Name] = why
	}
	for i, why := range o.still {
		out[o.domains[i].Name] = why
	}
	return out
}

// Total is the windows of one load together.
type Total struct {
	Joules, Uncertainty float64 // 95 %
	Seconds             float64
	MaxWatts            float64
	// SpreadWatts is half the range of the windows' powers; it is a part of the uncertainty.
	SpreadWatts float64
	// PowerWatts is the mean of a second sensor; 0: none.
	PowerWatts, PowerError float64
	ClockMHz, TemperatureC [2]float64
	Clock, Temperature     Range
	Throttled              []string
	Watts                  []float64 // by domain
}

// MeanWatts over the windows.
func (t Total) MeanWatts() float64 { return t.Joules / t.Seconds }

// Combine adds windows. What the meter may be wrong by is independent from window to window; half
// the range of their powers comes on top, since it shows what no meter tells of one window: whether the
// load draws the same again.
func Combine(ws []Window) Total {
	var t Total
	var sq, psq, sensed, lo, hi float64
	var clock, temperature ranges
	lo = math.Inf(1)
	for i, w := range ws {
		t.Joules += w.Joules
		t.Seconds += w.Seconds()
		sq += w.Uncertainty * w.Uncertainty
		t.MaxWatts = max(t.MaxWatts, w.MaxWatts)
		if w.PowerWatts > 0 { // the sensor may have failed in a window
			t.PowerWatts += w.PowerWatts * w.Seconds()
			psq += w.PowerError * w.PowerError * w.Seconds() * w.Seconds()
			sensed += w.Seconds()
		}
		lo, hi = min(lo, w.MeanWatts()), max(hi, w.MeanWatts())
		if i == 0 {
			t.ClockMHz[0], t.TemperatureC[0] = w.ClockMHz[0], w.TemperatureC[0]
			t.Watts = make([]float64, len(w.Watts))
		}
		clock.add(w.Clock, w.Seconds())
		temperature.add(w.Temperature, w.Seconds())
		t.ClockMHz[1], t.TemperatureC[1] = w.ClockMHz[1], w.TemperatureC[1]
		for k, v := range w.Watts {
			t.Watts[k] += v * w.Seconds()
		}
		for why := range w.Throttled {
			if !slices.Contains(t.Throttled, why) {
				t.Throttled = append(t.Throttled, why)
			}
		}
	}
	if len(ws) == 0 {
		return t
	}
	slices.Sort(t.Throttled)
	t.Clock, t.Temperature = clock.of(), temperature.of()
	for k := range t.Watts {
		t.Watts[k] /= t.Seconds
	}
	if sensed > 0 {
		t.PowerWatts /= sensed
		t.PowerError = math.Sqrt(psq) / sensed
	}
	t.SpreadWatts = (hi - lo) / 2
	t.Uncertainty = math.Hypot(math.Sqrt(sq), t.SpreadWatts*t.Seconds)
	return t
}

// Baseline is the idle power before and after the loads.
type Baseline struct{ Before, After Window }

// Watts of the idle device and what they may be wrong by: half of what changed from before to after
// comes on top of the meter's uncertainty.
func (b Baseline) Watts() (watts, uncertainty float64) {
	p, q := b.Before.MeanWatts(), b.After.MeanWatts()
	u := math.Hypot(b.Before.Uncertainty/b.Before.Seconds(), b.After.Uncertainty/b.After.Seconds()) / 2
	return (p + q) / 2, u + math.Abs(p-q)/2
}

// Net is the energy above the idle baseline and its uncertainty.
func (b Baseline) Net(t Total) (joules, uncertainty float64) {
	w, u := b.Watts()
	return t.Joules - w*t.Seconds, math.Hypot(t.Uncertainty, u*t.Seconds)
}

// Disagrees says how the energy contradicts a second sensor of power: by more than both may be wrong by,
// and by more than a tenth, which makers state for such sensors. "" when it does not.
func (t Total) Disagrees() string {
	if t.PowerWatts <= 0 {
		return ""
	}
	off := math.Abs(t.MeanWatts() - t.PowerWatts)
	if off <= t.Uncertainty/t.Seconds+t.PowerError || off <= 0.1*t.PowerWatts {
		return ""
	}
	return "the energy counter gives a mean of " + watts(t.MeanWatts()) + " and the power sensor " + watts(t.PowerWatts) + ": energy is not power times time"
}
