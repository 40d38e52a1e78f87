package ceiling

import (
	"fmt"

	"ridge/goharness/record"
)

// GPU is what the formulas need of an NVIDIA device. Zeros are unknown.
type GPU struct {
	Capability int // 90 for 9.0
	SMs        int
	BoostGHz   float64 // the highest clock that the driver reports; no promise under load
	MemoryGHz  float64 // of the memory's command clock, two transfers a cycle
	BusBits    int
}

// gpuRate is operations per cycle and multiprocessor (1 multiply + 1 add = 2), dense.
type gpuRate struct {
	capability int
	isa        string // simt or tensor
	dtype      record.DType
	ops        float64
	source     string
}

const (
	guide  = "CUDA C++ Programming Guide, throughput of native arithmetic instructions"
	a100   = "NVIDIA A100 white paper, dense"
	hopper = "NVIDIA H100 white paper, dense"
)

// gpuRates has rows with a source alone: other capabilities are measured only.
var gpuRates = []gpuRate{
	{80, "simt", record.FP32, 128, guide}, {80, "simt", record.FP64, 64, guide},
	{80, "tensor", record.FP64, 128, a100}, {80, "tensor", record.TF32, 1024, a100},
	{80, "tensor", record.FP16, 2048, a100}, {80, "tensor", record.BF16, 2048, a100}, {80, "tensor", record.INT8, 4096, a100},
	{86, "simt", record.FP32, 256, guide}, {86, "simt", record.FP64, 4, guide},
	{89, "simt", record.FP32, 256, guide}, {89, "simt", record.FP64, 4, guide},
	{90, "simt", record.FP32, 256, guide}, {90, "simt", record.FP64, 128, guide},
	{90, "tensor", record.FP64, 256, hopper}, {90, "tensor", record.TF32, 2048, hopper},
	{90, "tensor", record.FP16, 4096, hopper}, {90, "tensor", record.BF16, 4096, hopper},
	{90, "tensor", record.FP8E4M3, 8192, hopper}, {90, "tensor", record.FP8E5M2, 8192, hopper}, {90, "tensor", record.INT8, 8192, hopper},
	{100, "simt", record.FP32, 256, guide}, {100, "simt", record.FP64, 128, guide},
	{120, "simt", record.FP32, 256, guide}, {120, "simt", record.FP64, 4, guide},
}

// Theory gives the formula's value for a ceiling of the device, or why there is none: then the
// ceiling is measured only. clockGHz is the clock that was measured under load; 0 takes the boost clock,
// and the formula says which.
func (g GPU) Theory(c record.Ceiling, clockGHz float64) record.Theoretical {
	switch {
	case c.Kind == record.CeilingCompute:
		return g.compute(c, clockGHz)
	case c.Kind == record.CeilingBandwidth && c.Level == DRAM:
		return g.dram()
	case c.Kind == record.CeilingBandwidth:
		return record.Theoretical{Unavailable: "no formula: the caches' width per cycle has no published figure"}
	}
	return record.Theoretical{Unavailable: "no formula: latencies and the launch path have no published figure"}
}

func (g GPU) compute(c record.Ceiling, clock float64) record.Theoretical {
	for _, r := range gpuRates {
		if r.capability != g.Capability || r.isa != c.ISA || r.dtype != c.DType {
			continue
		}
		which := "clock measured under load"
		if clock == 0 {
			clock, which = g.BoostGHz, "boost clock that the driver reports"
		}
		if clock == 0 || g.SMs == 0 {
			return record.Theoretical{Unavailable: "the driver reports no clock or no count of multiprocessors"}
		}
		return record.Theoretical{Value: r.ops * clock * float64(g.SMs),
			Formula: "operations per cycle and multiprocessor × clock × multiprocessors",
			Inputs:  map[string]float64{"ops_per_cycle": r.ops, "clock_ghz": clock, "multiprocessors": float64(g.SMs)},
			Source:  r.source + "; " + which}
	}
	return record.Theoretical{Unavailable: fmt.Sprintf("no published figure for %s %s on compute capability %d.%d: measured only",
		c.ISA, c.DType, g.Capability/10, g.Capability%10)}
}

func (g GPU) dram() record.Theoretical {
	if g.MemoryGHz == 0 || g.BusBits == 0 {
		return record.Theoretical{Unavailable: "the driver reports no memory clock or bus width: measured only"}
	}
	return record.Theoretical{Value: 2 * g.MemoryGHz * float64(g.BusBits) / 8,
		Formula: "2 transfers × memory clock × bus width / 8",
		Inputs:  map[string]float64{"memory_clock_ghz": g.MemoryGHz, "bus_bits": float64(g.BusBits)},
		Source:  "the driver's device attributes"}
}
