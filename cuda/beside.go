//go:build cuda && linux && cgo

package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"

	"ridge/cuda/driver"
	"ridge/cuda/probe"
	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// mostFills of the low stream, about 3 ms each, are tried for a sample.
const mostFills = 64

// prepareBeside makes the streams and the crowd that keeps the device busy. Called on the device's thread.
func (e *executable) prepareBeside(l driver.Launch) error {
	c, err := e.d.prepareClock()
	if err != nil {
		return err
	}
	waves, steps := int64(probe.CrowdWaves), int64(probe.CrowdSteps)
	if e.d.state.Fake != "" {
		waves, steps = 1, 16 // of no hardware: as short as it can be
	}
	var crowd [2]driver.Launch // one wave to begin with
	for i, n := range []int64{1, waves} {
		if crowd[i], err = e.d.launch(probe.ClockImage, probe.Crowd(uint64(c.out.ptr), n, steps, e.d.id.limits), 0); err != nil {
			return err
		}
	}
	e.beside, err = driver.NewBeside(crowd[0], crowd[1], l)
	if errors.Is(err, driver.ErrOnePriority) {
		return backend.Unsupported("%v: no launch can go before others", err)
	}
	return fail("make streams of two priorities", err)
}

// measureBeside times launches while the crowd is on the device: each sample fills the low stream anew, with more where the launches outlasted it.
func (e *executable) measureBeside(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	var out []backend.Sample
	for fills := 1; len(out) < samples; {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		ns, end, full, err := e.beside.Measure(fills, 1, launches)
		switch {
		case err != nil:
			return out, fail("kernel "+e.names()+" beside a full stream", err)
		case !full && 2*fills > mostFills:
			return out, fmt.Errorf("%d launches took %.3g ms and outlasted %d launches on the stream of low priority: the device was not full", launches, ns*1e-6, fills)
		case !full:
			fills *= 2
			continue
		}
		out = append(out, backend.Sample{StartNS: end - int64(math.Round(ns)), EndNS: end, Launches: launches, Untimed: 1, Switches: -1, RunDelayNS: -1, StealNS: -1})
	}
	e.ways.Launching = record.Launching{Path: record.LaunchPriority, Why: "launches beside a stream that keeps the device busy are what is measured",
		Queue: fmt.Sprintf("on a stream of priority %d, while one of priority %d keeps every multiprocessor full (the device has %d to %d)",
			e.beside.Greatest, e.beside.Least, e.beside.Least, e.beside.Greatest),
		Clock: "the last event, when the host saw it"}
	return out, nil
}
