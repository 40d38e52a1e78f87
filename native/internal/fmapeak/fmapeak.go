//go:build cgo && linux

// Package fmapeak runs multiply-adds on registers alone, so that a GEMM benchmark can report
// its rate next to the ceiling it had at that moment. Only tests import it.
package fmapeak

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../../include -DRIDGE_STAMP=d425d404b121
#include "fmapeak.h"
*/
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"ridge/goharness/record"
	"ridge/native/kernel"
	"ridge/native/team"
)

// Runnable reports whether this CPU has the instructions (AVX2 with FMA, or NEON).
func Runnable() bool {
	have := kernel.Detect()
	return have.Has(1<<2|1<<3) || have.Has(1<<32)
}

// GFLOPs is the best rate of a few samples of about a millisecond on all threads of a team,
// thread i pinned to cpus[i], at fp32 or fp64.
func GFLOPs(cpus []int, d record.DType, samples int) (float64, error) {
	t, err := team.New(len(cpus), cpus)
	if err != nil {
		return 0, fmt.Errorf("measure the FMA peak: %w", err)
	}
	defer t.Close()
	const iterations = 500_000
	p := kernel.Alloc(8)
	defer kernel.Free(p)
	*(*int64)(p) = iterations
	fn := unsafe.Pointer(C.ridge_fmapeak_fp32)
	if d == record.FP64 {
		fn = unsafe.Pointer(C.ridge_fmapeak_fp64)
	}
	l := team.NewList([][]team.Step{{{Fn: fn, Args: p}}})
	defer l.Free()
	s, err := t.Measure(context.Background(), l, 1, samples)
	if err != nil {
		return 0, fmt.Errorf("measure the FMA peak: %w", err)
	}
	best := 0.0
	flops := float64(iterations) * float64(C.ridge_fmapeak_flops(C.int(d.Size()))) * float64(len(cpus))
	for _, x := range s {
		best = max(best, flops/x.NS())
	}
	return best, nil
}
