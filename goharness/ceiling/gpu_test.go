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
		{"bf16 at the clock under load", h200, compute("tensor", record.BF16), 1.83, 989.4e3, "the clock held"},
		{"bf16 at the boost clock", h200, compute("tensor", record.BF16), 0, 1070.5e3, "boost clock"},
		{"fp32", h200, compute("simt", record.FP32), 1.98, 66.9e3, "Programming Guide"},
		{"int8", h200, compute("tensor", record.INT8), 1.83, 1978.9e3, "dense"},
		{"memory", h200, record.Ceiling{Kind: record.CeilingBandwidth, Level: DRAM}, 0, 4916.7, "device attributes"},
		{"shared memory", h200, record.Ceiling{Kind: record.CeilingBandwidth, Level: record.LevelShared, Access: "read"}, 0, 33454, "32 banks"},
		{"shared memory at no clock", GPU{SMs: 132}, record.Ceiling{Kind: record.CeilingBandwidth, Level: record.LevelShared}, 0, 0, "no clock"},
		{"the first-level cache", h200, record.Ceiling{Kind: record.CeilingBandwidth, Level: "L1"}, 0, 0, "no published figure"},
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

// The peaks of data sheets and white papers, dense, at the boost clocks that they name.
func TestRowsOfGPUsGiveTheirPublishedPeaks(t *testing.T) {
	type peaks map[string]float64 // TFLOP/s
	for _, tc := range []struct {
		g    GPU
		want peaks
	}{
		{GPU{Name: "A100", Capability: 80, SMs: 108, BoostGHz: 1.41}, peaks{"simt fp64": 9.7, "simt fp32": 19.5, "simt fp16": 78, "tensor fp64": 19.5, "tensor tf32": 156, "tensor fp16": 312, "tensor bf16": 312, "tensor int8": 624}},
		{GPU{Name: "RTX 3090", Capability: 86, SMs: 82, BoostGHz: 1.695}, peaks{"simt fp32": 35.6, "simt fp64": 0.556}},
		{GPU{Name: "RTX 4090", Capability: 89, SMs: 128, BoostGHz: 2.52}, peaks{"simt fp32": 82.6, "simt fp64": 1.29}},
		{GPU{Name: "H200 at the clock of its tensor peaks", Capability: 90, SMs: 132, BoostGHz: 1.83}, peaks{"tensor tf32": 495, "tensor fp16": 989, "tensor bf16": 989, "tensor fp8_e4m3": 1979, "tensor fp8_e5m2": 1979, "tensor int8": 1979}},
		{GPU{Name: "H200", Capability: 90, SMs: 132, BoostGHz: 1.98}, peaks{"simt fp64": 33.5, "simt fp32": 66.9, "simt fp16": 133.8, "tensor fp64": 66.9}},
		{GPU{Name: "B200", Capability: 100, SMs: 148, BoostGHz: 1.965}, peaks{"simt fp32": 74.5, "simt fp64": 37.2}},
		{GPU{Name: "RTX 5090", Capability: 120, SMs: 170, BoostGHz: 2.407}, peaks{"simt fp32": 104.8, "simt fp64": 1.64}},
	} {
		for what, want := range tc.want {
			isa, d, _ := strings.Cut(what, " ")
			if got := tc.g.Theory(record.Ceiling{Kind: record.CeilingCompute, ISA: isa, DType: record.DType(d)}, 0); math.Abs(got.Value/1e3/want-1) > 0.005 {
				t.Errorf("%s %s: %.4g TFLOP/s, want %g (%s)", tc.g.Name, what, got.Value/1e3, want, got.Unavailable)
			}
		}
	}
}

// The H20 gives a quarter of what its capability's tensor cores would, the H800 a thirtieth in fp64.
func TestChipsSlowedForExportHaveNoRowWhereTheyAre(t *testing.T) {
	for name, want := range map[string][3]bool{ // bf16 on tensor cores, fp64, fp32
		"NVIDIA H20": {false, false, true}, "NVIDIA H20-3e": {false, false, true}, "NVIDIA H800": {true, false, true}, "NVIDIA H800 PCIe": {true, false, true},
		"NVIDIA H200": {true, true, true}, "NVIDIA H100 80GB HBM3": {true, true, true}, "NVIDIA GH200 480GB": {true, true, true},
	} {
		g, err := GPUOf(record.Device{Name: name, Facts: map[string]string{"compute_capability": "9.0", "multiprocessors": "78", "boost_clock_mhz": "1980"}})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range []record.Ceiling{{ISA: record.ISAWgmma, DType: record.BF16}, {ISA: "simt", DType: record.FP64}, {ISA: "simt", DType: record.FP32}} {
			c.Kind = record.CeilingCompute
			if got := g.Theory(c, 0); (got.Value > 0) != want[i] || !want[i] && !strings.Contains(got.Unavailable, name) {
				t.Errorf("%s, %s %s: %+v", name, c.ISA, c.DType, got)
			}
		}
		if sparse := g.Unprobed(); (len(sparse) > 0) != want[0] {
			t.Errorf("%s: peaks with sparsity %+v", name, sparse)
		}
	}
}

// The fixture's clock held is 1.83 GHz of 1.98: the row at the nominal clock, the row at the clock held, and what the gap is.
func TestCeilingsOfAGPUStandBesideTheClockHeld(t *testing.T) {
	h200 := GPU{Capability: 90, SMs: 132, BoostGHz: 1.98, MemoryGHz: 3.201, BusBits: 6144}
	for _, tc := range []struct {
		name         string
		isa          string
		dtype        record.DType
		gflops, held float64 // held: the ratio at the clock held; 0: no clock is known
		diagnosis    string
	}{
		{"all but the clock", "simt", record.FP32, 61e3, 0.986, "91 % at the nominal 1980 MHz, 99 % at the 1830 MHz held: the clock is the gap"},
		{"mma.sync", record.ISAMma, record.BF16, 620e3, 0.627, "mma.sync does not reach the tensor cores' whole rate"},
		{"half", "simt", record.FP64, 15.4e3, 0.498, "half of the row"},
		{"no clock", "simt", record.FP32, 61e3, 0, "the clock held is not known"},
		{"fp64 by mma.sync reaches its row elsewhere", record.ISAMma, record.FP64, 57e3, 0.922, "the rest is not the clock"},
		{"above the row also at the clock held", "simt", record.FP32, 72e3, 1.164, "the row is wrong for this chip"},
	} {
		m := NewModel("cuda:0", nil, nil)
		m.GPU = &h200
		c := record.Ceiling{Kind: record.CeilingCompute, ISA: tc.isa, DType: tc.dtype, Threads: 1}
		r := record.Result{Status: record.OK, FLOPs: int64(tc.gflops * 1e6), Time: &record.Time{MedianNS: 1e6, MinNS: 1e6, CI95NS: [2]float64{1e6, 1e6}},
			Conditions: &record.Conditions{ClockAfterGHz: record.Unknown[float64]("a test")}}
		if tc.held > 0 {
			r.Conditions.Board = &record.Board{Source: "test", ClockMHz: 1830}
		}
		m.Probe(c, r, "initial")
		m.Diagnose(Setting{GPU: &h200})
		got := m.Ceilings()[0]
		if (got.Held != nil) != (tc.held > 0) || got.Held != nil && math.Abs(got.Held.Ratio-tc.held) > 2e-3 || !strings.Contains(got.Diagnosis, tc.diagnosis) {
			t.Errorf("%s: held %+v, %q", tc.name, got.Held, got.Diagnosis)
		}
		if got.Theoretical.Inputs["clock_ghz"] != 1.98 {
			t.Errorf("%s: the row assumes %v GHz", tc.name, got.Theoretical.Inputs["clock_ghz"])
		}
	}
}

// A chip at its nominal clock has no gap that the clock explains, and one above it is no wrong row.
func TestTheClockHeldIsWhatAGapIsJudgedBy(t *testing.T) {
	for _, tc := range []struct {
		name string
		mhz  float64
		of   map[string]float64 // GFLOP/s by instruction set; rows 66908 and 4182 at the nominal clock
		want string             // of simt
	}{
		{"at the limit", 1980, map[string]float64{"simt": 66e3}, "99 % at the nominal 1980 MHz, which it held: at the limit"},
		{"short of it", 1980, map[string]float64{"simt": 58654}, "88 % at the nominal 1980 MHz, which it held: the rest is not the clock"},
		{"above the driver's highest", 2070, map[string]float64{"simt": 69.5e3}, "the chip held 2070 MHz, more than the driver reports"},
		{"a low reading", 1500, map[string]float64{"simt": 75e3, "ex2": 4.7e3}, "as every row is and by about the same factor: the clock was read too low"},
	} {
		m := NewModel("cuda:0", nil, nil)
		h200 := GPU{Capability: 90, SMs: 132, BoostGHz: 1.98}
		m.GPU = &h200
		for isa, gflops := range tc.of {
			m.Probe(record.Ceiling{Kind: record.CeilingCompute, ISA: isa, DType: record.FP32, Threads: 1}, record.Result{Status: record.OK, FLOPs: int64(gflops * 1e6), Time: timeOf(1e6),
				Conditions: &record.Conditions{Board: &record.Board{Source: "test", ClockMHz: tc.mhz}}}, "initial")
		}
		m.Diagnose(Setting{GPU: &h200})
		if got := m.Find(record.Ceiling{Kind: record.CeilingCompute, ISA: "simt", DType: record.FP32, Threads: 1}).Diagnosis; !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestSparsePeaksAreRowsOfTheirOwn(t *testing.T) {
	rows := GPU{Capability: 90, SMs: 132, BoostGHz: 1.83}.Unprobed()
	for _, x := range rows {
		if x.DType == record.FP64 || x.ISA != record.ISASparse || x.Measured.Unavailable == "" {
			t.Errorf("%+v", x)
		}
		if got := (GPU{Capability: 90, SMs: 132, BoostGHz: 1.83}).Theory(x, 0); x.DType == record.BF16 && math.Abs(got.Value-1978.9e3) > 1e3 {
			t.Errorf("sparse bf16: %+v, want 1979 TFLOP/s", got)
		}
	}
	if len(rows) != 6 {
		t.Errorf("%d rows, want tf32, fp16, bf16, two of fp8 and int8", len(rows))
	}
	if got := (GPU{Capability: 130, SMs: 132, BoostGHz: 2}).Unprobed(); len(got) != 0 {
		t.Errorf("an unknown capability has %v", got)
	}
}

// A probe of mma.sync says nothing of wgmma, nor one of fp32's units of sums of three TF32 products.
func TestTensorCoresAreBoundedByTheProbeOfTheirOwnInstructions(t *testing.T) {
	m := NewModel("cuda:0", nil, nil)
	probe := func(isa string, d record.DType, gflops float64) {
		m.Probe(record.Ceiling{Kind: record.CeilingCompute, ISA: isa, DType: d, Threads: 1},
			record.Result{Status: record.OK, FLOPs: int64(gflops * 1e6), Time: &record.Time{MedianNS: 1e6, MinNS: 1e6, CI95NS: [2]float64{1e6, 1e6}}}, "initial")
	}
	probe("simt", record.FP32, 60e3)
	probe(record.ISAMma, record.BF16, 600e3)
	for _, tc := range []struct {
		isa     string
		dtype   record.DType
		gflops  float64
		suspect bool
		known   bool // whether a fraction is given
	}{
		{record.ISAMma, record.BF16, 500e3, false, true},
		{record.ISAMma, record.BF16, 700e3, true, true},
		{record.ISAWgmma, record.BF16, 700e3, false, false},
		{record.ISAWgmma, record.FP32, 150e3, false, false},
		{"portable", record.FP32, 65e3, true, true},
		{"portable", record.BF16, 65e3, false, true},
	} {
		r := record.Result{Status: record.OK, ISA: tc.isa, DType: tc.dtype, Threads: 1, FLOPs: int64(tc.gflops * 1e6), Time: &record.Time{MedianNS: 1e6}}
		if f := m.Judge(&r); f.Suspect != tc.suspect {
			t.Errorf("%s %s at %g: %+v", tc.isa, tc.dtype, tc.gflops, f)
		}
		if rc := m.Floor(&r); (rc.FloorNS > 0) != tc.known {
			t.Errorf("%s %s: %+v", tc.isa, tc.dtype, rc)
		}
	}
}

// What a launch reads again may come from the multiprocessors' own caches; what it reads first may not: they are empty when it begins.
func TestCachesThatALaunchBeginsWithEmptyHoldNothingOfItsFirstPass(t *testing.T) {
	m := NewModel("cuda:0", []Level{{Name: "L2", Capacity: 50 * mib}, {Name: DRAM}}, nil)
	m.Within = 33 * mib
	bandwidth(m, "L2", "read", 1, 5000)
	bandwidth(m, DRAM, "read", 1, 4000)
	for _, tc := range []struct {
		name              string
		bytes, workingSet int64
		gbps              float64
		suspect           string
		fraction          float64 // 0: not looked at
	}{
		{"one pass at the speed of L2", 20 * mib, 20 * mib, 5000, "", 1},
		{"one pass faster than L2", 20 * mib, 20 * mib, 5500, "through L2", 0},
		{"many passes over what the multiprocessors hold", 100 * 6 * mib, 6 * mib, 20000, "", 0.04},
		{"many passes over twice what they hold", 10 * 66 * mib, 66 * mib, 20000, "through L2", 0},
	} {
		r := record.Result{DType: record.FP32, Threads: 1, Mode: record.Hot, Status: record.OK, Time: timeOf(float64(tc.bytes) / tc.gbps),
			Bytes: tc.bytes, ReadBytes: tc.bytes, WorkingSetBytes: tc.workingSet}
		if f := m.Judge(&r); f.Suspect != (tc.suspect != "") || !strings.Contains(f.Reason, tc.suspect) {
			t.Errorf("%s: suspect %v, %q", tc.name, f.Suspect, f.Reason)
		}
		if m.Apply(&r); tc.fraction > 0 && math.Abs(r.Ceiling.Fraction-tc.fraction) > 1e-3 {
			t.Errorf("%s: fraction %v, want %v", tc.name, r.Ceiling.Fraction, tc.fraction)
		}
	}
}

func TestTheLinkToTheHostFollowsFromGenerationAndLanes(t *testing.T) {
	for _, tc := range []struct {
		generation, lanes int
		want              float64 // GB/s; 0: unavailable
		says              string
	}{
		{5, 16, 63.02, "one direction"},
		{4, 16, 31.51, "one direction"},
		{3, 8, 7.877, "one direction"},
		{6, 16, 118, "one direction"},
		{0, 16, 0, "tells no generation and width"},
		{9, 16, 0, "no row for PCI Express of generation 9"},
	} {
		g := GPU{PCIeGeneration: tc.generation, PCIeLanes: tc.lanes}
		got := g.Theory(record.Ceiling{Kind: record.CeilingBandwidth, Level: record.LevelHost, Access: record.AccessToDevice}, 0)
		if math.Abs(got.Value-tc.want) > tc.want/1e3 || !strings.Contains(got.Formula+got.Unavailable, tc.says) {
			t.Errorf("generation %d, %d lanes: %+v, want %v", tc.generation, tc.lanes, got, tc.want)
		}
	}
}
