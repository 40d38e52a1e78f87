//go:build cgo && linux

package probe

/*
#include "load.h"
int ridge_clock_portable(const void *args, const ridge_ctx *ctx);
static void *clock_fn(void) { return (void *)ridge_clock_portable; }
static void *load_fn(int wide) {
#if defined(__x86_64__)
  return wide ? (void *)ridge_load_avx512 : (void *)ridge_load_avx2;
#elif defined(__aarch64__)
  return (void *)ridge_load_neon;
#else
  return NULL;
#endif
}
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
// chains of 2^18 dependent steps of 3 cycles (about 0.2 ms each) after one that is dropped.
func MeasureClock(t *team.Team) (Clock, error) {
	p := kernel.Alloc(C.sizeof_ridge_clock_args + 8)
	defer kernel.Free(p)
	a := (*C.ridge_clock_args)(p)
	const n = 1 << 18
	a.steps = n
	a.result = (*C.double)(unsafe.Add(p, C.sizeof_ridge_clock_args))
	l := team.NewList([][]team.Step{{{Fn: C.clock_fn(), Args: p}}})
	defer l.Free()
	samples, err := t.Measure(context.Background(), l, 1, 10)
	if err != nil {
		return Clock{}, fmt.Errorf("measure the clock: %w", err)
	}
	var ghz []float64
	for _, s := range samples[1:] {
		ghz = append(ghz, n*op.ClockStepCycles/s.NS())
	}
	return clockOf(ghz), nil
}

// ClockGHz is the median of MeasureClock.
func ClockGHz(t *team.Team) (float64, error) {
	c, err := MeasureClock(t)
	return c.Median, err
}

// ClockUnderLoad measures the clock while every thread of the team executes multiply-adds
// of the widest vectors the CPU has (load.c explains the mix). After 40 chains of load (12 to 20 ms), so that
// power and current limits have taken effect, come 15 chains of about 0.4 ms; a sample ends
// with the slowest thread. On a machine where a second hyper-thread or a neighbour takes
// multiply-add slots the chain can wait, which lowers the figure: see Clock.Best.
func ClockUnderLoad(t *team.Team) (Clock, error) {
	have := kernel.Detect()
	wide := C.int(0)
	switch {
	case have.Has(kernel.Mask(C.RIDGE_ISA_AVX512)):
		wide = 1
	case !have.Has(kernel.Mask(C.RIDGE_ISA_AVX2FMA)) && !have.Has(kernel.Mask(C.RIDGE_ISA_NEON)):
		return Clock{}, fmt.Errorf("measure the clock under load: this CPU has neither AVX2 with FMA nor NEON")
	}
	idle, err := MeasureClock(t)
	if err != nil {
		return Clock{}, err
	}
	p := kernel.Alloc(C.sizeof_ridge_load_args)
	defer kernel.Free(p)
	a := (*C.ridge_load_args)(p)
	l := team.NewList([][]team.Step{{{Fn: C.load_fn(wide), Args: p}}})
	defer l.Free()
	run := func(turns, perMul, samples int) ([]float64, error) {
		a.turns, a.per_mul = C.int64_t(turns), C.int32_t(perMul)
		s, err := t.Measure(context.Background(), l, 1, samples)
		if err != nil {
			return nil, fmt.Errorf("measure the clock under load: %w", err)
		}
		ns := make([]float64, len(s))
		for i := range s {
			ns[i] = s[i].NS()
		}
		return ns, nil
	}
	const aloneTurns = 1 << 13 // 0.4 million multiply-adds, 0.05 to 0.1 ms
	alone, err := run(aloneTurns, 0, 20)
	if err != nil {
		return Clock{}, err
	}
	// Units by the fastest sample: undercounting only makes the load lighter.
	perCycle := aloneTurns * C.RIDGE_LOAD_ALONE / (slices.Min(alone) * idle.Best)
	perMul := 2
	if perCycle > 1.5 {
		perMul = 4
	}
	const turns = 1 << 14
	const cycles = turns * C.RIDGE_LOAD_CHAIN * op.ClockStepCycles
	ns, err := run(turns, perMul, 55) // 0.3 to 0.5 ms each: 40 warm up
	if err != nil {
		return Clock{}, err
	}
	var ghz []float64
	for _, x := range ns[40:] {
		ghz = append(ghz, cycles/x)
	}
	return clockOf(ghz), nil
}

// ClockUnderLoadGHz is the median of ClockUnderLoad.
func ClockUnderLoadGHz(t *team.Team) (float64, error) {
	c, err := ClockUnderLoad(t)
	return c.Median, err
}
