package campaign

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/power"
	"ridge/goharness/record"
)

// boardEvery is the time between two readings of a device's sensors while a case is timed; they change no faster.
const boardEvery = 50 * time.Millisecond

// board reads the sensors of a device that has its own while its cases are timed.
type board struct {
	observer *power.Observer
	own      bool     // no energy was asked for: nobody else reads or closes it
	gone     string   // why there are no sensors
	beside   []string // what the device shares with others
	disturb  []string // what else uses it: a warning of each result
}

// openBoard finds the sensors of an accelerator and lets the runner ask for them. Missing ones are a reason, not an error.
func (c *campaign) openBoard(ctx context.Context) {
	if c.cfg.Accelerator == nil {
		return
	}
	b := &board{}
	c.board = b
	c.runner.Observe = func(record.Case) func(*record.Result) { return b.watch(ctx) }
	notes := map[string]string{}
	if c.energy != nil && c.energy.observer != nil {
		b.observer = c.energy.observer
	} else if m, err := power.Find(ctx, sourcesOr(c.cfg.EnergyOf.Meters), MeterEnv(c.cfg.Source, c.doc.Host), MeterDevice(c.doc.Devices[0])); err != nil {
		b.gone = err.Error()
	} else {
		b.observer, b.own = power.NewObserver(m, power.Clock{Now: measure.MonotonicNow, Sleep: power.Sleep}, nil), true
	}
	if b.observer != nil {
		notes = b.observer.Meter().Facts().Notes
	}
	c.toldBy(notes)
	b.beside, b.disturb = besides(*c.cfg.Accelerator, notes)
	for _, d := range b.disturb {
		c.cfg.View.Warn("%s: %s", c.cfg.Plan.Device, d)
	}
}

// toldBy takes over what a meter's notes tell of the device: the driver's version, where CUDA names its own alone, and the link to the host.
func (c *campaign) toldBy(notes map[string]string) {
	d := &c.doc.Devices[0]
	if d.Facts = maps.Clone(d.Facts); d.Facts == nil {
		d.Facts = map[string]string{}
	}
	if v := notes[power.NoteDriver]; v != "" {
		d.Facts["driver_version"] = v
	}
	generation, lanes := notes[power.NotePCIeGeneration], notes[power.NotePCIeLanes]
	g, err := strconv.Atoi(generation)
	n, err2 := strconv.Atoi(lanes)
	if err != nil || err2 != nil {
		return // a reason, or nothing
	}
	d.Facts["pcie_generation"], d.Facts["pcie_lanes"] = generation, lanes
	if c.setting.GPU != nil {
		c.setting.GPU.PCIeGeneration, c.setting.GPU.PCIeLanes = g, n
	}
}

// besides is what else uses a device: of a machine with several what they share, and what is in every figure, of which results warn.
func besides(d record.Device, notes map[string]string) (shared, disturb []string) {
	if others := notes["other processes"]; strings.HasPrefix(others, "pid ") {
		disturb = append(disturb, "other processes on the device: "+others)
	}
	if strings.Contains(d.Name, " MIG ") { // as CUDA calls a slice
		disturb = append(disturb, "the device is a slice of a GPU by MIG: the others share its power and its clock")
	}
	if n := fact(d, record.FactDevices); n > 1 {
		shared = append(shared, fmt.Sprintf("one of %d devices of this machine, which share its bus, its power and its cooling", n))
	}
	return shared, disturb
}

func (c *campaign) closeBoard() {
	if c.board != nil && c.board.own {
		c.board.observer.Close()
	}
}

// watch reads until its answer is called, which writes what was seen into the result's conditions.
func (b *board) watch(ctx context.Context) func(*record.Result) {
	if b.observer == nil {
		return func(r *record.Result) { b.fill(r, nil, b.gone) }
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	var got []power.Reading
	var failed error
	go func() {
		defer close(done)
		for power.Sleep(ctx, boardEvery) == nil {
			r, err := b.observer.Read(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				failed = err
				return
			}
			got = append(got, r)
		}
	}()
	return func(r *record.Result) {
		stop()
		<-done
		if len(got) == 0 && failed == nil { // too short: the moment after it
			if x, err := b.observer.Read(context.WithoutCancel(ctx)); err != nil {
				failed = err
			} else {
				got = append(got, x)
			}
		}
		why := ""
		if failed != nil {
			why = failed.Error()
		}
		b.fill(r, got, why)
	}
}

// fill writes what the sensors showed. The host's temperature says nothing about the device.
func (b *board) fill(r *record.Result, got []power.Reading, why string) {
	c := r.Conditions
	if c == nil {
		return
	}
	for _, d := range b.disturb {
		if !slices.Contains(r.Warnings, d) {
			r.Warnings = append(r.Warnings, d)
		}
	}
	if len(got) == 0 {
		c.Board = &record.Board{Source: "none", Beside: append(slices.Clone(b.beside), b.disturb...), Unavailable: why}
		c.TemperatureC, c.Throttled = record.Unknown[float64](why), record.Unknown[string](why)
		return
	}
	source, _, _ := strings.Cut(b.observer.Meter().Name(), " ") // the library; the rest says how it counts joules
	out := &record.Board{Source: source, Readings: len(got), Beside: append(slices.Clone(b.beside), b.disturb...)}
	clocks := known(got, func(s power.Sensors) float64 { return s.ClockMHz })
	if out.ClockMHz = middle(clocks); len(clocks) > 0 {
		out.LeastClockMHz = clocks[0]
	}
	out.MemoryClockMHz = middle(known(got, func(s power.Sensors) float64 { return s.MemoryClockMHz }))
	out.PowerWatts = middle(known(got, func(s power.Sensors) float64 { return s.PowerWatts }))
	c.TemperatureC = record.Unknown[float64](source + " shows no temperature")
	if t := known(got, func(s power.Sensors) float64 { return s.TemperatureC }); len(t) > 0 {
		out.TemperatureC = t[len(t)-1]
		c.TemperatureC = record.Known(out.TemperatureC, source+", highest")
	}
	var held []string
	for _, x := range got {
		for _, reason := range strings.Split(x.Throttled, ", ") {
			if reason != "" && !slices.Contains(held, reason) {
				held = append(held, reason)
			}
		}
	}
	c.Throttled = record.Known("no", source)
	if len(held) > 0 {
		c.Throttled = record.Known(strings.Join(held, ", "), source+fmt.Sprintf(", seen in %d readings", len(got)))
	}
	c.Board = out
}

// known are the values that a sensor gave, ascending.
func known(got []power.Reading, of func(power.Sensors) float64) []float64 {
	var out []float64
	for _, r := range got {
		if v := of(r.Sensors); v != 0 {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

func middle(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}
