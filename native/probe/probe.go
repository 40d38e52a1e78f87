//go:build cgo && linux

// Package probe measures what the core itself can do: its clock, its arithmetic peaks and
// the latency of handing work to the team.
package probe

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#include "table.h"
#if !defined(__aarch64__)
int32_t ridge_sve_bits(void) { return 0; }
#endif
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"ridge/goharness/op"
	"ridge/native/kernel"
)

// Family is the probe family: the ops peak, dispatch and clock.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "probe",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_probe_table()), int(C.ridge_probe_table_len())),
		Bind:    bind,
	}
}

// SVEBits is this machine's SVE vector length in bits (the op peak's parameter vl); 0 when
// it has no SVE.
func SVEBits() int {
	if !slices.Contains(kernel.Detect().Names(), "sve") {
		return 0
	}
	return int(C.ridge_sve_bits())
}

func bind(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	result := (*C.double)(bufs[0].Ptr)
	switch o.Name() {
	case "peak":
		p, ok := o.(*op.Peak)
		if !ok {
			return nil, fmt.Errorf("op %s is not ridge's own peak", o.Name())
		}
		return bindPeak(p, result), nil
	case "clock":
		a := (*C.ridge_clock_args)(kernel.Alloc(C.sizeof_ridge_clock_args))
		a.steps, a.result = C.int64_t(o.Items()/op.ClockStepCycles), result
		return unsafe.Pointer(a), nil
	case "dispatch":
		a := (*C.ridge_dispatch_args)(kernel.Alloc(C.sizeof_ridge_dispatch_args))
		a.result = result
		return unsafe.Pointer(a), nil
	}
	return nil, fmt.Errorf("op %s is not a probe", o.Name())
}

// bindPeak puts the operand registers behind the arguments, in the same allocation.
func bindPeak(p *op.Peak, result *C.double) unsafe.Pointer {
	l := layoutOf(p)
	mem := kernel.Alloc(uintptr(C.sizeof_ridge_probe_args + 64 + 4*l.register))
	end := uintptr(mem) + C.sizeof_ridge_probe_args
	operands := unsafe.Add(mem, (end+63)&^63-uintptr(mem))
	l.encode(p.Row.DType, unsafe.Slice((*byte)(operands), 4*l.register))
	sum, n := l.step(p.Row.DType)
	a := (*C.ridge_probe_args)(mem)
	a.instructions, a.chunk = C.int64_t(p.Instructions), C.int64_t(p.Row.Chunk)
	a.isa, a.vl = C.int32_t(slices.Index(op.PeakISAs, p.Row.ISA)), C.int32_t(p.VL)
	a.operands, a.result = operands, result
	a.step_sum, a.step_instructions = C.double(sum), C.int64_t(n)
	return mem
}
