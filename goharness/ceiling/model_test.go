package ceiling

import (
	"math"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestDRAMStartsAtFourTimesTheLastLevelCache(t *testing.T) {
	for _, tc := range []struct {
		name    string
		ws      int64
		threads int
		want    string
	}{
		{"one line", 64, 2, "L1"}, {"all of L1", 64 * kib, 2, "L1"}, {"one byte more", 64*kib + 1, 2, "L1-L2"},
		{"one thread has half of it", 64 * kib, 1, "L1-L2"}, {"four times L1", 256 * kib, 2, "L2"}, {"all of L2", mib, 2, "L2"},
		{"twice L2", 2 * mib, 2, "L2-L3"}, {"four times both", 4*mib + 256*kib, 2, "L3"}, {"all of L3", 32 * mib, 2, "L3"},
		{"one byte more than L3", 32*mib + 1, 2, "L3-DRAM"}, {"one byte less than four L3", 128*mib - 1, 2, "L3-DRAM"},
		{"four L3", 128 * mib, 2, DRAM}, {"far beyond", 1 << 40, 2, DRAM},
	} {
		if got := twoCores().LevelOf(tc.ws, tc.threads); got != tc.want {
			t.Errorf("%s: %d bytes, %d threads: %s, want %s", tc.name, tc.ws, tc.threads, got, tc.want)
		}
	}
	m := twoCores()
	m.LLC = 256 * mib // eight chiplets, of which one thread reaches one
	if got := m.LevelOf(512*mib, 1); got != "L3-DRAM" {
		t.Errorf("two aggregate caches are %s", got)
	}
	unknown := NewModel("cpu", []Level{{Name: DRAM}}, []Level{{Name: DRAM}})
	if got := unknown.LevelOf(1<<40, 1); got != "" {
		t.Errorf("without a known cache a working set is called %q", got)
	}
	l2 := NewModel("cpu", []Level{{"L1", 64 * kib, 64 * kib}, {"L2", mib, mib}, {Name: DRAM}}, nil)
	if got := l2.LevelOf(3*mib, 1); got != "L2-DRAM" {
		t.Errorf("behind a last-level L2: %q", got)
	}
}

func TestTheFractionStaysBelowOneThroughTheTransition(t *testing.T) {
	m := probed()
	last := math.Inf(1)
	for ws := int64(16 * mib); ws <= 512*mib; ws = ws * 9 / 8 {
		// The fastest that the gate lets through: the caches keep all they can.
		ns := math.Max(float64(ws)/100, float64(crossing(ws, ws, 33*mib+64*kib))/40)
		r := result(0, ws, ws, ns)
		if f := m.Judge(&r); f.Suspect {
			t.Fatalf("%d bytes: %s", ws, f.Reason)
		}
		m.Apply(&r)
		r.BandwidthGBps = float64(ws) / ns
		level := r.Ceiling.MemoryLevel
		if level == "L3-DRAM" && r.Ceiling.Fraction > 1/0.8+1e-9 { // copy is 0.8 of the best access
			t.Errorf("%d bytes at %s: fraction %.3f", ws, level, r.Ceiling.Fraction)
		}
		if level != "L3" && level != "L3-DRAM" && level != DRAM {
			t.Errorf("%d bytes at %q", ws, level)
		}
		if r.Ceiling.MemoryGBps > last*1.0001 {
			t.Errorf("%d bytes: the ceiling rises from %.4g to %.4g GB/s with the working set", ws, last, r.Ceiling.MemoryGBps)
		}
		last = r.Ceiling.MemoryGBps
		s := record.Summarize([]record.Result{r})
		if best := s.Suites["other"].BestBandwidthGBps; (level == DRAM) != (best > 0) {
			t.Errorf("%d bytes at %s: counted as a DRAM best of %v", ws, level, best)
		}
	}
}

func TestResultsStandAgainstTheLimitThatBinds(t *testing.T) {
	read := func(r record.Result) record.Result { r.ReadBytes, r.WriteBytes = r.Bytes, 4; return r }
	dtype := func(r record.Result, d record.DType) record.Result { r.DType = d; return r }
	for _, tc := range []struct {
		name     string
		r        record.Result
		bound    string
		level    string
		fraction float64
	}{
		{"compute", result(100e6, mib, mib, 1e6), "compute", "L2", 0.5},
		{"memory, copy", result(0, 256*mib, 256*mib, 256*mib/32.0), "memory", DRAM, 1},
		{"memory, read", read(result(0, 256*mib, 256*mib, 256*mib/20.0)), "memory", DRAM, 0.5},
		{"bf16 in fp32", dtype(result(100e6, mib, mib, 1e6), record.BF16), "compute", "L2", 0.5},
		{"fp64 has its own", dtype(result(100e6, mib, mib, 2e6), record.FP64), "compute", "L2", 0.5},
		{"int8 without a probe", dtype(result(100e6, mib, mib, 1e6), record.INT8), "unknown", "L2", 0},
		{"work without bytes or FLOP", result(0, 0, 0, 1e3), "unknown", "L1", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			probed().Apply(&tc.r)
			c := tc.r.Ceiling
			if c.Bound != tc.bound || c.MemoryLevel != tc.level || math.Abs(c.Fraction-tc.fraction) > 1e-6 {
				t.Errorf("got %+v, want %s at %s, fraction %v", *c, tc.bound, tc.level, tc.fraction)
			}
		})
	}
	other := result(100e6, mib, mib, 1e6)
	other.Threads = 7
	probed().Apply(&other)
	if c := other.Ceiling; c.Bound != "unknown" || c.Fraction != 0 || c.ComputeGFLOPS != 0 {
		t.Errorf("a thread count without probes has %+v", *c)
	}
}

// Rows far apart and pixels between the windows of a convolution reach no cache: a result stands against the level that holds the rest, and is
// not refused for bytes that it never moved.
func TestWhatNobodyReadsIsInNoLevel(t *testing.T) {
	for _, tc := range []struct {
		op    string
		text  string
		ns    float64
		level string
	}{
		{"gemm", "m=1 n=256 k=1024 ldb=300000", 16e3, "L2-L3"}, // 1.2 GB from first to last
		{"gemm", "m=1 n=256 k=1024", 16e3, "L2-L3"},
		{"gemm", "m=1 n=256 k=256 ldb=16384", 2e3, "L2"},                               // 17 MB
		{"conv2d", "n=8 c=256 h=112 w=112 k=16 r=1 stride=3 layout=nhwc", 200e3, "L3"}, // of 99 MB
		{"conv2d", "n=32 c=256 h=56 w=56 k=16 r=1 stride=2 layout=nhwc", 600e3, "L3"},  // of 104 MB
	} {
		params := map[string]string{}
		for _, f := range strings.Fields(tc.text) {
			k, v, _ := strings.Cut(f, "=")
			params[k] = v
		}
		o, err := op.Builtin().New(tc.op, params, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		r, m := result(0, o.Bytes(), op.Single(o).WorkingSet(), tc.ns), probed()
		m.Apply(&r)
		if f := m.Judge(&r); f.Suspect || r.Ceiling.MemoryLevel != tc.level || r.Ceiling.Fraction > 1 {
			t.Errorf("%s %s: %s, fraction %.2f, %+v; want %s", tc.op, tc.text, r.Ceiling.MemoryLevel, r.Ceiling.Fraction, f, tc.level)
		}
	}
}

// Of sets that rotate through twice the last-level cache none is there any more when its turn comes; of fewer some are.
func TestColdResultsStandAgainstMemory(t *testing.T) {
	for sets, want := range map[int]string{66: "DRAM", 64: "DRAM", 63: "L3-DRAM", 1: "L2"} {
		r := result(0, mib, mib, 1e6)
		r.Mode, r.Conditions = record.Cold, &record.Conditions{BufferSets: sets}
		m := probed()
		m.Apply(&r)
		if r.Ceiling.MemoryLevel != want {
			t.Errorf("%d MiB in rotation behind 32 MiB of L3 are at %s, want %s", sets, r.Ceiling.MemoryLevel, want)
		}
		if want == "DRAM" && r.Ceiling.MemoryGBps != m.Bandwidth(DRAM, r.Threads, accesses(&r)...).Measured.Value {
			t.Errorf("%d sets: held against %v GB/s", sets, r.Ceiling.MemoryGBps)
		}
	}
}

// A set of 1 MiB in turn with 65 others has at most half of its bytes in the caches: what is faster than DRAM can bring the rest is suspect.
func TestAColdResultFasterThanMemoryIsSuspect(t *testing.T) {
	m := probed()
	_, rate := m.fastest(DRAM, result(0, mib, mib, 1).Threads)
	if rate == 0 {
		t.Fatal("no probe of DRAM")
	}
	for share, suspect := range map[float64]bool{0.3: true, 0.9: false} { // of the time that all bytes need from DRAM
		r := result(0, mib, mib, share*mib/rate)
		r.Mode, r.Conditions = record.Cold, &record.Conditions{BufferSets: 66}
		m.Apply(&r)
		if got := m.judgeMemory(&r, work{bytes: r.Bytes, ns: r.Time.MedianNS}); got.Suspect != suspect {
			t.Errorf("%.1f of the time: %+v", share, got)
		}
	}
}

func TestTheBestProbeIsTheCeilingAndEveryProbeIsKept(t *testing.T) {
	m := twoCores()
	id := record.Ceiling{Kind: record.CeilingCompute, ISA: "avx2", DType: record.FP32, Threads: 1}
	m.Probe(id, record.Result{ID: "a", Status: record.Wrong, Reason: "folded"}, "initial")
	if x := m.Find(id); x.Measured.Value != 0 || x.Measured.Unavailable != "wrong: folded" || len(x.Probes) != 0 {
		t.Fatalf("a wrong probe gave %+v", x.Measured)
	}
	for i, g := range []int64{50, 80, 70} {
		r := record.Result{ID: "a", Status: record.OK, Time: timeOf(1e6), FLOPs: g * 1e6, Started: "t" + string(rune('0'+i))}
		m.Probe(id, r, "periodic")
	}
	m.Again(record.ProbeEntry{Ceiling: m.Find(id).Key(), Probe: record.Probe{Time: "t3", Value: 75, Case: "a"}})
	x := m.Find(id)
	if x.Measured.Value != 80 || x.Measured.Unavailable != "" || len(x.Probes) != 4 || x.Probes[2].Time != "t2" {
		t.Errorf("%+v, probes %+v", x.Measured, x.Probes)
	}
	lat := record.Ceiling{Kind: record.CeilingLatency, Level: "L1", Threads: 1}
	for _, ns := range []float64{2000, 1500, 1800} {
		m.Probe(lat, record.Result{ID: "l", Status: record.OK, Time: timeOf(ns), Items: 1000}, "initial")
	}
	if x := m.Find(lat); x.Measured.Value != 1.5 {
		t.Errorf("latency %+v, want the lowest per load", x.Measured)
	}
	lat.Threads, lat.Theoretical = 2, record.Theoretical{Value: 1}
	m.Add(lat)
	m.Probe(lat, record.Result{ID: "l", Status: record.OK, Time: timeOf(2000), Items: 1000}, "initial")
	if x := m.Find(lat); x.Ratio != 0.5 {
		t.Errorf("twice the latency of the formula is %g of it", x.Ratio)
	}
}

func TestAProbeOfFewScatteredSamplesHasFiniteBounds(t *testing.T) {
	m := twoCores()
	id := record.Ceiling{Kind: record.CeilingBandwidth, Level: "L1", Access: "read", Threads: 1}
	tm := record.Time{MedianNS: 1000, CI95NS: [2]float64{0, 4000}, MinNS: 500, MaxNS: 3000}
	m.Probe(id, record.Result{ID: "p", Status: record.Noisy, Time: &tm, Bytes: 10_000}, "initial")
	if p := m.Find(id).Probes[0]; p.Value != 10 || p.CI95 != [2]float64{2.5, 20} || p.Best != 20 {
		t.Errorf("%+v", p)
	}
}
