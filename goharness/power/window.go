package power

import (
	"context"
	"math"
	"time"
)

// Window is the energy between two moments of the clock.
type Window struct {
	StartNS, EndNS int64
	Joules         float64 // of the main domains together
	Uncertainty    float64 // joules, 95 %
	MaxWatts       float64 // the highest seen inside it
	// PowerWatts is the mean of a second sensor over the window; 0: none. PowerError is its
	// uncertainty at 95 %, in watts.
	PowerWatts, PowerError float64
	Watts                  []float64 // by domain; NaN where it moved in no sensible way
	ClockMHz, TemperatureC [2]float64
	Clock, Temperature     Range          // MHz, °C
	Throttled              map[string]int // readings by reason
	// DRAMShare is the share of DRAM's bandwidth that counters saw in use over the load, 0 to 1, or NoDRAMShare why there is none.
	DRAMShare   float64
	NoDRAMShare string
	// DRAMBytes is what the host's memory controllers moved per second over the load, or NoDRAMBytes why that is not known.
	DRAMBytes   float64
	NoDRAMBytes string

	clocks, temperatures series // until the window ends
}

// Seconds is the window's length.
func (w Window) Seconds() float64 { return float64(w.EndNS-w.StartNS) / 1e9 }

// MeanWatts over the window.
func (w Window) MeanWatts() float64 { return w.Joules / w.Seconds() }

// Window measures for about length under whatever runs now. A counter's edges lie on its updates; a
// sensor of watts is integrated, its lag taken off. The load must have run for Lead and must go on
// until the answer.
func (o *Observer) Window(ctx context.Context, length time.Duration) (Window, error) {
	if err := o.Gone(); err != nil {
		return Window{}, err
	}
	if len(o.main()) == 0 {
		return Window{}, noData("no counter of the device moves")
	}
	if o.unit() == Watts {
		return o.integrate(ctx, length)
	}
	return o.count(ctx, length)
}

// Lasts is the longest that Window takes for a length.
func (o *Observer) Lasts(length time.Duration) time.Duration {
	if o.unit() == Watts {
		return length + o.averaging() + o.slowest() + 100*time.Millisecond
	}
	return length + 6*o.slowest() + 20*time.Millisecond
}

// ramp is what clocks and voltage get to settle after a load began.
const ramp = 200 * time.Millisecond

// Lead is how long a load must have run before a window.
func (o *Observer) Lead() time.Duration { return ramp }

// edge is the last update of a counter at one end of a window.
type edge struct {
	at, gap time.Duration // middle and width of the time in which the update came
	count   uint64
}

// edgeBetween places the update that r shows: after the call of the reading before began, before r's ended, and not
// longer ago than the next one was due. The last matters where the reader lost its CPU and several updates went by.
func edgeBetween(before, r Reading, d Domain, count uint64) edge {
	from, to := before.AtNS-before.TookNS/2, r.AtNS+r.TookNS/2
	from = max(from, r.AtNS-r.TookNS/2-int64(d.Interval+d.Jitter))
	return edge{at: time.Duration(from+to) / 2, gap: time.Duration(to - from), count: count}
}

// patience with a counter that should move.
func patience(interval time.Duration) time.Duration { return max(5*interval, 300*time.Millisecond) }

// edges reads until every main counter has been updated once. Other counters get the last reading.
func (o *Observer) edges(ctx context.Context) ([]edge, Reading, error) {
	first, err := o.Read(ctx)
	if err != nil {
		return nil, first, err
	}
	out := make([]edge, len(o.domains))
	main := o.main()
	missing := len(main)
	step := min(max(o.slowest()/10, 50*time.Microsecond), 5*time.Millisecond)
	before := first
	for missing > 0 {
		if err := o.clock.Sleep(ctx, step); err != nil {
			return nil, before, err
		}
		r, err := o.read(ctx, false)
		if err != nil {
			return nil, r, err
		}
		for i := range out {
			if out[i].at == 0 && r.Counts[i] != before.Counts[i] {
				out[i] = edgeBetween(before, r, o.domains[i], r.Counts[i])
				for _, m := range main {
					if m == i {
						missing--
					}
				}
			}
		}
		before = r
		if waited := time.Duration(r.AtNS - first.AtNS); missing > 0 && waited > patience(o.slowest()) {
			for _, m := range main {
				if out[m].at == 0 {
					return nil, r, noData("counter %s did not move for %v: it stalled", o.domains[m].Name, waited.Round(time.Millisecond))
				}
			}
		}
	}
	for i := range out {
		if out[i].at == 0 { // apart, and slow: unaligned
			out[i] = edge{at: time.Duration(before.AtNS), gap: o.domains[i].Interval, count: before.Counts[i]}
		}
	}
	return out, before, nil
}

// count measures by counters.
func (o *Observer) count(ctx context.Context, length time.Duration) (Window, error) {
	a, from, err := o.edges(ctx)
	if err != nil {
		return Window{}, err
	}
	joules := make([]float64, len(o.domains)) // from edge a to the last reading
	bad := make([]error, len(o.domains))
	prev := make([]edge, len(a))
	copy(prev, a)
	// A step gives the joules of each domain up to a later value.
	step := func(i int, at time.Duration, count uint64) {
		if bad[i] != nil || at <= prev[i].at {
			return
		}
		j, err := o.domains[i].Used(prev[i].count, count, at-prev[i].at)
		if bad[i] = err; err == nil {
			joules[i] += j
			prev[i] = edge{at: at, count: count}
		}
	}
	w := Window{Throttled: map[string]int{}}
	w.see(from, true)
	var power, trail series
	poll := min(max(20*o.slowest(), 50*time.Millisecond), within(o.domains)/2, 100*time.Millisecond, max(length/4, time.Millisecond))
	last := from
	moved := make([]int64, len(o.domains)) // when each was last seen to move
	for i := range moved {
		moved[i] = from.AtNS
	}
	for time.Duration(last.AtNS)+poll < a[o.main()[0]].at+length {
		if err := o.clock.Sleep(ctx, poll); err != nil {
			return w, err
		}
		r, err := o.Read(ctx)
		if err != nil {
			return w, err
		}
		total, all := 0.0, true
		for i := range joules {
			step(i, time.Duration(r.AtNS), r.Counts[i])
		}
		for _, i := range o.main() {
			total += joules[i]
			if r.Counts[i] != last.Counts[i] {
				moved[i] = r.AtNS
				continue
			}
			all = false
			switch stood := time.Duration(r.AtNS - moved[i]); {
			case stood > patience(o.slowest()):
				// Should it go on, nobody knows whether it counted what was drawn meanwhile.
				return w, noData("counter %s did not move for %v within a window: it stalled", o.domains[i].Name, stood.Round(time.Millisecond))
			case stood > heldUpdates*o.slowest():
				trail = nil // what it then shows at once was not drawn at once
			}
		}
		if all { // a reading without news says of a later time what was counted before
			trail.add(r, total)
			w.MaxWatts = max(w.MaxWatts, steepest(trail, o.slowest()))
		}
		w.MaxWatts = max(w.MaxWatts, r.PowerWatts)
		power.known(r, r.PowerWatts)
		w.see(r, false)
		last = r
	}
	if rest := a[o.main()[0]].at + length - o.clock.Now(); rest > 0 {
		if err := o.clock.Sleep(ctx, rest); err != nil {
			return w, err
		}
	}
	b, r, err := o.edges(ctx)
	if err != nil {
		return w, err
	}
	w.see(r, false)
	var begin, end, seconds float64
	w.Watts = make([]float64, len(o.domains))
	for i := range o.domains {
		step(i, b[i].at, b[i].count)
		dt := (b[i].at - a[i].at).Seconds()
		w.Watts[i] = joules[i] / dt
		if bad[i] != nil || dt <= 0 {
			w.Watts[i] = math.NaN()
		}
	}
	n := float64(len(o.main()))
	for _, i := range o.main() {
		if bad[i] != nil {
			return w, bad[i]
		}
		begin, end = begin+float64(a[i].at)/n, end+float64(b[i].at)/n
	}
	seconds = (end - begin) / 1e9
	watts, slack := 0.0, 0.0
	for _, i := range o.main() {
		d := o.domains[i]
		watts += w.Watts[i]
		// An update came anywhere in its gap and early or late by its jitter; a count is the step of the counter.
		slack += w.Watts[i]*((a[i].gap+b[i].gap).Seconds()/2+math.Sqrt2*d.Jitter.Seconds()) + 2*d.Scale
		// Domains are aligned each by itself: what power changed meanwhile is not known.
		slack += w.Watts[i] * 0.05 * (math.Abs(float64(a[i].at)-begin) + math.Abs(float64(b[i].at)-end)) / 1e9
	}
	w.StartNS, w.EndNS = int64(begin), int64(end)
	w.Joules, w.Uncertainty = watts*seconds, slack
	w.MaxWatts = max(w.MaxWatts, watts)
	w.PowerWatts, w.PowerError = power.second()
	w.sum()
	return w, o.sane(w)
}

// sane refuses what cannot be.
func (o *Observer) sane(w Window) error {
	watts := w.MeanWatts()
	switch limit := o.meter.Facts().LimitWatts; {
	case !(w.EndNS > w.StartNS):
		return noData("the window has no length")
	case math.IsNaN(watts) || math.IsInf(watts, 0) || watts <= 0:
		return noData("the counters show %v W", watts)
	case w.Uncertainty >= w.Joules:
		return noData("%.3g J in %.3g s are below the meter's uncertainty of %.2g J", w.Joules, w.Seconds(), w.Uncertainty)
	case limit > 0 && watts > 1.5*limit:
		return noData("%.4g W are far above the power limit of %.4g W", watts, limit)
	}
	return nil
}

// steepest is the mean power over 20 updates or somewhat more up to the last point; 0 without. A counter that came just before it holds the
// energy of up to one update more than fits between the points, which the highest of many would otherwise always have.
func steepest(trail series, interval time.Duration) float64 {
	last := trail[len(trail)-1]
	for i := len(trail) - 2; i >= 0; i-- {
		if dt := last.at - trail[i].at; dt >= 20*interval {
			return (last.value - trail[i].value) / (dt + interval).Seconds()
		}
	}
	return 0
}

// see keeps the sensors of a reading.
func (w *Window) see(r Reading, first bool) {
	if first {
		w.ClockMHz[0], w.TemperatureC[0] = r.ClockMHz, r.TemperatureC
	}
	w.ClockMHz[1], w.TemperatureC[1] = r.ClockMHz, r.TemperatureC
	w.clocks.known(r, r.ClockMHz)
	w.temperatures.known(r, r.TemperatureC)
	if r.Throttled != "" {
		w.Throttled[r.Throttled]++
	}
}

// sum ends what see kept.
func (w *Window) sum() {
	w.Clock, w.Temperature = w.clocks.rangeOf(), w.temperatures.rangeOf()
	w.clocks, w.temperatures = nil, nil
}
