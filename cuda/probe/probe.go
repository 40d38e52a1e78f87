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

// GateImage is the source file, and the entry, of the kernel that holds a stream while its queue is filled.
const GateImage = "gate_simt"

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

// CrowdSteps of the chain that a block of a crowd runs: with 16 warps on each scheduler about 8 us. CrowdWaves of such blocks: about 4 ms. A block is not
// interrupted: what goes before others waits for the end of some (an H200: 5.1 us a launch beside blocks of 8 us, 33 us beside blocks of 55).
const (
	CrowdSteps = 512
	CrowdWaves = 512
)

// crowdBlocks of 256 threads fill a multiprocessor, which holds 2048 threads at most from 8.0 to 12.0.
const crowdBlocks = 8

// Crowd keeps every multiprocessor full with blocks of the clock's chain, in waves one after another. out is the clock's.
func Crowd(out uint64, waves, steps int64, d kernel.Device) kernel.Launch {
	return kernel.Launch{Entry: "clock_simt", Grid: [3]int64{crowdBlocks * int64(max(1, d.SMs)) * waves, 1, 1}, Block: [3]int64{256, 1, 1},
		Args: []kernel.Arg{kernel.Uint(out), kernel.Int(steps)}}
}

// Family lists the probes that are ops, one line each.
func Family() kernel.Family {
	return kernel.Family{Name: "probe", Kernels: []kernel.Kernel{
		{Name: "dispatch_fp64_simt", Ops: "dispatch dispatch_graph dispatch_priority", DType: record.FP64, Accumulate: record.FP64, IntExact: true, Plan: dispatch},
		{Name: "dispatch_fp64_simt_persistent", Ops: "dispatch_persistent", DType: record.FP64, Accumulate: record.FP64, IntExact: true, Plan: persistent},
		{Name: "peak_fp64_simt", Ops: "peak", DType: record.FP64, Accumulate: record.FP64, IntExact: true, PeakISA: "simt", Plan: peak("simt", "peak_fp64_simt")},
		{Name: "peak_fp32_simt", Ops: "peak", DType: record.FP32, Accumulate: record.FP32, IntExact: true, PeakISA: "simt", Plan: peak("simt", "peak_fp32_simt")},
		{Name: "peak_fp16_simt", Ops: "peak", DType: record.FP16, Accumulate: record.FP16, IntExact: true, PeakISA: "simt", Plan: peak("simt", "peak_fp16_simt")},
		{Name: "peak_int8_simt", Ops: "peak", DType: record.INT8, Accumulate: record.INT32, IntExact: true, PeakISA: "simt", Plan: peak("simt", "peak_int8_simt")},
		{Name: "peak_fp32_simt_ex2", Ops: "peak", DType: record.FP32, Accumulate: record.FP32, IntExact: true, PeakISA: "ex2", Plan: peak("ex2", "peak_fp32_simt_ex2")},
		{Name: "peak_fp64_sm80", Ops: "peak", DType: record.FP64, Accumulate: record.FP64, Least: 80, IntExact: true, PeakISA: "mma", Plan: peak("mma", "peak_fp64_sm80")},
		{Name: "peak_tf32_sm80", Ops: "peak", DType: record.TF32, Accumulate: record.FP32, Least: 80, IntExact: true, PeakISA: "mma", Plan: peak("mma", "peak_tf32_sm80")},
		{Name: "peak_fp16_sm80", Ops: "peak", DType: record.FP16, Accumulate: record.FP32, Least: 80, IntExact: true, PeakISA: "mma", Plan: peak("mma", "peak_fp16_sm80")},
		{Name: "peak_bf16_sm80", Ops: "peak", DType: record.BF16, Accumulate: record.FP32, Least: 80, IntExact: true, PeakISA: "mma", Plan: peak("mma", "peak_bf16_sm80")},
		{Name: "peak_int8_sm80", Ops: "peak", DType: record.INT8, Accumulate: record.INT32, Least: 80, IntExact: true, PeakISA: "mma", Plan: peak("mma", "peak_int8_sm80")},
		{Name: "peak_u8s8_sm80", Ops: "peak", DType: record.U8S8, Accumulate: record.INT32, Least: 80, IntExact: true, PeakISA: "mma", Plan: peak("mma", "peak_u8s8_sm80")},
		{Name: "peak_bf16_sm90", Ops: "peak", DType: record.BF16, Accumulate: record.FP32, Only: 90, IntExact: true, PeakISA: "wgmma", Plan: peakWgmma("peak_bf16_sm90")},
		{Name: "peak_fp16_sm90", Ops: "peak", DType: record.FP16, Accumulate: record.FP32, Only: 90, IntExact: true, PeakISA: "wgmma", Plan: peakWgmma("peak_fp16_sm90")},
		{Name: "peak_tf32_sm90", Ops: "peak", DType: record.TF32, Accumulate: record.FP32, Only: 90, IntExact: true, PeakISA: "wgmma", Plan: peakWgmma("peak_tf32_sm90")},
		{Name: "peak_fp8_e4m3_sm90", Ops: "peak", DType: record.FP8E4M3, Accumulate: record.FP32, Only: 90, IntExact: true, PeakISA: "wgmma", Plan: peakWgmma("peak_fp8_e4m3_sm90")},
		{Name: "peak_int8_sm90", Ops: "peak", DType: record.INT8, Accumulate: record.INT32, Only: 90, IntExact: true, PeakISA: "wgmma", Plan: peakWgmma("peak_int8_sm90")},
		{Name: "peak_u8s8_sm90", Ops: "peak", DType: record.U8S8, Accumulate: record.INT32, Only: 90, IntExact: true, PeakISA: "wgmma", Plan: peakWgmma("peak_u8s8_sm90")},
		{Name: "shared_int32_simt", Ops: "shared_memory", DType: record.INT32, Accumulate: record.INT32, IntExact: true, Plan: shared},
	}}
}

// dispatch gives each multiprocessor a warp.
func dispatch(_ op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return kernel.Plan{Launches: []kernel.Launch{{Entry: "dispatch_fp64_simt", Grid: [3]int64{int64(max(1, d.SMs)), 1, 1}, Block: [3]int64{32, 1, 1},
		Args: []kernel.Arg{kernel.Ptr(b[0])}}}}, nil
}

// persistent is one thread that stays; the driver adds the parameters behind the result (driver.NewResident).
func persistent(_ op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	return kernel.Plan{Launches: []kernel.Launch{{Entry: "dispatch_fp64_simt_persistent", Grid: [3]int64{1, 1, 1}, Block: [3]int64{32, 1, 1},
		Args: []kernel.Arg{kernel.Ptr(b[0])}}}}, nil
}

// peak gives each chunk a warp, 8 warps a block.
func peak(isa, entry string) func(op.Op, []kernel.Buffer, kernel.Device) (kernel.Plan, error) {
	return func(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
		p, ok := o.(*op.Peak)
		if !ok {
			return kernel.Plan{}, fmt.Errorf("op %s is no peak probe", o.Name())
		}
		if p.Row.ISA != isa {
			return kernel.Plan{}, kernel.Shape("isa=%s: this kernel is the probe of isa=%s", p.Row.ISA, isa)
		}
		return kernel.Plan{Launches: []kernel.Launch{{Entry: entry,
			Grid: [3]int64{kernel.Blocks(p.Chunks(), 8, int64(8*d.SMs)), 1, 1}, Block: [3]int64{256, 1, 1},
			Args: append([]kernel.Arg{kernel.Ptr(b[0])}, kernel.Ints(p.Instructions, p.Row.Chunk)...)}}}, nil
	}
}

// peakWgmma gives each chunk a warpgroup, two a block.
func peakWgmma(entry string) func(op.Op, []kernel.Buffer, kernel.Device) (kernel.Plan, error) {
	const operands = 1024 + 64*128 + 128*128 // bytes, with what aligns them
	return func(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
		p, err := peak("wgmma", entry)(o, b, d)
		if err == nil {
			chunks := o.(*op.Peak).Chunks()
			p.Launches[0].Grid[0], p.Launches[0].Shared = kernel.Blocks(chunks, 2, int64(2*d.SMs)), operands
		}
		return p, err
	}
}

// shared has a block of 512 threads for each scratchpad.
func shared(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	s, ok := o.(*op.Shared)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no probe of shared memory", o.Name())
	}
	const sums = 64 // bytes of the kernel's static array
	if n := 4*s.Words + sums; n > int64(d.SharedMax) {
		return kernel.Plan{}, kernel.Shape("bytes=%d: a block of this device has %d bytes of shared memory, %d of them for the sums", 4*s.Words, d.SharedMax, sums)
	}
	return kernel.Plan{Launches: []kernel.Launch{{Entry: "shared_int32_simt", Grid: [3]int64{s.Blocks, 1, 1}, Block: [3]int64{512, 1, 1}, Shared: 4 * s.Words,
		Args: append(kernel.Ints(s.Words, s.Passes), kernel.Ptr(b[0]))}}}, nil
}
