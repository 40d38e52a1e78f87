package power

import (
	"context"
	"math"
	"time"
)

// integrate measures by sensors of watts. A sensor that shows the mean of the last A, updated every I,
// shows the power of A/2 + I/2 ago on average; readings are taken that much later than the window, which
// cancels the lag for any power that changes evenly. I is what was seen before the window, or the stated one where that is longer or nothing was.
func (o *Observer) integrate(ctx context.Context, length time.Duration) (Window, error) {
	averaging, interval := o.averaging(), o.slowest()
	lag := averaging/2 + interval/2
	from := o.clock.Now() + averaging/2 // what the first reading averages lies in the load
	to := from + length
	w := Window{StartNS: int64(from), EndNS: int64(to), Throttled: map[string]int{}, Watts: make([]float64, len(o.domains))}
	if err := o.clock.Sleep(ctx, from+lag-o.clock.Now()); err != nil {
		return w, err
	}
	poll := min(max(interval/4, 2*time.Millisecond), 50*time.Millisecond)
	var all series
	of := make([]series, len(o.domains))
	for first := true; ; first = false {
		r, err := o.Read(ctx)
		if err != nil {
			return w, err
		}
		sum := 0.0
		for i, d := range o.domains {
			v := float64(r.Counts[i]) * d.Scale
			if d.Unit != Watts || v > plausibleWatts {
				v = math.NaN()
			}
			of[i].add(r, v)
		}
		for _, i := range o.main() {
			if v := float64(r.Counts[i]) * o.domains[i].Scale; !(v > 0 && v <= o.mostWatts()) {
				return w, noData("sensor %s shows %.4g W: it failed or shows garbage", o.domains[i].Name, v)
			}
			sum += float64(r.Counts[i]) * o.domains[i].Scale
		}
		all.add(r, sum)
		w.see(r, first)
		if err := o.stuck(); err != nil {
			return w, err
		}
		left := to + lag - o.clock.Now()
		if left <= 0 {
			break
		}
		if err := o.clock.Sleep(ctx, min(poll, left)); err != nil {
			return w, err
		}
	}
	interval = max(interval, o.pace()) // as it is known now
	seconds, least, long := length.Seconds(), max(averaging, interval), heldUpdates*interval
	repeats := !o.fine()
	total := all.over(from+lag, to+lag, least, long, repeats)
	w.Joules, w.MaxWatts = total.mean*seconds, total.max
	quantum, held := 0.0, 0.0
	for i := range of {
		x := of[i].over(from+lag, to+lag, least, long, repeats)
		w.Watts[i] = x.mean
		if o.counts(i) {
			total.independent = min(total.independent, x.independent)
			quantum += o.quantum(i) * seconds
			held += o.doubt(i, x.held, interval)
		}
	}
	// Its averaging blurs the edges. Its lag is not known better than to half an update, and that is the same for all that it shows.
	edges, lags := (total.max-total.min)*averaging.Seconds()/2, (total.max-total.min)*interval.Seconds()/2
	w.Uncertainty = math.Hypot(total.error95()*seconds, edges) + lags + quantum + held
	w.sum()
	return w, o.sane(w)
}
