//go:build cgo && linux

// Package probe measures what the core itself can do: its clock and its arithmetic peaks.
package probe

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include
#include "clock.h"
static void *clock_fn(void) { return (void *)ridge_clock_chain; }
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"ridge/native/kernel"
	"ridge/native/team"
)

// ClockGHz measures the clock of the team's first thread: the median of 9 chains of 2^17
// dependent multiplications (about 0.1 ms each).
func ClockGHz(t *team.Team) (float64, error) {
	p := kernel.Alloc(C.sizeof_ridge_clock_args + 8)
	defer kernel.Free(p)
	a := (*C.ridge_clock_args)(p)
	const n = 1 << 17
	a.multiplications = n
	a.sink = (*C.uint64_t)(unsafe.Add(p, C.sizeof_ridge_clock_args))
	l := team.NewList([][]team.Step{{{Fn: C.clock_fn(), Args: p}}})
	defer l.Free()
	samples, err := t.Run(context.Background(), l, 1, 10)
	if err != nil {
		return 0, fmt.Errorf("measure the clock: %w", err)
	}
	var ghz []float64
	for _, s := range samples[1:] {
		ghz = append(ghz, n*C.RIDGE_MUL_LATENCY/s.NS())
	}
	slices.Sort(ghz)
	return ghz[len(ghz)/2], nil
}
