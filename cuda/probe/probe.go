// Package probe is the CUDA kernels that measure the device itself.
package probe

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// ClockImage is the source file of the clock kernel.
const ClockImage = "clock_simt"

// ClockSteps of the chain: about 0.6 ms, so that a timer of 1 µs errs by 0.2 %.
const ClockSteps = 1 << 18

// Clock measures the multiprocessors' clock, with one warp or (load) with all of them busy. The
// three results of 8 bytes are cycles, nanoseconds and a number without meaning.
func Clock(out uint64, load bool, d kernel.Device) kernel.Launch {
	grid, block := int64(1), int64(32)
	if load {
		grid, block = int64(2*d.SMs), 256
	}
	return kernel.Launch{Entry: "clock_simt", Grid: [3]int64{grid, 1, 1}, Block: [3]int64{block, 1, 1},
		Args: []kernel.Arg{kernel.Uint(out), kernel.Int(ClockSteps)}}
}

// Family lists the probes that are ops, one line each.
func Family() kernel.Family {
	return kernel.Family{Name: "probe", Kernels: []kernel.Kernel{
		{Name: "dispatch_fp64_simt", Ops: "dispatch", DType: record.FP64, Accumulate: record.FP64, IntExact: true, Plan: dispatch},
		{Name: "peak_fp64_simt", Ops: "peak", DType: record.FP64, Accumulate: record.FP64, IntExact: true, Plan: peak},
		{Name: "peak_fp32_simt", Ops: "peak", DType: record.FP32, Accumulate: record.FP32, IntExact: true, Plan: peak},
		{Name: "peak_fp16_simt", Ops: "peak", DType: record.FP16, Accumulate: record.FP16, IntExact: true, Plan: peak},
		{Name: "peak_int8_simt", Ops: "peak", DType: record.INT8, Accumulate: record.INT32, IntExact: true, Plan: peak},
	}}
}

// dispatch gives each multiprocessor a warp.
func dispatch(_ op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return kernel.Plan{Launches: []kernel.Launch{{Entry: "dispatch_fp64_simt", Grid: [3]int64{int64(max(1, d.SMs)), 1, 1}, Block: [3]int64{32, 1, 1},
		Args: []kernel.Arg{kernel.Ptr(b[0])}}}}, nil
}

// peak gives each chunk a warp, 8 warps a block.
func peak(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	p, ok := o.(*op.Peak)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no peak probe", o.Name())
	}
	if p.Row.ISA != "simt" {
		return kernel.Plan{}, kernel.Shape("isa=%s: the probes of this device are isa=simt", p.Row.ISA)
	}
	return kernel.Plan{Launches: []kernel.Launch{{Entry: "peak_" + string(o.DType()) + "_simt",
		Grid: [3]int64{kernel.Blocks(p.Chunks(), 8, int64(8*d.SMs)), 1, 1}, Block: [3]int64{256, 1, 1},
		Args: append([]kernel.Arg{kernel.Ptr(b[0])}, kernel.Ints(p.Instructions, p.Row.Chunk)...)}}}, nil
}
