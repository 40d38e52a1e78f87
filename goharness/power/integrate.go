package power

import (
	"context"
	"math"
	"time"
)

// integrate measures by sensors of watts. A sensor that shows the mean of the last A, updated every I,
// shows the power of A/2 + I/2 ago on average; readings are taken that much later than the window, which
// cancels the lag for any power that changes evenly.
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
	var total mean
	means := make([]mean, len(o.domains))
	lowest := math.Inf(1)
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
			means[i].add(v)
		}
		for _, i := range o.main() {
			if v := float64(r.Counts[i]) * o.domains[i].Scale; !(v > 0 && v <= o.mostWatts()) {
				return w, noData("sensor %s shows %.4g W: it failed or shows garbage", o.domains[i].Name, v)
			}
			sum += float64(r.Counts[i]) * o.domains[i].Scale
		}
		total.add(sum)
		lowest = min(lowest, sum)
		w.MaxWatts = max(w.MaxWatts, sum)
		w.see(r, first)
		left := to + lag - o.clock.Now()
		if left <= 0 {
			break
		}
		if err := o.clock.Sleep(ctx, min(poll, left)); err != nil {
			return w, err
		}
	}
	for i := range means {
		w.Watts[i] = means[i].value()
	}
	seconds := length.Seconds()
	w.Joules = total.value() * seconds
	// Readings closer together than the averaging (or the update) say the same again; a slow meter gives fewer.
	independent := min(seconds/max(averaging, interval).Seconds(), float64(total.n))
	spread := student(independent-1) * total.std() / math.Sqrt(max(1, independent)) * seconds
	// The sensor's lag is not known better than to half an update, and its averaging blurs the edges.
	edges := (w.MaxWatts - lowest) * (averaging + interval).Seconds() / 2
	quantum := 0.0
	for _, i := range o.main() {
		quantum += o.domains[i].Scale * seconds
	}
	w.Uncertainty = math.Hypot(spread, edges) + quantum
	return w, o.sane(w)
}

// mean gathers values.
type mean struct {
	n        int
	sum, sq  float64
	min, max float64
}

func (m *mean) add(v float64) {
	if m.n == 0 {
		m.min, m.max = v, v
	}
	m.min, m.max = min(m.min, v), max(m.max, v)
	m.n, m.sum, m.sq = m.n+1, m.sum+v, m.sq+v*v
}

// value is 0 without any.
func (m *mean) value() float64 { return m.sum / max(1, float64(m.n)) }

func (m *mean) std() float64 {
	if m.n < 2 {
		return 0
	}
	v := m.value()
	return math.Sqrt(max(0, (m.sq-float64(m.n)*v*v)/float64(m.n-1)))
}

// error95 of the mean; the range where there are few.
func (m *mean) error95() float64 {
	if m.n < 2 {
		return m.value()
	}
	return student(float64(m.n-1)) * m.std() / math.Sqrt(float64(m.n))
}

// student is the factor of a 95 % interval for nu degrees of freedom, rounded down to a whole number.
func student(nu float64) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}
	if !(nu >= 1) {
		return table[0]
	}
	if n := int(nu); n <= len(table) {
		return table[n-1]
	}
	return 1.96 + 2.7/math.Floor(nu)
}
