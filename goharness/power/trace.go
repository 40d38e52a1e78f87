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
	last    Reading
	has     bool
	phase   string
	id      string
	kernel  string
	rows    int
	err     error
}

// traceEvery is the least time between two rows; bursts of readings at edges give one.
const traceEvery = 10 * time.Millisecond

// traceColumns are fixed: new ones come at the end.
var traceColumns = []string{"time_s", "power_watts", "clock_mhz", "temperature_c", "throttled", "phase", "case", "kernel"}

// NewTrace starts a trace of a meter at a time of its clock. Nothing is written before the first row.
func NewTrace(w io.Writer, domains []Domain, start time.Duration) *Trace {
	b := bufio.NewWriter(w)
	return &Trace{out: b, csv: csv.NewWriter(b), domains: domains, start: start}
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
		t.last, t.has = r, true
		return
	}
	dt := time.Duration(r.AtNS - t.last.AtNS)
	if dt < traceEvery || t.err != nil {
		return
	}
	sum, known := 0.0, false
	for i, d := range t.domains {
		if d.Apart {
			continue
		}
		if v := float64(r.Counts[i]) * d.Scale; d.Unit == Watts && v > 0 && v <= plausibleWatts {
			sum, known = sum+v, true
		} else if d.Unit == Watts {
			known = false
			break
		} else if j, err := d.Used(t.last.Counts[i], r.Counts[i], dt); err == nil {
			sum, known = sum+j/dt.Seconds(), true
		} else {
			known = false
			break
		}
	}
	t.last = r
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
