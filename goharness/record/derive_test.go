package record

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// measured is 2·10⁹ FLOP and 10⁹ bytes a launch: three samples of 2 launches at 1, 2 and 3 ms.
func measured() Result {
	return Result{ID: "x", Device: "cpu", DType: FP32, ISA: "avx2", Threads: 2, Status: OK, FLOPs: 2e9, Bytes: 1e9, Items: 10, ItemUnit: "image",
		Time: &Time{MedianNS: 2e6, MeanNS: 2e6, MinNS: 1e6, MaxNS: 3e6, StdNS: 1e6, P90NS: 2.9e6, P95NS: 2.95e6, P99NS: 2.99e6,
			SamplesNS: []float64{1e6, 2e6, 3e6}, Launches: 2, WarmupLaunches: 1000, WarmupNS: 1e9},
		Ceiling:      &ResultCeiling{Bound: "memory", ComputeGFLOPS: 2000, MemoryGBps: 625, MemoryLevel: "DRAM"},
		Conditions:   &Conditions{PeakMemoryBytes: 5e6, MemoryBeforeBytes: 3e6, MemoryAfterBytes: 4e6},
		DeviceMemory: &DeviceMemory{StartBytes: 0, EndBytes: 7e6},
		Energy:       &Energy{Joules: 50, WindowNS: 1e9, Launches: 500},
	}
}

func someCeilings() []Ceiling {
	return []Ceiling{
		{Device: "cpu", Kind: CeilingCompute, DType: FP32, ISA: "avx2", Threads: 2, Theoretical: Theoretical{Value: 2500}},
		{Device: "cpu", Kind: CeilingCompute, DType: FP32, ISA: "avx512", Threads: 2, Theoretical: Theoretical{Value: 9000}},
		{Device: "cpu", Kind: CeilingCompute, DType: FP32, ISA: "avx2", Threads: 1, Theoretical: Theoretical{Value: 8000}},
		{Device: "cpu", Kind: CeilingBandwidth, Level: "DRAM", Threads: 2, Theoretical: Theoretical{Value: 700}},
		{Device: "cpu", Kind: CeilingBandwidth, Level: "L1", Threads: 2, Theoretical: Theoretical{Value: 9000}},
	}
}

func TestMetricsFollowTheirDefinitions(t *testing.T) {
	r := measured()
	if err := FillMetrics(&r, nil, someCeilings(), UserPeaks{}); err != nil {
		t.Fatal(err)
	}
	start, end := 0.0, 7.0
	want := &Metrics{
		Latency: &LatencyMetrics{Mean: 2, Median: 2, Min: 1, Max: 3, Std: 1, P90: 2.9, P95: 2.95, P99: 2.99},
		// 6 timed launches in 12 ms; the 1000 warm-up launches count nowhere
		Throughput: &ThroughputMetrics{ItemsPerSec: 5000, BatchesPerSec: 500, TotalItems: 60, TimePerBatch: 2, Item: "image"},
		Memory:     &MemoryMetrics{PeakMB: 5, GrowthMB: 1, CPUStartMB: 3, CPUEndMB: 4, AllocatedStartMB: &start, AllocatedEndMB: &end},
		FLOPs: &FLOPMetrics{FLOPs: 2e9, GFLOPS: 1000, TFLOPS: 1, HardwareEfficiency: 0.5, UtilizationPct: 40,
			PeakSource: "theoretical"},
		// 50 J in 1 s; 500 launches of 2 GFLOP in the same window: 1000 GFLOP / 50 J
		Power: &PowerMetrics{AvgWatts: 50, EnergyJoules: 50, GFLOPSPerWatt: 20, OpsPerWatt: 2e10, ThroughputPerWatt: 100, PJPerFLOP: 50, PJPerByte: 100},
		// 6 GB in 12 ms; fastest sample 1 GB in 1 ms
		Bandwidth: &BandwidthMetrics{AvgGBps: 500, PeakGBps: 1000, PeakTheoretical: 700, UtilizationPercent: 80, TransfersGB: 1,
			Intensity: 2, MemoryBound: true, Traffic: "modelled", PeakSource: "measured"},
	}
	if d := cmp.Diff(want, r.Metrics, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Error(d)
	}
}

func TestMetricsOfThePeaksAUserGave(t *testing.T) {
	r := measured()
	if err := FillMetrics(&r, []string{"flops", "bandwidth"}, someCeilings(), UserPeaks{GFLOPS: 500, GBps: 1000}); err != nil {
		t.Fatal(err)
	}
	m := r.Metrics
	if m.FLOPs.UtilizationPct != 200 || m.FLOPs.PeakSource != "user" || m.FLOPs.HardwareEfficiency != 0.5 {
		t.Errorf("flops %+v", m.FLOPs)
	}
	if math.Abs(m.Bandwidth.UtilizationPercent-50) > 1e-9 || m.Bandwidth.PeakSource != "user" || !m.Bandwidth.MemoryBound {
		t.Errorf("bandwidth %+v", m.Bandwidth)
	}
	if m.Latency != nil || m.Power != nil {
		t.Error("groups that were not selected are there")
	}
}

func TestMetricsThatNobodyKnowsAreAbsentWithAReason(t *testing.T) {
	r := measured()
	r.Ceiling, r.Energy, r.Conditions = nil, &Energy{Unavailable: "no meter"}, nil
	if err := FillMetrics(&r, nil, nil, UserPeaks{}); err != nil {
		t.Fatal(err)
	}
	m := r.Metrics
	if m.Power.Unavailable != "no meter" || m.Memory != nil || m.FLOPs.Unavailable == "" || m.FLOPs.PeakSource != "" ||
		m.Bandwidth.Unavailable == "" || m.Bandwidth.MemoryBound || m.Bandwidth.ComputeBound {
		t.Errorf("%+v %+v %+v", m.Power, m.FLOPs, m.Bandwidth)
	}
}

// Bytes that no operation is done on are bound by memory, whatever the peak is, or whether one was measured.
func TestWhatOnlyMovesDataIsBoundByMemory(t *testing.T) {
	r := measured()
	r.FLOPs, r.ArithmeticIntensity = 0, 0
	r.Ceiling = &ResultCeiling{Bound: "memory", MemoryLevel: "DRAM", MemoryGBps: 600}
	if err := FillMetrics(&r, nil, someCeilings(), UserPeaks{}); err != nil {
		t.Fatal(err)
	}
	if b := r.Metrics.Bandwidth; !b.MemoryBound || b.ComputeBound || b.Unavailable != "" {
		t.Errorf("%+v", b)
	}
}

// A cache's ports read and write at the same time, memory's bus does either.
func TestTheTheoreticalBandwidthIsOfTheMixOfReadsAndWrites(t *testing.T) {
	var ceilings []Ceiling
	for _, x := range []struct {
		level, access string
		gbps          float64
	}{{"L1", "read", 236}, {"L1", "write", 118}, {"L1", "triad", 0}, {"L2", "read", 118}, {"DRAM", "read", 460}, {"DRAM", "write", 460}} {
		c := Ceiling{Device: "cpu", Kind: CeilingBandwidth, Level: x.level, Access: x.access, Threads: 1, Theoretical: Theoretical{Value: x.gbps}}
		if x.gbps == 0 {
			c.Theoretical.Unavailable = "no source"
		}
		ceilings = append(ceilings, c)
	}
	for _, tc := range []struct {
		level       string
		read, write int64
		want        float64
	}{
		{"L1", 100, 0, 236}, {"L1", 0, 100, 118}, {"L1", 200, 100, 354}, {"L1", 100, 100, 236}, {"L1-L2", 200, 100, 354},
		{"L2", 100, 0, 118}, {"L2", 100, 100, 0}, // nobody knows its writes
		{"DRAM", 200, 100, 460}, {"DRAM", 100, 100, 460}, {"", 100, 100, 0}, {"L3", 100, 0, 0},
	} {
		r := Result{Device: "cpu", Threads: 1, ReadBytes: tc.read, WriteBytes: tc.write}
		if got := theoreticalBandwidth(&r, tc.level, ceilings); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s, %d bytes read and %d written: %v, want %v", tc.level, tc.read, tc.write, got, tc.want)
		}
	}
}

func TestResultsThatDoNotCountGetNoMetrics(t *testing.T) {
	for _, s := range []Status{Invalid, Wrong, Crashed} {
		r := measured()
		r.Status = s
		if err := FillMetrics(&r, nil, someCeilings(), UserPeaks{}); err != nil || r.Metrics != nil {
			t.Errorf("%s: metrics %+v, %v", s, r.Metrics, err)
		}
	}
	r := measured()
	if err := FillMetrics(&r, []string{"speed"}, nil, UserPeaks{}); err == nil || !strings.Contains(err.Error(), "latency, throughput") {
		t.Errorf("unknown group: %v", err)
	}
}

func TestSummaryNeverCountsWhatIsInvalidWrongOrCached(t *testing.T) {
	mk := func(id string, s Status, d DType, gflops, gbps float64, level string) Result {
		return Result{ID: id, Suite: "s", Status: s, DType: d, GFLOPS: gflops, BandwidthGBps: gbps, Ceiling: &ResultCeiling{MemoryLevel: level}}
	}
	got := Summarize([]Result{
		mk("good", OK, FP32, 100, 20, "DRAM"), mk("noisy", Noisy, FP32, 110, 19, "DRAM"), mk("view", Invalid, FP32, 1e6, 494901, "DRAM"),
		mk("wrong", Wrong, FP32, 1e6, 1e6, "DRAM"), mk("cached", OK, FP32, 1, 500, "L2"), mk("ints", OK, INT8, 400, 1, "DRAM"),
		{ID: "rest", Status: Skipped},
	})
	want := Summary{
		Counts: map[Status]int{OK: 3, Noisy: 1, Invalid: 1, Wrong: 1, Skipped: 1},
		Suites: map[string]SuiteSummary{"other": {Cases: 1}, "s": {Cases: 6, BestGFLOPS: 110, BestGFLOPSCase: "noisy",
			BestBandwidthGBps: 20, BestBandwidthCase: "good"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAGivenPeakThatAResultExceedsIsTooLow(t *testing.T) {
	r := measured() // 1000 GFLOPS, 500 GB/s from DRAM
	integer := measured()
	integer.DType, integer.ID = INT8, "int8"
	cached := measured()
	cached.ID = "cached"
	l1 := *cached.Ceiling
	l1.MemoryLevel = "L1"
	cached.Ceiling = &l1
	double := measured()
	double.DType, double.ID = FP64, "fp64"
	probe := measured()
	probe.UseCase, probe.ID, probe.FLOPs = UseCaseCeiling, "probe", 1e13
	wrong := measured()
	wrong.Status, wrong.FLOPs, wrong.Bytes = Wrong, 1e15, 1e15
	for _, tc := range []struct {
		name      string
		user      UserPeaks
		low       int
		fractions [5]float64 // of the fp32 result, the int8 one, the cached one, fp64, a probe
	}{
		{"none given", UserPeaks{}, 0, [5]float64{}},
		{"both high enough", UserPeaks{GFLOPS: 2000, GBps: 1000}, 0, [5]float64{0.5, 0.5, 0.5, 0.5, 0}},
		{"arithmetic too low", UserPeaks{GFLOPS: 500}, 1, [5]float64{2, 0, 2, 0, 0}},
		{"bandwidth too low, for DRAM alone", UserPeaks{GBps: 250}, 1, [5]float64{2, 2, 0, 2, 0}},
		{"the peak of fp64", UserPeaks{GFLOPS: 500, DType: FP64}, 1, [5]float64{0, 0, 0, 2, 0}},
		{"the peak of int8", UserPeaks{GFLOPS: 2000, DType: INT8}, 0, [5]float64{0, 0.5, 0, 0, 0}},
		{"both too low", UserPeaks{GFLOPS: 500, GBps: 100}, 2, [5]float64{5, 5, 2, 5, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rs := []Result{r, integer, cached, double, probe, wrong}
			for i := range rs {
				if rs[i].Ceiling != nil {
					own := *rs[i].Ceiling
					rs[i].Ceiling = &own
				}
				if err := FillMetrics(&rs[i], nil, someCeilings(), tc.user); err != nil {
					t.Fatal(err)
				}
			}
			for i, want := range tc.fractions {
				if got := rs[i].Ceiling.UserFraction; math.Abs(got-want) > 1e-9 {
					t.Errorf("result %d is %v of the given peaks, want %v", i, got, want)
				}
			}
			if m := rs[4].Metrics; m.FLOPs.PeakSource == "user" || m.Bandwidth.PeakSource == "user" {
				t.Errorf("a probe stands against the given peaks: %+v %+v", m.FLOPs, m.Bandwidth)
			}
			said := PeaksTooLow(rs, tc.user)
			if len(said) != tc.low || strings.Contains(strings.Join(said, " "), "1e+") {
				t.Errorf("said %q, want %d lines", said, tc.low)
			}
		})
	}
}

func TestTriadsOfOneThreadAndAllGiveTheScaling(t *testing.T) {
	mk := func(id string, threads int, d DType, gbps float64, level string) Result {
		return Result{ID: id, Op: "stream_triad", DType: d, Threads: threads, Params: map[string]string{"n": "1"}, Status: OK, BandwidthGBps: gbps, Ceiling: &ResultCeiling{MemoryLevel: level}}
	}
	copies := mk("copy", 1, FP32, 99, "DRAM")
	copies.Op = "stream_copy"
	other := mk("other size", 1, FP32, 99, "DRAM")
	other.Params = map[string]string{"n": "2"}
	invalid := mk("invalid", 1, FP32, 99, "DRAM")
	invalid.Status = Invalid
	got := Summarize([]Result{mk("all", 4, FP32, 60, "DRAM"), copies, other, invalid, mk("cached", 1, FP32, 90, "L3"), mk("one", 1, FP32, 20, "DRAM"),
		mk("fp64", 4, FP64, 60, "DRAM"), mk("alone", 1, BF16, 20, "DRAM")}).Scaling
	want := []Scaling{{Op: "stream_triad", DType: FP32, Threads: 4, OneGBps: 20, AllGBps: 60, Efficiency: 0.75, OneThreadCase: "one", AllCase: "all"}}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Error(d)
	}
}
