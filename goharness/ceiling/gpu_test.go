package ceiling

import (
	"math"
	"strings"
	"testing"

	"ridge/goharness/record"
)

// H200: 132 multiprocessors; REFERENCE 4.2 gives the peaks at 1830 and 1980 MHz.
func TestTheoreticalPeaksOfAGPUFollowFromItsCapability(t *testing.T) {
	h200 := GPU{Capability: 90, SMs: 132, BoostGHz: 1.98, MemoryGHz: 3.201, BusBits: 6144}
	compute := func(isa string, d record.DType) record.Ceiling {
		return record.Ceiling{Kind: record.CeilingCompute, ISA: isa, DType: d}
	}
	for _, tc := range []struct {
		name  string
		g     GPU
		c     record.Ceiling
		clock float64
		want  float64 // GFLOP/s or GB/s; 0: unavailable
		says  string  // part of the source or the reason
	}{
		{"bf16 at the clock under load", h200, compute("tensor", record.BF16), 1.83, 989.4e3, "measured under load"},
		{"bf16 at the boost clock", h200, compute("tensor", record.BF16), 0, 1070.5e3, "boost clock"},
		{"fp32", h200, compute("simt", record.FP32), 1.98, 66.9e3, "Programming Guide"},
		{"int8", h200, compute("tensor", record.INT8), 1.83, 1978.9e3, "dense"},
		{"memory", h200, record.Ceiling{Kind: record.CeilingBandwidth, Level: DRAM}, 0, 4916.7, "device attributes"},
		{"unknown chip", GPU{Capability: 130, SMs: 100, BoostGHz: 2}, compute("simt", record.FP32), 2, 0, "13.0: measured only"},
		{"no figure for a type", GPU{Capability: 120, SMs: 100, BoostGHz: 2}, compute("tensor", record.BF16), 2, 0, "12.0: measured only"},
		{"no clock", GPU{Capability: 90, SMs: 132}, compute("simt", record.FP32), 0, 0, "no clock"},
		{"no memory clock", GPU{Capability: 90}, record.Ceiling{Kind: record.CeilingBandwidth, Level: DRAM}, 0, 0, "no memory clock"},
	} {
		got := tc.g.Theory(tc.c, tc.clock)
		if math.Abs(got.Value-tc.want) > 1e-3*tc.want || !strings.Contains(got.Source+got.Unavailable, tc.says) || (tc.want == 0) != (got.Unavailable != "") {
			t.Errorf("%s: %+v, want %g (%s)", tc.name, got, tc.want, tc.says)
		}
	}
}
