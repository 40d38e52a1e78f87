//go:build cgo && linux

package probe

/*
#include "../include/ridge_probe.h"
int ridge_clock_portable(const void *args, const ridge_ctx *ctx);
static void *clock_fn(void) { return (void *)ridge_clock_portable; }
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"ridge/goharness/op"
	"ridge/native/kernel"
	"ridge/native/team"
)

// Clock is a measured clock in GHz. Whatever disturbs a sample (preemption, a hypervisor,
// a neighbour on the same core) only lowers it: Median is the clock under the conditions
// of the measurement, Best the nearest to the core's own.
type Clock struct {
	Median, Best float64
	Samples      int
}

func clockOf(ghz []float64) Clock {
	slices.Sort(ghz)
	return Clock{Median: ghz[len(ghz)/2], Best: ghz[len(ghz)-1], Samples: len(ghz)}
}

// MeasureClock measures the clock of the team's first thread while the others wait: 9
// chains of 2^18 dependent multiplications (about 0.2 ms each) after one that is dropped.
func MeasureClock(t *team.Team) (Clock, error) {
	p := kernel.Alloc(C.sizeof_ridge_clock_args + 8)
	defer kernel.Free(p)
	a := (*C.ridge_clock_args)(p)
	const n = 1 << 18
	a.multiplications = n
	a.result = (*C.double)(unsafe.Add(p, C.sizeof_ridge_clock_args))
	l := team.NewList([][]team.Step{{{Fn: C.clock_fn(), Args: p}}})
	defer l.Free()
	samples, err := t.Run(context.Background(), l, 1, 10)
	if err != nil {
		return Clock{}, fmt.Errorf("measure the clock: %w", err)
	}
	var ghz []float64
	for _, s := range samples[1:] {
		ghz = append(ghz, n*op.MulLatency/s.NS())
	}
	return clockOf(ghz), nil
}

// ClockGHz is the median of MeasureClock.
func ClockGHz(t *team.Team) (float64, error) {
	c, err := MeasureClock(t)
	return c.Median, err
}
