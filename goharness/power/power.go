// Package power measures energy: meters (one file each, listed in builtin.go), the watcher
// that polls one of them from the parent process, and the windows over which its readings become
// joules with an uncertainty. A machine without a meter, and a meter that gives nothing
// usable, answer with a reason (ErrNoData) and never with a number.
package power

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrNoData is the outcome of a meter that is not there or gives nothing usable (permissions, a
// stalled or vanished counter). Errors that match it carry the reason.
var ErrNoData = errors.New("no data")

// NoData is the reason why there is no figure, and what would help.
type NoData struct {
	Reason string
	Remedy string // a command or setting; "" where nothing helps
}

func (e *NoData) Error() string {
	if e.Remedy == "" {
		return e.Reason
	}
	return e.Reason + "; to change that: " + e.Remedy
}

// Is makes errors.Is(err, ErrNoData) true.
func (e *NoData) Is(target error) bool { return target == ErrNoData }

func noData(format string, a ...any) error { return &NoData{Reason: fmt.Sprintf(format, a...)} }

// Unit of a domain's values.
type Unit string

// Units. A counter of joules and a sensor of watts are evaluated in different ways.
const (
	Joules Unit = "J" // a counter of energy: only differences mean something
	Watts  Unit = "W" // a power, to be integrated over time
)

// Domain is one counter or sensor of a meter: a package, its DRAM, a GPU board.
type Domain struct {
	Name string
	Unit Unit
	// Scale is the joules or watts of one count.
	Scale float64
	// Range: a counter starts again at 0 after so many counts; 0: it never does.
	Range uint64
	// Interval between updates, as the maker states it; 0: unknown.
	Interval time.Duration
	// Jitter is by how much an update may come early or late.
	Jitter time.Duration
	// Averaging: a sensor of watts shows the mean over so long; 0: the power of the moment.
	Averaging time.Duration
	// Apart: shown and not added to the total, since it is a part of another domain (cores) or
	// holds more than the device (psys: the whole board).
	Apart bool
}

// Reading is what a meter shows at one moment.
type Reading struct {
	AtNS   int64    // CLOCK_MONOTONIC, the middle of the call; filled by the watcher
	TookNS int64    // of the call: the counters were read somewhere within; filled by the watcher
	Counts []uint64 // by domain; wraps are not undone
	// Failed says why domains that are Apart have no count this time, by their index; that of a main one is the error of the whole reading.
	Failed map[int]error
	Sensors
}

// Sensors are read beside the energy; 0 and "" mean not given.
type Sensors struct {
	PowerWatts     float64 // of the moment, by a sensor other than the counter
	ClockMHz       float64
	MemoryClockMHz float64
	TemperatureC   float64
	Throttled      string // decoded reasons why the clock is below its maximum
}

// or takes from t what s does not have.
func (s Sensors) or(t Sensors) Sensors {
	for _, x := range []struct {
		to   *float64
		from float64
	}{{&s.PowerWatts, t.PowerWatts}, {&s.ClockMHz, t.ClockMHz}, {&s.MemoryClockMHz, t.MemoryClockMHz}, {&s.TemperatureC, t.TemperatureC}} {
		if *x.to == 0 {
			*x.to = x.from
		}
	}
	if s.Throttled == "" {
		s.Throttled = t.Throttled
	}
	return s
}

// plausible drops what no machine shows; most is the most power.
func (s Sensors) plausible(most float64) Sensors {
	for _, x := range []struct {
		v         *float64
		low, high float64
	}{{&s.PowerWatts, 0, most}, {&s.ClockMHz, 0, 100_000}, {&s.MemoryClockMHz, 0, 100_000}, {&s.TemperatureC, -100, 200}} {
		if !(*x.v >= x.low && *x.v <= x.high) {
			*x.v = 0
		}
	}
	return s
}

// Notes that say which driver it was, and what a device's link to the host can do at most: whole numbers, or why they are not known.
const (
	NoteDriver         = "driver"
	NotePCIeGeneration = "pcie generation"
	NotePCIeLanes      = "pcie lanes"
)

// Facts of a meter that do not change during a run.
type Facts struct {
	LimitWatts float64           // the power limit in force; 0: unknown
	Notes      map[string]string // name → value, or why it is not known
}

// Limit takes the power limit that a driver tells, unless it is one of the values that mean none (0, all bits set).
func (f *Facts) Limit(watts float64) {
	if watts > 0 && watts <= plausibleWatts {
		f.LimitWatts = watts
		return
	}
	f.Notes["power limit"] = fmt.Sprintf("the driver shows %.4g W, which no device has", watts)
}

// Meter reads the energy of one device. The observer (the parent process) polls it; the worker
// never does. It is used by one goroutine at a time.
type Meter interface {
	// Name for documents: "rapl-powercap", "nvml".
	Name() string
	// Domains in the order of Reading.Counts; at least one is not Apart.
	Domains() []Domain
	Facts() Facts
	// Read takes a reading. Errors that match ErrNoData carry the reason why there is none.
	Read(ctx context.Context) (Reading, error)
	Close() error
}

// TrafficMeter is a Meter that can also tell the share of DRAM's bandwidth in use between two calls.
type TrafficMeter interface {
	BeginTraffic() error
	EndTraffic() (share float64, err error)
}

// Missing stands in the place of a count that could not be read. No counter gets so far.
const Missing = math.MaxUint64

// Fail notes why a domain gave nothing. Of one of the total that is the reading's error.
func (r *Reading) Fail(i int, d Domain, why error) error {
	if !d.Apart {
		return why
	}
	if r.Failed == nil {
		r.Failed = map[int]error{}
	}
	r.Counts[i], r.Failed[i] = Missing, why
	return nil
}

// Delta is the counts from one value of the counter to a later one, undoing one wrap.
func (d Domain) Delta(from, to uint64) (uint64, error) {
	switch {
	case from == Missing || to == Missing:
		return 0, noData("counter %s could not be read", d.Name)
	case d.Range > 0 && (from > d.Range || to > d.Range):
		return 0, noData("counter %s holds %d, above its range of %d", d.Name, max(from, to), d.Range)
	case to >= from:
		return to - from, nil
	case d.Range == 0:
		return 0, noData("counter %s went backwards (from %d to %d): it was reset", d.Name, from, to)
	}
	return to + (d.Range - from), nil
}

// plausibleWatts bounds the power of one domain: what implies more is a reset or garbage. The
// largest boards and packages of today draw below 1.5 kW.
const plausibleWatts = 5000

// Used is the joules that a counter rose by between two readings dt apart. More power than any
// domain can draw is taken for a reset, and a gap in which the counter may have wrapped twice is refused.
func (d Domain) Used(from, to uint64, dt time.Duration) (float64, error) {
	if dt <= 0 {
		return 0, noData("counter %s: the second reading is not later than the first", d.Name)
	}
	if d.Range > 0 {
		if twice := time.Duration(float64(d.Range) * d.Scale / plausibleWatts * 1e9); dt > twice {
			return 0, noData("counter %s: %v between two readings: it may have wrapped twice", d.Name, dt.Round(time.Millisecond))
		}
	}
	n, err := d.Delta(from, to)
	if err != nil {
		return 0, err
	}
	j := float64(n) * d.Scale
	// An update takes the energy of a whole interval at once.
	if w := (j - d.Scale) / (dt + d.Interval + time.Millisecond).Seconds(); w > plausibleWatts {
		return 0, noData("counter %s rose by %.4g J in %v, which is %.3g W: it was reset or shows garbage", d.Name, j, dt.Round(time.Microsecond), w)
	}
	return j, nil
}

// within is the longest time between two readings after which wraps can still be undone.
func within(ds []Domain) time.Duration {
	out := time.Second
	for _, d := range ds {
		if d.Unit == Joules && d.Range > 0 {
			out = min(out, time.Duration(float64(d.Range)*d.Scale/plausibleWatts*1e9)/2)
		}
	}
	return max(out, time.Millisecond)
}
