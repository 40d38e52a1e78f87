// Package recordtest builds documents for tests: every status, kind of ceiling and kind
// of unknown that a real run can leave behind, with made-up but consistent numbers.
package recordtest

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"

	"ridge/goharness/record"
)

// Sample is a document of a small CPU run in which something of everything happened.
func Sample() record.Calibration {
	doc := record.Calibration{
		Schema: record.SchemaCalibration, RunID: "20260102T030405Z-sample", Created: "2026-01-02T03:04:05Z",
		Tool: record.Tool{Name: "ridge", Version: "0.1.0", GoVersion: "go1.26.0", Compiler: "gcc 12.2.0",
			Flags: "-O3", Backends: []string{"cpu"}},
		Command: []string{"ridge", "calibrate", "--quick"},
		Devices: []record.Device{{ID: "cpu", Platform: "cpu", Name: "Example CPU (Zen 3)", ISA: []string{"avx2", "fma"},
			Threads: 2, Memory: 8 << 30}},
		Preflight: record.Preflight{Timestamp: "2026-01-02T03:04:00Z", Passed: true, Checks: []record.Check{
			{Name: "governor", Status: "warning", Message: "no cpufreq here", Current: "unknown", Expected: "performance"}}},
		Ceilings: ceilings(), Results: results(),
	}
	doc.Host.Hostname, doc.Host.OS, doc.Host.Arch = "bench", "linux", "amd64"
	doc.Host.CPU.Model = "Example CPU (Zen 3)"
	FillFacts(&doc, "not read in this sample")
	profile, err := record.EncodeFusion(Fusion(doc))
	if err != nil {
		panic(err) // the numbers are constants
	}
	doc.FusionProfiles = []json.RawMessage{profile}
	doc.Summary = record.Summarize(doc.Results)
	doc.Summary.WallSeconds, doc.Summary.Quick, doc.Summary.Complete = 42.5, true, true
	return doc
}

func ceilings() []record.Ceiling {
	probe := func(v float64, id string) []record.Probe {
		return []record.Probe{{Time: "2026-01-02T03:04:06Z", Value: v, CI95: [2]float64{v * 0.99, v * 1.01}, Best: v * 1.005, Case: id, Why: "initial"}}
	}
	var cs []record.Ceiling
	compute := func(d record.DType, unit string, theory, measured float64, formula string) {
		id := "cpu/probe_fma/" + string(d) + "/-/threads=2/hot"
		cs = append(cs, record.Ceiling{Device: "cpu", Kind: record.CeilingCompute, DType: d, ISA: "avx2", Threads: 2, Unit: unit,
			Theoretical: record.Theoretical{Value: theory, Formula: formula, Inputs: map[string]float64{"threads": 2, "clock_ghz": 3.5},
				Source: "table row Zen 3"},
			Measured: record.Measured{Value: measured, CaseID: id}, Probes: probe(measured, id), Ratio: measured / theory,
			Diagnosis: "within 3 % of the formula at the measured clock"})
	}
	compute(record.FP32, "GFLOPS", 224, 218, "threads × clock × 32")
	compute(record.INT8, "GOPS", 448, 430, "threads × clock × 64")
	level := func(l string, capacity int64, measured float64) {
		id := "cpu/probe_read/fp32/bytes=" + map[string]string{"L2": "524288", "DRAM": "268435456"}[l] + "/threads=2/hot"
		cs = append(cs, record.Ceiling{Device: "cpu", Kind: record.CeilingBandwidth, Level: l, ISA: "avx2", Access: "read", Threads: 2,
			Unit: "GB/s", Theoretical: record.Theoretical{Unavailable: "no SMBIOS table: a virtual machine hides its memory"},
			Measured: record.Measured{Value: measured, CaseID: id}, Probes: probe(measured, id), CapacityBytes: capacity,
			Diagnosis: "best of one probe"})
	}
	level("L2", 1<<20, 160)
	level("DRAM", 8<<30, 25)
	cs = append(cs, record.Ceiling{Device: "cpu", Kind: record.CeilingLatency, Level: "DRAM", Threads: 1, Unit: "ns",
		Theoretical: record.Theoretical{Unavailable: "no formula"},
		Measured:    record.Measured{Value: 95, CaseID: "cpu/chase/int64/bytes=268435456/threads=1/hot"},
		Probes:      probe(95, "cpu/chase/int64/bytes=268435456/threads=1/hot"), Diagnosis: "best of one probe"})
	cs = append(cs, record.Ceiling{Device: "cpu", Kind: record.CeilingCompute, DType: record.BF16, Threads: 2, Unit: "GFLOPS",
		Theoretical: record.Theoretical{Unavailable: "no bf16 instructions"},
		Measured:    record.Measured{Unavailable: "no bf16 instructions"}, Diagnosis: "not supported"})
	return cs
}

// base is a result up to its status.
func base(suite, op string, d record.DType, params []record.Param, threads int) record.Result {
	id := record.CaseID{Device: "cpu", Op: op, DType: d, Params: params, Threads: threads, Mode: "hot"}
	r := record.Result{ID: id.String(), Op: op, Suite: suite, DType: d, Accumulate: d, Device: "cpu", Threads: threads, Mode: "hot",
		Status: record.OK, Params: map[string]string{}, Reproduce: "ridge bench --case " + id.String()}
	for _, p := range params {
		r.Params[p.Name] = p.Value
	}
	return r
}

// timedAt gives the result a time around median ns with a relative half width, and what follows.
func timedAt(r record.Result, median, half float64, flops, bytes int64, c *record.ResultCeiling) record.Result {
	var s []float64
	for i := range 7 {
		s = append(s, median*(1+half*float64(i-3)/2))
	}
	r.Time = &record.Time{MedianNS: median, CI95NS: [2]float64{median * (1 - half), median * (1 + half)}, MinNS: s[0], MaxNS: s[6],
		MeanNS: median, StdNS: median * half, MADNS: median * half, P90NS: s[6], P95NS: s[6], P99NS: s[6], SamplesNS: s,
		Launches: int(max(1, math.Ceil(200e3/median))), EffectiveN: 7, RelHalfWidth: half, WarmupNS: 1e7, WarmupLaunches: 10,
		WarmupConverged: true, StopRule: "interval"}
	r.Verification = &record.Verification{Passed: true, IntegerTest: "exact", Checked: 1024, Elements: 1 << 20, Repeatable: true, WorstBound: 0.1, BoundC: 2}
	r.FLOPs, r.Bytes, r.WorkingSetBytes = flops, bytes, bytes
	r.GFLOPS, r.BandwidthGBps = float64(flops)/median, float64(bytes)/median
	r.ArithmeticIntensity = float64(flops) / float64(bytes)
	if c != nil {
		limit := map[string]float64{"compute": float64(flops) / c.ComputeGFLOPS, "memory": float64(bytes) / c.MemoryGBps}
		c.FloorNS = max(limit["compute"], limit["memory"])
		c.Bound = "memory"
		if limit["compute"] >= limit["memory"] {
			c.Bound = "compute"
		}
		c.Fraction, c.Source = c.FloorNS/median, "measured"
		r.Ceiling = c
	}
	r.Conditions = &record.Conditions{Threads: r.Threads, CPUs: []int{0, 1}[:max(1, r.Threads)], Affinity: "compact",
		ClockBeforeGHz: record.Known(3.5, "dependent chain"), ClockAfterGHz: record.Known(3.48, "dependent chain"),
		InputDistribution: "uniform [-1,1)", Seed: math.MaxUint64, PageSize: "2MiB", Compiler: "gcc 12.2.0", CompilerFlags: "-O3",
		Driver: "none", BufferSets: 1, Priority: "nice 0", PeakMemoryBytes: 300e6, MemoryBeforeBytes: 100e6, MemoryAfterBytes: 101e6}
	FillFacts(r.Conditions, "not read in this sample")
	r.Energy = &record.Energy{Unavailable: "no energy meter on this machine"}
	r.Started, r.WallNS = "2026-01-02T03:04:10Z", 2e8
	return r
}

func failed(r record.Result, s record.Status, reason string) record.Result {
	r.Status, r.Reason = s, reason
	return r
}

func roof(gflops, gbps float64, level string) *record.ResultCeiling {
	return &record.ResultCeiling{ComputeGFLOPS: gflops, MemoryGBps: gbps, MemoryLevel: level}
}

func results() []record.Result {
	mnk := func(n string) []record.Param {
		return []record.Param{{Name: "m", Value: n}, {Name: "n", Value: n}, {Name: "k", Value: n}}
	}
	size := func(rows, cols string) []record.Param {
		return []record.Param{{Name: "rows", Value: rows}, {Name: "cols", Value: cols}}
	}
	var rs []record.Result
	g := timedAt(base("compute", "gemm", record.FP32, mnk("1024"), 2), 10.4e6, 0.004, 1<<31, 12<<20, roof(218, 25, "DRAM"))
	g.Kernel, g.ISA, g.UseCase, g.Batch, g.Items, g.ItemUnit = "gemm_fp32_avx2_6x16", "avx2", "square GEMM", 1, 1, "matrix"
	g.Energy = &record.Energy{Joules: 150, WindowNS: 5e9, Launches: 480, Meter: "rapl package-0"}
	i8 := timedAt(base("compute", "gemm", record.INT8, mnk("1024"), 2), 5.5e6, 0.003, 1<<31, 6<<20, roof(430, 25, "DRAM"))
	i8.Kernel, i8.ISA, i8.Accumulate = "gemm_int8_avx2_4x16", "avx2", record.INT32
	noisy := timedAt(base("compute", "gemm", record.FP32, mnk("64"), 1), 9e3, 0.04, 1<<19, 48<<10, roof(110, 300, "L2"))
	noisy.Kernel, noisy.Status, noisy.Reason = "gemm_fp32_avx2_6x16", record.Noisy, "interval ±4.0 % after the budget of 1 s"
	noisy.Warnings = []string{"team threads were switched out 12 times"}
	rs = append(rs, g, i8, noisy,
		failed(base("compute", "gemm", record.BF16, mnk("1024"), 2), record.Unsupported, "no bf16 kernel for this CPU: it has no AVX512_BF16"))
	bad := failed(base("compute", "gemm", record.FP32, mnk("33"), 1), record.Wrong, "element [3 7] of C is 1.5, expected 2 ± 0.001")
	bad.Kernel = "gemm_fp32_avx2_6x16"
	bad.Verification = &record.Verification{IntegerTest: "exact", Checked: 1089, Elements: 1089, WorstBound: 500, BoundC: 2,
		Mismatch: &record.Mismatch{Tensor: "C", Index: []int64{3, 7}, Got: "1.5", Want: "2", Bound: 0.001, Phase: "random"}}
	rs = append(rs, bad)
	cp := timedAt(base("memory", "copy", record.FP32, size("8192", "8192"), 2), 23.8e6, 0.008, 0, 512<<20, roof(218, 25, "DRAM"))
	cp.Kernel, cp.ISA, cp.GFLOPS = "copy_fp32_avx2_nt", "avx2", 0
	view := timedAt(base("memory", "transpose", record.FP32, size("8192", "8192"), 2), 1.1e3, 0.01, 0, 512<<20, roof(218, 25, "DRAM"))
	view = failed(view, record.Invalid, "494901 GB/s is above 1.05 × the best DRAM probe (25 GB/s)")
	view.Kernel = "transpose_fp32_avx2"
	relu := timedAt(base("elementwise", "relu", record.FP32, size("256", "256"), 2), 4.1e3, 0.01, 65536, 512<<10, roof(218, 160, "L2"))
	relu.Kernel, relu.ISA, relu.Items, relu.ItemUnit = "relu_fp32_avx2", "avx2", 65536, "element"
	chase := timedAt(base("latency", "chase", record.INT64, []record.Param{{Name: "bytes", Value: "268435456"}}, 1), 95*65536, 0.002, 0, 8*65536, nil)
	chase.Kernel, chase.Items, chase.ItemUnit, chase.WorkingSetBytes = "chase_int64", 65536, "dependent load", 256<<20
	chase.DeviceMemory = &record.DeviceMemory{EndBytes: 256 << 20}
	crash := failed(base("reduction", "softmax", record.FP32, size("1024", "1024"), 2), record.Crashed, "SIGILL in softmax_fp32_avx512; no other kernel left")
	crash.Attempts = []record.Attempt{{Kernel: "softmax_fp32_avx512", Status: record.Crashed, Reason: "illegal instruction", Signal: "SIGILL"}}
	rs = append(rs, cp, view, relu, chase, crash,
		failed(base("reduction", "sum", record.FP32, size("23170", "23170"), 2), record.Skipped, "needs 4294967296 bytes, 1073741824 are available (cgroup limit)"),
		comparison())
	return append(rs, probes()...)
}

// probes are a peak and a cache sweep of three sizes: bandwidth and latency at the first,
// latency alone at the second, bandwidth alone at the third. As in a run, the op's result
// element is part of the working set: 4 bytes of bandwidth, 8 of chase.
func probes() []record.Result {
	peak := timedAt(base("peak", "peak", record.FP32, []record.Param{{Name: "isa", Value: "avx2"}}, 2), 1e6, 0.002, 218e6, 4, nil)
	peak.Kernel, peak.ISA, peak.UseCase = "peak_fp32_avx2", "avx2", record.UseCaseCeiling
	int8 := timedAt(base("peak", "peak", record.U8S8, []record.Param{{Name: "isa", Value: "avxvnni"}}, 2), 1e6, 0.002, 430e6, 4, nil)
	int8.Kernel, int8.ISA, int8.UseCase, int8.Accumulate = "peak_u8s8_avxvnni", "avxvnni", record.UseCaseCeiling, record.INT32
	read := func(n string, bytes int64, gbps float64, use string) record.Result {
		r := timedAt(base("bandwidth", "bandwidth", record.FP32, []record.Param{{Name: "access", Value: "read"}, {Name: "bytes", Value: n}}, 2),
			float64(bytes)/gbps, 0.002, 0, bytes, nil)
		r.Kernel, r.ISA, r.UseCase, r.WorkingSetBytes = "bandwidth_read_avx2", "avx2", use, bytes+4
		return r
	}
	chase := func(n string, bytes int64, ns float64) record.Result {
		r := timedAt(base("bandwidth", "chase", record.INT64, []record.Param{{Name: "bytes", Value: n}, {Name: "steps", Value: "16384"}}, 1), 16384*ns, 0.002, 0, bytes, nil)
		r.Kernel, r.UseCase, r.Items, r.ItemUnit, r.WorkingSetBytes = "chase_int64", record.UseCaseSweep, 16384, "dependent load", bytes+8
		return r
	}
	return []record.Result{peak, int8, read("16384", 16<<10, 340, record.UseCaseSweep), chase("16384", 16<<10, 1.2),
		chase("262144", 256<<10, 3.6), read("524288", 512<<10, 160, record.UseCaseCeiling)}
}

func comparison() record.Result {
	r := base("fusion", "linear_bias_relu", record.FP32, []record.Param{{Name: "m", Value: "128"}, {Name: "k", Value: "512"}, {Name: "n", Value: "512"}}, 2)
	unfused := timedAt(r, 410e3, 0.01, 67239936, 2361344, nil)
	fused := timedAt(r, 350e3, 0.01, 67239936, 1574912, nil)
	r.Arms = []record.Arm{
		{Name: "unfused", Kernels: []string{"gemm_fp32_avx2_6x16", "bias_fp32_avx2", "relu_fp32_avx2"}, Verification: unfused.Verification,
			Time: unfused.Time, FLOPs: unfused.FLOPs, Bytes: unfused.Bytes},
		{Name: "fused", Kernels: []string{"linear_bias_relu_fp32_avx2"}, Verification: fused.Verification, Time: fused.Time,
			FLOPs: fused.FLOPs, Bytes: fused.Bytes},
	}
	r.Ratio = &record.Ratio{Value: 410.0 / 350, CI95: [2]float64{1.15, 1.19}, Quartets: []float64{1.15, 1.16, 1.17, 1.17, 1.17, 1.18, 1.18, 1.19}, EffectiveN: 8}
	r.FLOPs, r.Bytes = fused.FLOPs, fused.Bytes
	return r
}

// FillFacts gives every fact inside v (a pointer) that is neither known nor unknown the
// reason, so that the document is valid whatever facts its types hold.
func FillFacts(v any, reason string) { fill(reflect.ValueOf(v), reason) }

func fill(v reflect.Value, reason string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), reason)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), reason)
		}
	case reflect.Struct:
		if strings.HasPrefix(v.Type().Name(), "Fact[") {
			if u := v.FieldByName("Unavailable"); v.FieldByName("Value").IsNil() && u.String() == "" {
				u.SetString(reason)
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), reason)
			}
		}
	}
}
