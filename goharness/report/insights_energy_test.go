package report

import (
	"strings"
	"testing"

	"ridge/goharness/record"
)

// device makes a document of gemms at two batch sizes and of a copy bound by DRAM, k times as slow, drawing watts.
func energyDoc(host string, k, watts float64) record.Calibration {
	d := record.Calibration{Host: record.Host{Hostname: host}, Devices: []record.Device{{ID: "cpu"}}}
	add := func(id, op string, params map[string]string, batch, flops, bytes int64, ns float64, c *record.ResultCeiling) {
		r := record.Result{ID: id, Op: op, Params: params, DType: record.FP32, Device: "cpu", Mode: record.Hot, Batch: batch, Status: record.OK, FLOPs: flops, Bytes: bytes,
			Time: &record.Time{MedianNS: k * ns}, Ceiling: c, ArithmeticIntensity: float64(flops) / float64(bytes), BandwidthGBps: float64(bytes) / (k * ns), GFLOPS: float64(flops) / (k * ns)}
		launches := 2e9 / (k * ns)
		r.Energy = &record.Energy{Joules: 2 * watts, Uncertainty: 0.02 * watts, WindowNS: 2e9, Launches: launches, MaxWatts: watts, Meter: "toy"}
		if err := record.FillMetrics(&r, nil, nil, record.UserPeaks{}); err != nil {
			panic(err)
		}
		d.Results = append(d.Results, r)
	}
	compute := &record.ResultCeiling{Bound: "compute", MemoryLevel: "L2", Fraction: 0.9, ComputeGFLOPS: 200, MemoryGBps: 25}
	dram := &record.ResultCeiling{Bound: "memory", MemoryLevel: "DRAM", Fraction: 0.8, ComputeGFLOPS: 200, MemoryGBps: 25}
	add("cpu/gemm/fp32/m=1,n=2,k=3/threads=2/hot", "gemm", map[string]string{"m": "1"}, 1, 2e9, 1e8, 40e6, compute)
	add("cpu/gemm/fp32/m=8,n=2,k=3/threads=2/hot", "gemm", map[string]string{"m": "8"}, 8, 16e9, 2e8, 100e6, compute)
	add("cpu/axpy/fp32/n=9/threads=2/hot", "axpy", map[string]string{"n": "9"}, 0, 1e8, 1e9, 50e6, dram)
	d.Ceilings = []record.Ceiling{{Device: "cpu", Kind: record.CeilingBandwidth, Level: "DRAM", Access: "read", Unit: "GB/s", Threads: 2, Measured: record.Measured{Value: 25}, Theoretical: record.Theoretical{Value: 50}}}
	d.Energy = &record.EnergyReport{Device: "cpu", Meter: "toy", LimitWatts: 120, Idle: &record.IdleBaseline{Before: 10, After: 12},
		Roofline: []record.EnergyRoofline{{DType: record.FP32, PJPerFLOP: 20, PJPerFLOPCI95: [2]float64{18, 22}, PJPerByte: 150, PJPerByteCI95: [2]float64{140, 160}, ConstantWatts: 30, Balance: 7.5},
			{DType: record.FP64, Unavailable: "2 cases with energy: 6 are needed"}}}
	return d
}

func TestInsightsTellPowerEfficiencyAndBounds(t *testing.T) {
	var b strings.Builder
	if err := writeInsights(&b, []record.Calibration{energyDoc("one", 1, 100), energyDoc("two", 2, 25)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bandwidth: 20.0 GB/s on average over 1 result bound by DRAM, theoretical 50.0 GB/s, utilisation 40.0 %",
		"compute-bound: 2 results of 20.0 to 80.0 operations per byte: a lower precision",
		"memory-bound: 1 result of 0.1 to 0.1 operations per byte: fused operators",
		"power: 100 W on average over 3 results with energy, 0.707 GFLOPS/W over those with floating-point arithmetic, idle 11.0 W, limit 120 W (toy)",
		"efficiency: gemm fp32: 1.60 ±1.0 % GFLOPS/W at m=8 n=2 k=3, the best of 2 measured sizes, 100 W",
		"GFLOPS/W of gemm fp32 by batch: batch 1: 0.5, batch 8: 1.60",
		"energy roofline fp32: 20.0 pJ per FLOP (18.0 to 22.0), 150 pJ per byte (140 to 160), 30.0 W whatever runs",
		"energy roofline fp64: none: 2 cases with energy: 6 are needed",
		"two cpu against one cpu: ×0.5 as fast over 3 programs that both ran (geometric mean), ×2.00 the work per joule over 3",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}
	d := energyDoc("one", 1, 100)
	d.Energy = &record.EnergyReport{Device: "cpu", Unavailable: "no energy meter: none here"}
	b.Reset()
	if err := writeInsights(&b, []record.Calibration{d}); err != nil || !strings.Contains(b.String(), "energy: not measured: no energy meter: none here") || strings.Contains(b.String(), "power:") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A run that was interrupted between its idle baselines knows the first alone: half of it is nobody's power. A size with two thread counts is one size.
func TestInsightsHaltAtWhatTheDocumentKnows(t *testing.T) {
	d := energyDoc("one", 1, 100)
	d.Energy.Idle.After = 0
	twice := d.Results[1]
	twice.ID = "cpu/gemm/fp32/m=8,n=2,k=3/threads=1/hot"
	d.Results = append(d.Results, twice)
	var b strings.Builder
	if err := writeInsights(&b, []record.Calibration{d}); err != nil || strings.Contains(b.String(), ", idle") || !strings.Contains(b.String(), "the best of 2 measured sizes") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// Operations on integers are no FLOP.
func TestInsightsNameTheOperationsOfIntegers(t *testing.T) {
	d := energyDoc("one", 1, 100)
	for i := range 2 {
		r := d.Results[i]
		r.DType = record.INT8
		d.Results = append(d.Results, r)
	}
	var b strings.Builder
	if err := writeInsights(&b, []record.Calibration{d}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"5 results with energy, 0.707 GFLOPS/W over", "efficiency: gemm int8: 1.60 ±1.0 % GOPS/W at", "GOPS/W of gemm int8 by batch"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

// Of a program that ran with one thread and with all, the faster stands for the device, in whatever order the document has them.
func TestDevicesAreComparedByTheirFastestThreadCount(t *testing.T) {
	for _, swap := range []bool{false, true} {
		one, two := energyDoc("one", 1, 100), energyDoc("two", 2, 25)
		slow := one.Results[0]
		slow.ID = "cpu/gemm/fp32/m=1,n=2,k=3/threads=1/hot"
		slow.Time = &record.Time{MedianNS: 100 * slow.Time.MedianNS}
		if one.Results = append(one.Results, slow); swap {
			one.Results[0], one.Results[3] = one.Results[3], one.Results[0]
		}
		var b strings.Builder
		if err := writeInsights(&b, []record.Calibration{one, two}); err != nil || !strings.Contains(b.String(), "×0.5 as fast over 3 programs") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}
