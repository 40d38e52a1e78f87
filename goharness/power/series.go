package power

import (
	"math"
	"time"
)

// series is what a sensor showed over a time, in the order of its readings.
type series []point

// point is a value at a time: watts, MHz, °C, or the joules so far.
type point struct {
	at    time.Duration
	value float64
}

func (s *series) add(r Reading, v float64) { *s = append(*s, point{time.Duration(r.AtNS), v}) }

// known adds what a reading gave: 0 means that it gave nothing.
func (s *series) known(r Reading, v float64) {
	if v != 0 {
		s.add(r, v)
	}
}

// summary of a series. Readings count by the time that they stand for, and such as show the same value one after the other
// are one update of the sensor, unless it repeats itself: they say nothing twice.
type summary struct {
	mean, std float64
	min, max  float64
	// independent is how many updates of equal length would tell the mean as well; at least 1 unless the series is shorter than one.
	independent float64
	updates     int
	held        time.Duration // beyond long, in which one value was shown
	lasted      time.Duration
}

// over sums up from one time to another. A reading stands for the time that is nearer to it than to any other; an update
// that is shorter than least says no more than a share of one that is not, and what lasts longer than long is held. With repeats, an update may
// show the value of the one before.
func (s series) over(from, to, least, long time.Duration, repeats bool) summary {
	out := summary{min: math.Inf(1), max: math.Inf(-1), lasted: to - from}
	stands := make([]float64, len(s))
	total := 0.0
	for i := range s {
		begin, end := from, to
		if i > 0 {
			begin = max(begin, (s[i-1].at+s[i].at)/2)
		}
		if i+1 < len(s) {
			end = min(end, (s[i].at+s[i+1].at)/2)
		}
		stands[i] = max(0, end-begin).Seconds()
		total += stands[i]
	}
	if total == 0 { // one reading, or all at once
		for i := range s {
			stands[i], total = 1, total+1
		}
	}
	if len(s) == 0 {
		return summary{}
	}
	for i, p := range s {
		out.mean += p.value * stands[i] / total
	}
	shared, alone, run, squares := 0.0, 0.0, 0.0, 0.0
	for i, p := range s {
		if stands[i] == 0 { // a reading that came after the end
			continue
		}
		out.min, out.max = min(out.min, p.value), max(out.max, p.value)
		squares += stands[i] * (p.value - out.mean) * (p.value - out.mean)
		run += stands[i]
		if repeats {
			shared += stands[i] * max(stands[i], least.Seconds())
		}
		if i+1 < len(s) && stands[i+1] > 0 && s[i+1].value == p.value {
			continue
		}
		out.updates++
		if !repeats {
			shared += run * max(run, least.Seconds())
		}
		alone += run * run
		out.held += max(0, time.Duration(run*1e9)-long)
		run = 0
	}
	out.mean = min(max(out.mean, out.min), out.max) // whatever rounding did
	out.independent = total * total / shared
	if rest := total - alone/total; rest > 1e-9*total {
		out.std = math.Sqrt(squares / rest)
	}
	return out
}

// error95 of the mean.
func (s summary) error95() float64 {
	return student(s.independent-1) * s.std / math.Sqrt(max(1, s.independent))
}

// all sums up a series from its first reading to its last.
func (s series) all() summary {
	if len(s) == 0 {
		return summary{}
	}
	return s.over(s[0].at, s[len(s)-1].at, 0, math.MaxInt64, false)
}

// second is the mean of a power sensor beside a counter and what it may be wrong by. Its interval is not known: what shows one value
// all the time is either steady, or too slow for so short a time to tell.
func (s series) second() (mean, uncertainty float64) {
	x := s.all()
	if x.updates == 1 && x.lasted < patience(0) {
		return x.mean, x.mean
	}
	// Its updates come late by half of the time between them.
	return x.mean, x.error95() + (x.max-x.min)/2/float64(max(1, x.updates))
}

// Range of a clock or a temperature; all 0 where it is not known.
type Range struct{ Min, Avg, Max float64 }

func (s series) rangeOf() Range {
	x := s.all()
	return Range{Min: x.min, Avg: x.mean, Max: x.max}
}

// ranges gathers those of windows, the means by their seconds.
type ranges struct {
	sum     Range
	seconds float64
}

func (g *ranges) add(r Range, seconds float64) {
	if r == (Range{}) {
		return
	}
	if g.seconds == 0 {
		g.sum.Min, g.sum.Max = r.Min, r.Max
	}
	g.sum.Min, g.sum.Max = min(g.sum.Min, r.Min), max(g.sum.Max, r.Max)
	g.sum.Avg, g.seconds = g.sum.Avg+r.Avg*seconds, g.seconds+seconds
}

func (g *ranges) of() Range {
	if g.seconds > 0 {
		g.sum.Avg = min(max(g.sum.Avg/g.seconds, g.sum.Min), g.sum.Max)
	}
	return g.sum
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
