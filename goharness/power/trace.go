package power

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

func watts(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) + " W" }

// Trace writes readings as CSV: time, watts, clock, temperature, and what ran. The watts of counters are
// the mean since the row before.
type Trace struct {
	mu      sync.Mutex
	out     *bufio.Writer
	csv     *csv.Writer
	domains []Domain
	start   time.Duration
	every   time.Duration // the least time between two rows
	last    int64         // when the row before was read, or the first reading
	base    Reading       // of the counters, where the mean power begins
	moved   []bool        // counters that have moved; the DRAM of many machines never does
	has     bool
	phase   string
	id      string
	kernel  string
	rows    int
	err     error
}

// traceEvery is the least time between two rows; bursts of readings at edges give one. Of counters it is also so many updates:
// between two of them a counter stands still, and a row that held one more or less of few would show steps in place of a power.
const (
	traceEvery   = 10 * time.Millisecond
	traceUpdates = 5
)

// traceColumns are fixed: new ones come at the end.
var traceColumns = []string{"time_s", "power_watts", "clock_mhz", "temperature_c", "throttled", "phase", "case", "kernel"}

// NewTrace starts a trace of a meter at a time of its clock. Nothing is written before the first row.
func NewTrace(w io.Writer, domains []Domain, start time.Duration) *Trace {
	b := bufio.NewWriter(w)
	every := traceEvery
	for _, d := range domains {
		if d.Unit == Joules && !d.Apart {
			every = max(every, traceUpdates*d.Interval)
		}
	}
	return &Trace{out: b, csv: csv.NewWriter(b), domains: domains, start: start, every: every, moved: make([]bool, len(domains))}
}

// Running says what runs from now on.
func (t *Trace) Running(phase, id, kernel string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phase, t.id, t.kernel = phase, id, kernel
}

// Add writes a row for a reading.
func (t *Trace) Add(r Reading) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has {
		t.base, t.last, t.has = r, r.AtNS, true
		return
	}
	if time.Duration(r.AtNS-t.last) < t.every || t.err != nil {
		return
	}
	t.last = r.AtNS
	sum, known := t.power(r)
	cell := func(v float64, ok bool) string {
		if !ok {
			return ""
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	if t.rows++; t.rows == 1 {
		t.err = t.csv.Write(traceColumns)
	}
	if t.err != nil {
		return
	}
	t.err = t.csv.Write([]string{strconv.FormatFloat((time.Duration(r.AtNS) - t.start).Seconds(), 'f', 4, 64), cell(sum, known),
		cell(r.ClockMHz, r.ClockMHz > 0), cell(r.TemperatureC, r.TemperatureC != 0), r.Throttled, t.phase, t.id, t.kernel})
}

// power of a row: the readings of sensors, of counters the mean since base, which then becomes r. A counter that has not moved since
// says nothing yet: what it counts late is that of the whole time.
func (t *Trace) power(r Reading) (sum float64, known bool) {
	dt := time.Duration(r.AtNS - t.base.AtNS)
	some := false
	for i := range t.domains {
		now := r.Counts[i] != t.base.Counts[i]
		t.moved[i] = t.moved[i] || now
		some = some || now
	}
	for i, d := range t.domains {
		if d.Unit == Joules && !d.Apart && r.Counts[i] == t.base.Counts[i] && (t.moved[i] || !some) {
			return 0, false
		}
	}
	base := t.base
	t.base = r
	for i, d := range t.domains {
		v := float64(r.Counts[i]) * d.Scale
		switch {
		case d.Apart:
			continue
		case d.Unit == Joules:
			j, err := d.Used(base.Counts[i], r.Counts[i], dt)
			if err != nil {
				return 0, false
			}
			v = j / dt.Seconds()
		case !(v > 0 && v <= plausibleWatts):
			return 0, false
		}
		sum, known = sum+v, true
	}
	return sum, known
}

// Flush ends the trace.
func (t *Trace) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == 0 {
		return errors.New("power trace: there is nothing to write: the meter gave no two readings")
	}
	t.csv.Flush()
	for _, err := range []error{t.err, t.csv.Error(), t.out.Flush()} {
		if err != nil {
			return fmt.Errorf("power trace: %w", err)
		}
	}
	return nil
}

// Follow reads now and then until the returned function is called, for a trace of what runs between
// the windows too. What a meter fails to give is missing in it, and the windows say why; one that is given up ends it.
func (o *Observer) Follow(every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for o.clock.Sleep(ctx, every) == nil {
			if _, err := o.Read(ctx); err != nil && o.Gone() != nil {
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}
