package campaign

import (
	"context"
	"fmt"

	"ridge/goharness/ceiling"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// readClocks measures the clock with all threads of the run and with one alone, by thread
// count, and puts both into the document. A clock under load that this CPU cannot give
// carries the reason.
func (c *campaign) readClocks(ctx context.Context) (map[int]runner.ClockReading, error) {
	o := &c.cfg.Plan
	fact := func(r runner.ClockReading, source string) record.Fact[float64] {
		if r.LoadedUnavailable != "" {
			return record.Unknown[float64](r.LoadedUnavailable)
		}
		return record.Known(r.LoadedGHz, source)
	}
	out := map[int]runner.ClockReading{}
	all, err := c.readClock(ctx, o.Threads)
	if err != nil {
		return nil, err
	}
	out[o.Threads] = all
	if c.cfg.Accelerator != nil {
		const why = "not measured: the run is not on the CPU"
		c.doc.Host.CPU.Clock.IdleGHz, c.doc.Host.CPU.Clock.LoadedGHz = record.Unknown[float64](why), record.Unknown[float64](why)
		return out, nil
	}
	to := &c.doc.Host.CPU.Clock
	loaded := "the same while the FMA units of all threads are busy"
	if o.Threads > 1 {
		if out[1], err = c.readClock(ctx, 1); err != nil {
			return nil, err
		}
		one := fact(out[1], "the same while the FMA units of one thread alone are busy")
		to.LoadedOneGHz = &one
		first := all.LoadedGHz
		for n := 1; n <= clockAgain && all.LoadedUnavailable == "" && ceiling.FarBelow(all.LoadedGHz, out[1].LoadedGHz); n++ {
			again, err := c.readClock(ctx, o.Threads)
			if err != nil {
				return nil, err
			}
			all.IdleGHz, all.LoadedGHz = max(all.IdleGHz, again.IdleGHz), max(all.LoadedGHz, again.LoadedGHz)
			loaded = fmt.Sprintf("the same while the FMA units of all threads are busy; the highest of %d readings, since the first, %.2f GHz, lay far below one thread's", n+1, first)
		}
		out[o.Threads] = all
	}
	to.IdleGHz = record.Known(all.IdleGHz, "dependent-multiplication chain, otherwise idle")
	to.LoadedGHz = fact(all, loaded)
	return out, nil
}

// clockAgain is how often the clock of several threads is read again while it lies far below one thread's: a neighbour that works for a moment
// leaves, and a chip whose clock is that low under load stays so.
const clockAgain = 3

// clockReadings of a clock: who else uses the CPU slows a reading and nothing makes one too
// fast, so the highest is the clock. One alone read 3.41 GHz where the probes then ran at 3.69.
const clockReadings = 5

// readClock is the highest of several readings.
func (c *campaign) readClock(ctx context.Context, threads int) (runner.ClockReading, error) {
	best, err := c.runner.Clock(ctx, c.cfg.Plan.Device, threads)
	for n := 1; err == nil && n < clockReadings; n++ {
		var r runner.ClockReading
		if r, err = c.runner.Clock(ctx, c.cfg.Plan.Device, threads); err != nil {
			break
		}
		best.IdleGHz = max(best.IdleGHz, r.IdleGHz)
		if r.LoadedUnavailable == "" {
			best.LoadedGHz, best.LoadedUnavailable = max(best.LoadedGHz, r.LoadedGHz), ""
		}
	}
	return best, err
}
