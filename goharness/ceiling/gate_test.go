package ceiling

import (
	"math"
	"strings"
	"testing"

	"ridge/goharness/record"
)

func TestTheGateRefusesOnlyTheImpossible(t *testing.T) {
	change := func(r record.Result, f func(*record.Result)) record.Result { f(&r); return r }
	for _, tc := range []struct {
		name    string
		r       record.Result
		suspect string // part of the reason, "" for accepted
	}{
		{"arithmetic at the peak", result(200e6, 1e3, 1e3, 1e6), ""},
		{"arithmetic within the slack", result(209e6, 1e3, 1e3, 1e6), ""},
		{"arithmetic above the slack", result(211e6, 1e3, 1e3, 1e6), "avx2 fp32 probe"},
		// 256 MiB through DRAM at 40 GB/s: 32 MiB of L3, 1 MiB of L2 and 64 KiB of L1 may have stayed.
		{"DRAM copy at its ceiling", result(0, 256*mib, 256*mib, 256*mib/40.0), ""},
		{"DRAM copy with all caches full of it", result(0, 256*mib, 256*mib, (256*mib-33*mib-64*kib)/40.0), ""},
		{"DRAM copy faster than what must cross", result(0, 256*mib, 256*mib, (256*mib-33*mib-64*kib)/40.0/1.06), "through DRAM"},
		{"DRAM copy within the slack", result(0, 256*mib, 256*mib, (256*mib-33*mib-64*kib)/40.0/1.04), ""},
		{"a transpose that was a view", result(0, 2<<30, 2<<30, 4340), "through L1"},
		{"just above L3 most of it may have stayed", result(0, 34*mib, 34*mib, 34*mib/100.0), ""},
		{"L2-sized at L2 speed", result(0, 900*kib, 900*kib, 900*kib/200.0), ""},
		{"L2-sized, the part beyond L1 too fast", result(0, 900*kib, 900*kib, (900*kib-64*kib)/200.0/1.1), "through L2"},
		{"L1-sized faster than L1", result(0, 32*kib, 32*kib, 32*kib/400.0/1.1), "through L1"},
		// C of a GEMM with beta is counted twice: its bytes are not all different ones.
		{"accumulating in place", result(0, 96*mib, 64*mib, (96*mib-2*(mib+64*kib))/100.0), ""},
		{"many passes over a set in L2", result(0, 100*900*kib, 900*kib, 100*900*kib/200.0), ""},
		{"many passes faster than L2", result(0, 100*900*kib, 900*kib, 100*(900*kib-64*kib)/200.0/1.1), "through L2"},
		{"an invalid result is not judged again", change(result(1e9, 0, 0, 1), func(r *record.Result) { r.Status = record.Invalid }), ""},
		{"no time at all", change(result(1e6, 0, 0, 0), func(*record.Result) {}), "median time is 0"},
		{"a time that is no number", result(1e6, 0, 0, math.NaN()), "median time is NaN"},
		{"bf16 computed in fp32 on AVX2", change(result(200e6, 0, 0, 1e6), func(r *record.Result) { r.DType = record.BF16 }), ""},
		{"bf16 above the fp32 probe on AVX2", change(result(220e6, 0, 0, 1e6), func(r *record.Result) { r.DType = record.BF16 }), "avx2 fp32 probe"},
		{"int8 by vpmaddwd, without a probe", change(result(790e6, 0, 0, 1e6), func(r *record.Result) { r.DType = record.INT8 }), ""},
		{"int8 above four times fp32", change(result(850e6, 0, 0, 1e6), func(r *record.Result) { r.DType = record.INT8 }), "4.20 × the best avx2 fp32"},
		{"a portable kernel that the compiler vectorised", change(result(190e6, 0, 0, 1e6), func(r *record.Result) { r.ISA = "portable" }), ""},
		{"a portable kernel above every probe", change(result(220e6, 0, 0, 1e6), func(r *record.Result) { r.ISA = "portable" }), "avx2 fp32"},
		{"a thread count without probes judges nothing", change(result(1e12, 1e12, 1e12, 1), func(r *record.Result) { r.Threads = 3 }), ""},
		{"a probe is no suspect by arithmetic", change(result(300e6, 0, 0, 1e6), func(r *record.Result) { r.Suite = "peak" }), ""},
		{"the faster arm is judged with its own work", change(result(100e6, 0, 0, 1e6), func(r *record.Result) {
			r.Arms = []record.Arm{{Name: "unfused", Time: timeOf(1e6), FLOPs: 100e6}, {Name: "fused", Time: timeOf(1e5), FLOPs: 100e6}}
		}), "1000 GFLOPS"},
		{"Winograd above the probe by the definition's count", change(result(700e6, 0, 0, 1e6), func(r *record.Result) { r.ExecutedFLOPs = 175e6 }), ""},
		{"Winograd faster than its own products", change(result(900e6, 0, 0, 1e6), func(r *record.Result) { r.ExecutedFLOPs = 225e6 }), "225 GFLOPS"},
		{"3xTF32 of fp32 is bounded by the probe of tf32, with three products", change(result(300e6, 0, 0, 1e6), func(r *record.Result) { r.ExecutedFLOPs, r.Computes = 900e6, record.TF32 }), ""},
		{"3xTF32 faster than its three products", change(result(400e6, 0, 0, 1e6), func(r *record.Result) { r.ExecutedFLOPs, r.Computes = 1200e6, record.TF32 }), "avx2 tf32 probe"},
		{"an arm of 3xTF32", change(result(100e6, 0, 0, 1e6), func(r *record.Result) {
			r.Arms = []record.Arm{{Name: "simt", Time: timeOf(1e6), FLOPs: 100e6}, {Name: "3xtf32", Time: timeOf(1e6), FLOPs: 300e6, ExecutedFLOPs: 900e6, Computes: record.TF32}}
		}), ""},
		{"an arm that does less work may be faster", change(result(100e6, 0, 0, 1e6), func(r *record.Result) {
			r.Arms = []record.Arm{{Name: "direct", Time: timeOf(1e6), FLOPs: 100e6}, {Name: "winograd", Time: timeOf(4.5e5), FLOPs: 44e6}}
		}), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := probed()
			compute(m, "avx2", record.TF32, 2, 1000)
			f := m.Judge(&tc.r)
			if f.Suspect != (tc.suspect != "") || !strings.Contains(f.Reason, tc.suspect) {
				t.Errorf("suspect %v, reason %q; want %q", f.Suspect, f.Reason, tc.suspect)
			}
		})
	}
}

// Neighbours slow whole probes: the fastest sample of any of them is what the level is proved to carry.
func TestTheFastestSampleOfALevelsProbesIsItsLimit(t *testing.T) {
	for best, suspect := range map[float64]bool{40: true, 44: false} { // GB/s, of a probe whose median gives 30
		m := probed()
		for i := range m.list {
			if x := &m.list[i]; x.Level == DRAM && x.Threads == 2 && x.Access == "copy" {
				x.Probes = append(x.Probes, record.Probe{Value: 30, Best: best})
			}
		}
		r := result(0, 256*mib, 256*mib, (256*mib-33*mib-64*kib)/46.0)
		if f := m.Judge(&r); f.Suspect != suspect || suspect && !strings.Contains(f.Reason, "through DRAM") {
			t.Errorf("a sample of %g GB/s: %+v", best, f)
		}
	}
}

// Where L3 takes what L2 gives up, all of both may hold other bytes of the working set.
func TestAllInnerCachesTogetherMayHoldTheWorkingSet(t *testing.T) {
	levels := []Level{{"L1", 64 * kib, 32 * kib}, {"L2", 16 * mib, 8 * mib}, {"L3", 16 * mib, 16 * mib}, {Name: DRAM}}
	for ns, suspect := range map[float64]bool{33 * mib / 40.0: false, 29 * mib / 40.0: true} {
		m := NewModel("cpu", levels, levels)
		bandwidth(m, DRAM, "read", 2, 40)
		r := result(0, 64*mib, 64*mib, ns)
		if f := m.Judge(&r); f.Suspect != suspect {
			t.Errorf("64 MiB behind 32 MiB of caches in %g ns: %+v", ns, f)
		}
	}
}

// The compiler may have made wide instructions of a portable kernel: its own probe does not bound it.
func TestAPortableKernelIsBoundedByTheBestProbeOfAll(t *testing.T) {
	m := probed()
	compute(m, "portable", record.FP32, 2, 40)
	for flops, suspect := range map[int64]bool{190e6: false, 220e6: true} {
		r := result(flops, 0, 0, 1e6)
		r.ISA = "portable"
		if f := m.Judge(&r); f.Suspect != suspect || suspect && !strings.Contains(f.Reason, "avx2 fp32 probe") {
			t.Errorf("%d FLOP: %+v", flops, f)
		}
	}
}

func TestEachArmIsJudgedByItsOwnInstructionSet(t *testing.T) {
	m := probed()
	compute(m, "sse2", record.FP32, 2, 120)
	for _, tc := range []struct {
		wide, narrow int64
		suspect      string
	}{{190e6, 110e6, ""}, {190e6, 150e6, "sse2 fp32 probe"}, {220e6, 110e6, "avx2 fp32 probe"}} {
		r := result(100e6, 0, 0, 1e6)
		r.Arms = []record.Arm{{Name: "wide", ISA: "avx2", Time: timeOf(1e6), FLOPs: tc.wide}, {Name: "narrow", ISA: "sse2", Time: timeOf(1e6), FLOPs: tc.narrow}}
		for _, isa := range []string{"avx2", "sse2"} { // the result's own is that of one arm
			r.ISA = isa
			if f := m.Judge(&r); f.Suspect != (tc.suspect != "") || !strings.Contains(f.Reason, tc.suspect) {
				t.Errorf("%d and %d FLOP as %s: suspect %v, reason %q; want %q", tc.wide, tc.narrow, isa, f.Suspect, f.Reason, tc.suspect)
			}
		}
	}
}

// Dot products of bf16 may be slower than the fp32 arithmetic that the arm's other kernel widens to: the faster limit of its kernels' own bounds the two together.
func TestAnArmOfSeveralKernelsIsJudgedByTheFastestOfTheirLimits(t *testing.T) {
	m := probed() // avx2 fp32: 200
	compute(m, "sse2", record.FP32, 2, 120)
	compute(m, "avx512bf16", record.BF16, 2, 100)
	for _, tc := range []struct {
		isas    []string
		flops   int64
		suspect string
	}{
		{[]string{"avx2", "avx512bf16"}, 150e6, ""},
		{[]string{"avx512bf16", "avx2"}, 220e6, "avx2 fp32 probe"},
		{[]string{"sse2", "avx512bf16"}, 150e6, "sse2 fp32 probe"}, // a faster probe than its kernels' is none of theirs
		{[]string{"avx512bf16"}, 150e6, "avx512bf16 bf16 probe"},
		{nil, 150e6, "avx512bf16 bf16 probe"}, // a document from before
	} {
		r := result(100e6, 0, 0, 1e6)
		r.DType = record.BF16
		r.Arms = []record.Arm{{Name: "unfused", ISA: "avx512bf16", ISAs: tc.isas, Time: timeOf(1e6), FLOPs: tc.flops}}
		if f := m.Judge(&r); f.Suspect != (tc.suspect != "") || !strings.Contains(f.Reason, tc.suspect) {
			t.Errorf("%v, %d FLOP: suspect %v, reason %q; want %q", tc.isas, tc.flops, f.Suspect, f.Reason, tc.suspect)
		}
	}
}

func TestPeaksOfTheUserAndTheoryNeverJudge(t *testing.T) {
	m := twoCores()
	m.Add(record.Ceiling{Kind: record.CeilingCompute, ISA: "avx2", DType: record.FP32, Threads: 2, Theoretical: record.Theoretical{Value: 1, Source: "user"}})
	m.Add(record.Ceiling{Kind: record.CeilingBandwidth, Level: DRAM, Access: "read", Threads: 2, Theoretical: record.Theoretical{Value: 1}})
	r := result(1e12, 1<<40, 1<<40, 1)
	if f := m.Judge(&r); f.Suspect {
		t.Errorf("judged without one measured ceiling: %s", f.Reason)
	}
}

func TestRejectedResultsAreNeverCounted(t *testing.T) {
	m := probed()
	r := result(0, 2<<30, 2<<30, 4340) // 494,802 GB/s
	r.Suite, r.BandwidthGBps = "memory", 494802
	m.Apply(&r)
	Reject(&r, m.Judge(&r))
	if r.Status != record.Invalid || r.Reason == "" || r.Ceiling != nil {
		t.Fatalf("got %s %q ceiling %v", r.Status, r.Reason, r.Ceiling)
	}
	s := record.Summarize([]record.Result{r})
	if s.Suites["memory"].BestBandwidthGBps != 0 || s.Counts[record.Invalid] != 1 {
		t.Errorf("summary %+v", s)
	}
}

func TestCrossingNeverExceedsWhatMoved(t *testing.T) {
	for _, tc := range []struct{ bytes, ws, inner, want int64 }{
		{0, 0, 0, 0}, {100, 0, 0, 0}, {100, 100, 0, 100}, {100, 100, 30, 70}, {100, 100, 200, 0},
		{150, 100, 30, 90}, {1000, 100, 30, 700}, {1000, 100, 99, 10}, {math.MaxInt64, 1, 1, 0}, {math.MaxInt64, 1 << 40, 1 << 62, 0},
		{50, 100, 10, 40},
	} {
		if got := crossing(tc.bytes, tc.ws, tc.inner); got != tc.want {
			t.Errorf("crossing(%d, %d, %d) = %d, want %d", tc.bytes, tc.ws, tc.inner, got, tc.want)
		}
	}
}

func TestOddRatiosAreWarningsNotRefusals(t *testing.T) {
	m := probed()
	fast := result(206e6, 1e3, 1e3, 1e6)
	int8 := result(100e6, 1e3, 1e3, 1e6)
	int8.DType = record.INT8
	rs := []record.Result{fast, int8}
	for i := range rs {
		if f := m.Judge(&rs[i]); f.Suspect {
			t.Fatal(f.Reason)
		}
		m.Apply(&rs[i])
	}
	m.Review(rs)
	m.Review(rs) // a resumed run reviews again
	for i, want := range []string{"1.03 of the measured ceiling", "no arithmetic probe at int8 and 2 threads"} {
		if len(rs[i].Warnings) != 1 || !strings.Contains(rs[i].Warnings[0], want) || rs[i].Status != record.OK {
			t.Errorf("result %d: %s, warnings %q, want %q", i, rs[i].Status, rs[i].Warnings, want)
		}
	}
}
