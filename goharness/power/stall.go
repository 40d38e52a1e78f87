package power

import (
	"math"
	"slices"
	"time"
)

// A sensor of watts that sticks shows a power that nobody draws, and a mean over what it shows looks all the surer for it.
//
// Refused, with the sensor, what it showed and for how long:
//   - one that never moved since it was opened; one that shows the same under a load, from before it began to its end, and showed that in the
//     idle baseline before; one that does so in a baseline and showed that at the end of the load before. A coarse sensor is refused
//     too where load and idle differ by less than its step: that it moved is all the evidence there is that it works;
//   - a fine one that shows the very same value for longer than a second and ten updates, as far apart as they were seen to be. Fine is one whose values come closer to each other
//     than to a two-thousandth of what it shows while they scatter by several times as much: a repeat is chance, and ten are none.
//
// What sticks for less, and what a coarse sensor repeats, is no reason to refuse: under a steady load it does so rightly. It costs
// certainty: a fine sensor's value counts once however long it stood, and what stood longer than a few updates may be wrong by three times
// what the sensor scattered by before.
//
// What cannot be told apart: a coarse sensor (1 W) that sticks soon after it moved to a load's power, from one under a load as steady as its step.

const (
	// assumedInterval of a sensor whose maker states none.
	assumedInterval = 100 * time.Millisecond
	// longestInterval that is believed of any sensor: what changes less often is steady.
	longestInterval = 2 * time.Second
	// leastGaps between changes tell an interval, leastChanges how a sensor scatters; keptChanges are the latest ones.
	leastGaps, leastChanges, keptChanges = 4, 8, 64
	// A fine sensor is stuck when it shows one value for longer than both.
	stuckLeast, stuckUpdates = time.Second, 10
	// fineShare of what a sensor shows is more than its step, and fineSteps of its steps less than its scatter, when it is fine.
	fineShare, fineSteps = 5e-4, 4
	// heldUpdates is how long a value may stand before it is in doubt.
	heldUpdates = 3
)

// pulse follows when one domain's value changes.
type pulse struct {
	count        uint64
	since, until time.Duration // first and last reading that showed it
	change, blur time.Duration // when it came, and how wide that is
	gaps         []time.Duration
	shown        []uint64 // the latest values, each unlike the one before
}

// see takes a reading's value. Of two changes the time between is the sensor's only where both are known to a third of it: readings
// further apart show their own distance.
func (p *pulse) see(at time.Duration, count uint64) {
	if p.shown == nil {
		p.count, p.since, p.until, p.shown = count, at, at, []uint64{count}
		return
	}
	if count == p.count {
		p.until = at
		return
	}
	change, blur := (p.until+at)/2, at-p.until
	if gap := change - p.change; len(p.shown) > 1 && 3*max(blur, p.blur) <= gap && gap <= longestInterval {
		p.gaps = latest(append(p.gaps, gap))
	}
	p.shown = latest(append(p.shown, count))
	p.change, p.blur, p.count, p.since, p.until = change, blur, count, at, at
}

func latest[T any](s []T) []T { return s[max(0, len(s)-keptChanges):] }

// interval between updates as it was seen; 0: too few changes. Of even gaps it is the lower quartile: a late update makes the gap before longer
// and the one after shorter. Uneven ones are those of a coarse sensor, which shows an update only now and then: the shortest is nearest.
func (p *pulse) interval() time.Duration {
	n := len(p.gaps)
	if n < leastGaps {
		return 0
	}
	sorted := slices.Sorted(slices.Values(p.gaps))
	if low := sorted[n/4]; sorted[3*n/4] <= 2*low {
		return low
	}
	return sorted[0]
}

// grain is the step in counts, as far as the values shown tell it (no two of them that differ are closer), and how much a value usually
// lies off the line through its neighbours, which a ramp does not raise; 0 where too few were seen.
func (p *pulse) grain() (step, off float64) {
	if len(p.shown) <= leastChanges {
		return 0, 0
	}
	values := slices.Sorted(slices.Values(p.shown))
	step = math.Inf(1)
	for i := 1; i < len(values); i++ {
		if d := float64(values[i] - values[i-1]); d > 0 {
			step = min(step, d)
		}
	}
	return step, max(scatter(p.shown), scatter(p.shown[len(p.shown)-leastChanges-1:]))
}

// scatter is how much of some values half lie off the line through their neighbours.
func scatter(shown []uint64) float64 {
	var offs []float64
	for i := 2; i < len(shown); i++ {
		offs = append(offs, math.Abs(float64(shown[i])-2*float64(shown[i-1])+float64(shown[i-2])))
	}
	slices.Sort(offs)
	return offs[len(offs)/2]
}

// fine reports whether the sensor would not show the same value again and again by chance.
func (p *pulse) fine() bool {
	step, off := p.grain()
	return step > 0 && off >= fineSteps*step && step < fineShare*float64(p.count)
}

// stated is what the maker says of the interval between updates.
func (d Domain) stated() time.Duration {
	if d.Interval == 0 {
		return assumedInterval
	}
	return d.Interval
}

// pace is the longest interval of the main sensors: the stated one or what was seen, whichever is longer. One that is updated more often than
// its maker says is not believed the more.
func (o *Observer) pace() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out time.Duration
	for _, i := range o.main() {
		if out = max(out, o.domains[i].stated()); o.domains[i].Unit == Watts {
			out = max(out, o.pulses[i].interval())
		}
	}
	return out
}

// settle takes over what was seen of the intervals: between a plan and its windows they do not change.
func (o *Observer) settle() { o.paced.Store(int64(o.pace())) }

// stuck names a fine sensor of the total that shows the same value for much longer than its updates are apart.
func (o *Observer) stuck() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, i := range o.main() {
		d, p := o.domains[i], &o.pulses[i]
		stood, seen := p.until-p.since, p.interval()
		if d.Unit != Watts || stood <= stuckLeast || seen == 0 || !p.fine() { // nobody states how slow a sensor is: its updates tell
			continue
		}
		if interval := max(d.stated(), seen); stood > stuckUpdates*interval {
			return noData("sensor %s has shown %.6g W for %v, and its updates are %v apart: it stalled", d.Name, float64(p.count)*d.Scale,
				stood.Round(time.Millisecond), interval.Round(time.Millisecond))
		}
	}
	return nil
}

// span is the least and the most that each domain showed over some time.
type span struct{ low, high []uint64 }

func (s *span) see(counts []uint64) {
	if s.low == nil {
		s.low, s.high = slices.Clone(counts), slices.Clone(counts)
		return
	}
	for i, c := range counts {
		s.low[i], s.high[i] = min(s.low[i], c), max(s.high[i], c)
	}
}

// begin starts a load or a baseline.
func (o *Observer) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.span = span{}
}

// unmoved names a sensor of watts in the total that has not changed since begin and shows what it may have shown at another time.
func (o *Observer) unmoved(other span, when string) error {
	for _, i := range o.main() {
		d, p := o.domains[i], o.pulses[i]
		if d.Unit != Watts || other.low == nil || o.span.low == nil || o.span.low[i] != o.span.high[i] {
			continue
		}
		if p.count >= other.low[i] && p.count <= other.high[i] {
			return noData("sensor %s has shown %.4g W ever since %s: it stalled", d.Name, float64(p.count)*d.Scale, when)
		}
	}
	return nil
}

// frozen names a sensor that shows under load what it showed ever since it was opened, or in the idle baseline.
func (o *Observer) frozen() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, i := range o.main() {
		if d := o.domains[i]; d.Unit == Watts && o.first != nil && !o.moved[i] {
			return noData("sensor %s has shown %.4g W ever since it was opened, idle and under load: it stalled", d.Name, float64(o.first[i])*d.Scale)
		}
	}
	if err := o.unmoved(o.rested, "the idle baseline, under load too"); err != nil {
		return err
	}
	o.loaded = span{}
	for _, p := range o.pulses {
		o.loaded.low = append(o.loaded.low, p.count)
	}
	o.loaded.high = o.loaded.low
	return nil
}

// awoken names a sensor that shows in a baseline what it showed under the load before.
func (o *Observer) awoken() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.unmoved(o.loaded, "the load before"); err != nil {
		return err
	}
	o.rested = o.span
	return nil
}

// doubt is the joules by which what was held in a window may be wrong, beside the steps of the sensor: three times the deviation of its values
// as their second differences tell it, which are √6 as large; of averages a longer time deviates by more.
func (o *Observer) doubt(i int, held, interval time.Duration) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.domains[i]
	_, off := o.pulses[i].grain()
	deviation := 1.4826 / math.Sqrt(6) * off * d.Scale * math.Sqrt(max(1, d.Averaging.Seconds()/interval.Seconds()))
	return 3 * deviation * held.Seconds()
}

// quantum is the step of a domain in watts: of its counts, or what it is seen to change by at least.
func (o *Observer) quantum(i int) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	step, _ := o.pulses[i].grain()
	return max(1, step) * o.domains[i].Scale
}

// fine reports whether all sensors of the total are.
func (o *Observer) fine() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, i := range o.main() {
		if !o.pulses[i].fine() {
			return false
		}
	}
	return true
}
