package campaign

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/machine"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// twoSockets has 2 cores on each of 2 sockets of Zen 3 (EPYC 7003), with 32 KiB L1 and
// 512 KiB L2 a core and 32 MiB L3 a socket. CPUs 0 and 1 are the first socket's.
func twoSockets() *WorkerHost {
	h := record.Host{CPU: record.CPU{Vendor: "AuthenticAMD", Model: "AMD EPYC 7313", Family: 0x19, ModelNumber: 1, Stepping: 1, Features: []string{"sse2", "avx2", "fma"},
		Caches: []record.Cache{{Level: 1, Type: "data", SizeBytes: 32 << 10, CPUs: []string{"0", "1", "2", "3"}},
			{Level: 2, Type: "unified", SizeBytes: 512 << 10, CPUs: []string{"0", "1", "2", "3"}},
			{Level: 3, Type: "unified", SizeBytes: 32 << 20, CPUs: []string{"0-1", "2-3"}}}},
		Limits: record.Limits{UsableThreads: 4}}
	for i := range 4 {
		h.CPU.Logical = append(h.CPU.Logical, record.LogicalCPU{CPU: i, Core: i, Socket: i / 2, Node: i / 2})
	}
	h.Memory.TheoreticalGBps = record.Unknown[float64]("no SMBIOS")
	return &WorkerHost{host: h, cpus: []int{0, 1, 2, 3}}
}

func TestUnpinnedThreadsSeeTheCachesAndCores(t *testing.T) {
	for _, policy := range []string{"none", "scatter"} {
		for threads, want := range map[int][3]int64{1: {32 << 10, 512 << 10, 32 << 20}, 2: {64 << 10, 1 << 20, 64 << 20}, 4: {128 << 10, 2 << 20, 64 << 20}} {
			wh := twoSockets()
			cpus, err := wh.CPUs(threads, policy)
			if err != nil {
				t.Fatal(err)
			}
			c := &campaign{}
			seats := wh.Seats(cpus)
			c.hostPlan(wh, seats)
			var got [3]int64
			for i, l := range c.cfg.Plan.Levels[:min(3, len(c.cfg.Plan.Levels))] {
				got[i] = l.Capacity
			}
			if got != want || len(c.cfg.Plan.Levels) != 4 || len(c.cfg.Plan.Levels1) != 4 {
				t.Errorf("%s, %d threads: levels %+v, want %v", policy, threads, c.cfg.Plan.Levels, want)
			}
			if n := setting(wh.host, seats, nil).Cores(threads); n != threads {
				t.Errorf("%s: %d threads on %d cores", policy, threads, n)
			}
		}
	}
	if wh := twoSockets(); !reflect.DeepEqual(wh.Seats([]int{3, 1}), []int{3, 1}) {
		t.Error("pinned threads were moved")
	}
}

func TestTheLastLevelCacheReachedIsThatOfTheCPUs(t *testing.T) {
	wh := twoSockets()
	for _, c := range []struct {
		cpus []int
		want int64
	}{{[]int{0}, 32 << 20}, {[]int{0, 1}, 32 << 20}, {[]int{1, 2}, 64 << 20}, {[]int{-1, -1}, 64 << 20}} {
		if got := wh.LLCReached(c.cpus); got != c.want {
			t.Errorf("CPUs %v reach %d bytes, want %d", c.cpus, got, c.want)
		}
	}
}

func TestTheDRAMBoundIsThatOfTheSocketsInUse(t *testing.T) {
	wh := twoSockets()
	one, _, _, _, ok := machine.Lookup(machine.CPUIDOf(wh.host.CPU)).DRAMUpperBound()
	if !ok {
		t.Fatal("the table has no bound for EPYC 7003")
	}
	for _, tc := range []struct {
		seats   []int
		threads int
		sockets float64
	}{{[]int{0, 1, 2, 3}, 4, 2}, {[]int{0, 2, 1, 3}, 1, 1}, {[]int{0, 1}, 2, 1}, {[]int{2, 1}, 2, 2}} {
		got := setting(wh.host, tc.seats, nil).Theory(record.Ceiling{Kind: record.CeilingBandwidth, Level: "DRAM", Threads: tc.threads})
		if got.Value != tc.sockets*one || got.Inputs["sockets"] != tc.sockets || got.Inputs["channels"] == 0 || strings.Contains(got.Formula, "sockets") != (tc.sockets > 1) {
			t.Errorf("%d threads of %v: %+v, want %v × %v", tc.threads, tc.seats, got, tc.sockets, one)
		}
		product := got.Inputs["sockets"] * got.Inputs["channels"] * got.Inputs["mtps"] * got.Inputs["bytes_per_transfer"] / 1000
		if product != got.Value {
			t.Errorf("the inputs %v give %v, not %v", got.Inputs, product, got.Value)
		}
	}
	wh.host.CPU.ModelNumber = 200
	if got := setting(wh.host, wh.cpus, nil).DRAM(1); got.Value != 0 || !strings.Contains(got.Unavailable, "no SMBIOS") {
		t.Errorf("an unknown chip has %+v", got)
	}
}

// SMBIOS lists the modules of both sockets; threads of one reach half of them.
func TestTheDRAMFormulaOfSMBIOSIsThatOfTheSocketsInUse(t *testing.T) {
	for _, tc := range []struct {
		name     string
		channels int
		seats    []int
		want     float64 // GB/s; 0: not known
	}{
		{"both sockets", 16, []int{0, 2}, 409.6}, {"one of two", 16, []int{0, 1}, 204.8}, {"an odd channel", 15, []int{0, 1}, 0}, {"an odd channel, both", 15, []int{1, 3}, 384},
	} {
		wh := twoSockets()
		m := &wh.host.Memory
		m.Channels, m.ConfiguredMTps = record.Known(tc.channels, "SMBIOS"), record.Known(3200.0, "SMBIOS")
		m.TheoreticalGBps, wh.host.CPU.Sockets = record.Known(float64(tc.channels)*25.6, "SMBIOS"), record.Known(2, "topology")
		got := setting(wh.host, tc.seats, nil).DRAM(len(tc.seats))
		if product := got.Inputs["channels"] * got.Inputs["mtps"] * got.Inputs["bytes_per_transfer"] / 1000; got.Value != tc.want || product != got.Value || (got.Value == 0) != (got.Unavailable != "") {
			t.Errorf("%s: %+v, want %v; the inputs give %v", tc.name, got, tc.want, product)
		}
	}
}

// A virtual machine may show a socket for each CPU: memory nodes tell whether they are the host's.
func TestSocketsThatAHypervisorMadeUpMultiplyNoBound(t *testing.T) {
	for _, tc := range []struct {
		hypervisor string
		nodes      int
		seats      []int
		bound      bool
	}{{"KVM", 1, []int{0, 2}, false}, {"KVM", 0, []int{0, 2}, false}, {"KVM", 1, []int{0, 1}, true}, {"KVM", 0, []int{0, 1}, true}, {"KVM", 2, []int{0, 2}, true}, {"none", 1, []int{0, 2}, true}} {
		wh := twoSockets()
		wh.host.Hypervisor, wh.host.NUMANodes = record.Known(tc.hypervisor, "cpuid"), make([]record.NUMANode, tc.nodes)
		if got := setting(wh.host, tc.seats, nil).DRAM(2); (got.Value > 0) != tc.bound || !tc.bound && !strings.Contains(got.Unavailable, "KVM shows 2 sockets") {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

func TestTheIdleClockIsTheHighestOfAllReadings(t *testing.T) {
	wh := twoSockets()
	s := setting(wh.host, wh.cpus, map[int]runner.ClockReading{1: {IdleGHz: 3.1, LoadedGHz: 2.9}, 2: {IdleGHz: 3, LoadedGHz: 2.7}})
	if s.IdleGHz != 3.1 || s.LoadedGHz[1] != 2.9 || s.LoadedGHz[2] != 2.7 {
		t.Errorf("idle %v, under load %v", s.IdleGHz, s.LoadedGHz)
	}
}

func TestEfficiencyCoresHaveNoRow(t *testing.T) {
	wh := twoSockets()
	wh.host.CPU.CoreTypes = []record.CoreType{{Name: "P", CPUs: "0-1"}, {Name: "E", CPUs: "2-3"}}
	for i := range wh.host.CPU.Logical {
		wh.host.CPU.Logical[i].Type = []string{"P", "P", "E", "E"}[i]
	}
	s := setting(wh.host, []int{0, 1, 2}, map[int]runner.ClockReading{1: {LoadedGHz: 4}, 2: {LoadedGHz: 4}, 3: {LoadedGHz: 4}})
	for threads, want := range map[int]bool{1: true, 2: true, 3: false} {
		got := s.Theory(record.Ceiling{Kind: record.CeilingCompute, ISA: "avx2", DType: record.FP32, Threads: threads})
		if (got.Value > 0) != want || !want && !strings.Contains(got.Unavailable, "unsourced: efficiency cores") {
			t.Errorf("%d threads: %+v", threads, got)
		}
	}
}

// Trap 16: without a given count there are no more threads than the limits leave, whatever the CPUs; a given count is taken.
func TestThreadsAreAsManyAsTheLimitsLeave(t *testing.T) {
	wh := twoSockets()
	wh.host.Limits.UsableThreads = 3
	for asked, want := range map[int]int{0: 3, 1: 1, 4: 4} {
		if cpus, err := wh.CPUs(asked, "scatter"); err != nil || len(cpus) != want {
			t.Errorf("%d threads asked for: CPUs %v %v, want %d", asked, cpus, err, want)
		}
	}
	if cpus, err := wh.CPUs(5, "scatter"); err == nil {
		t.Errorf("five threads on four CPUs: %v", cpus)
	}
}

func TestTheFormulasKnowSharedCoresQuotaAndMaskedIdentity(t *testing.T) {
	wh := twoSockets()
	if s := setting(wh.host, wh.cpus, nil); s.Contradict || s.QuotaCPUs != 0 || s.Cores(4) != 4 {
		t.Errorf("of a host without either: %+v, %d cores", s, s.Cores(4))
	}
	wh.host.CPU.Contradictory, wh.host.Limits.QuotaCPUs = true, record.Known(1.5, "cgroup")
	for i := range wh.host.CPU.Logical { // two hardware threads a core
		wh.host.CPU.Logical[i].Core = i / 2 * 2
	}
	for n, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2} {
		if s := setting(wh.host, wh.cpus, nil); !s.Contradict || s.QuotaCPUs != 1.5 || s.Cores(n) != want {
			t.Errorf("%+v, %d threads on %d cores, want %d", s, n, s.Cores(n), want)
		}
	}
}

// darwin counts the cores of each kind and tells neither which CPU is which nor whom a cache serves.
func TestCoresThatOnlyTheirNumberIsKnownOf(t *testing.T) {
	h := record.Host{CPU: record.CPU{Vendor: "Apple", Model: "Apple M4", Features: []string{"asimd"},
		CoreTypes: []record.CoreType{{Name: "P", Threads: 4, Cores: 4}, {Name: "E", Threads: 6, Cores: 6}},
		Caches: []record.Cache{{Level: 1, Type: "data", SizeBytes: 128 << 10, SharedByCPUs: 1, Instances: 4}, {Level: 1, Type: "data", SizeBytes: 64 << 10, SharedByCPUs: 1, Instances: 6},
			{Level: 2, Type: "unified", SizeBytes: 16 << 20, SharedByCPUs: 4, Instances: 1}, {Level: 2, Type: "unified", SizeBytes: 4 << 20, SharedByCPUs: 6, Instances: 1}}}}
	seats := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	clocks := map[int]runner.ClockReading{1: {LoadedGHz: 4}, 4: {LoadedGHz: 4}, 5: {LoadedGHz: 4}, 10: {LoadedGHz: 4}}
	for _, tc := range []struct {
		threads int
		peak    float64 // 0: efficiency cores have no row
		l1, l2  int64
	}{{1, 32 * 4, 128 << 10, 16 << 20}, {4, 32 * 4 * 4, 512 << 10, 16 << 20}, {5, 0, 576 << 10, 20 << 20}, {10, 0, 896 << 10, 20 << 20}} {
		got := setting(h, seats, clocks).Theory(record.Ceiling{Kind: record.CeilingCompute, ISA: "neon", DType: record.FP32, Threads: tc.threads})
		if got.Value != tc.peak || (tc.peak == 0) != strings.Contains(got.Unavailable, "efficiency cores (at least") {
			t.Errorf("%d threads: %+v, want %v", tc.threads, got, tc.peak)
		}
		if l := Levels(h, seats[:tc.threads]); len(l) != 3 || l[0].Capacity != tc.l1 || l[1].Capacity != tc.l2 {
			t.Errorf("%d threads: levels %+v, want %d and %d", tc.threads, l, tc.l1, tc.l2)
		}
	}
}

// What lies behind an L2 is not DRAM where an L3 is listed whose size nobody gives.
func TestALastCacheOfUnknownSizeLeavesNoLevelKnown(t *testing.T) {
	for name, change := range map[string]func(*record.Host){
		"L3 without a size": func(h *record.Host) { h.CPU.Caches[2].SizeBytes = 0 },
		"L3 with the size of one of two": func(h *record.Host) {
			h.CPU.Caches[2].CPUs = []string{"0-1"}
			h.CPU.Caches = append(h.CPU.Caches, record.Cache{Level: 3, Type: "unified", CPUs: []string{"2-3"}})
		},
	} {
		wh := twoSockets()
		change(&wh.host)
		if l := Levels(wh.host, wh.cpus); len(l) != 1 || l[0].Capacity != 0 || wh.LLCBytes() != 0 {
			t.Errorf("%s: levels %+v, last-level cache %d", name, l, wh.LLCBytes())
		}
	}
	wh := twoSockets()
	wh.host.CPU.Caches[0].SizeBytes = 0
	if l := Levels(wh.host, wh.cpus); len(l) != 3 || wh.LLCBytes() != 64<<20 {
		t.Errorf("L1 without a size: levels %+v, last-level cache %d", l, wh.LLCBytes())
	}
}

// noLoad is a device on which the clock under load cannot be measured.
type noLoad struct{ *fakebackend.Backend }

type noLoadDevice struct{ backend.Device }

func (b noLoad) Open(id string, o backend.OpenOptions) (backend.Device, error) {
	d, err := b.Backend.Open(id, o)
	return noLoadDevice{d}, err
}

func (d noLoadDevice) MeasureClock(load bool) (float64, error) {
	if load {
		return 0, errors.New("neither AVX2 with FMA nor NEON")
	}
	return d.Device.MeasureClock(false)
}

func TestACPUWithoutTheLoadsInstructionsIsCalibratedWithoutThatClock(t *testing.T) {
	for _, preflight := range []bool{false, true} {
		b := &fakebackend.Backend{}
		cfg, _ := toy(t, b, "", copies(1)...)
		s := toyServer(b)
		s.Backends = []backend.Backend{noLoad{b}}
		cfg.Launch, cfg.SkipPreflight, cfg.Force = runner.InProcess(s), !preflight, true
		doc := mustRun(t, cfg)
		clock := doc.Host.CPU.Clock
		if _, ok := clock.LoadedGHz.Get(); ok || !strings.Contains(clock.LoadedGHz.Unavailable, "AVX2") {
			t.Errorf("clock under load %+v", clock.LoadedGHz)
		}
		if v, ok := clock.IdleGHz.Get(); !ok || v != 3 {
			t.Errorf("idle clock %+v", clock.IdleGHz)
		}
		for _, c := range doc.Ceilings {
			if c.Kind == record.CeilingCompute && !strings.Contains(c.Theoretical.Unavailable, "AVX2") {
				t.Errorf("theory %+v", c.Theoretical)
			}
		}
	}
}

func TestARunWithoutChecksClaimsNone(t *testing.T) {
	cfg, _ := toy(t, &fakebackend.Backend{}, "", copies(1)...)
	cfg.Force = true
	p := mustRun(t, cfg).Preflight
	want := []record.Check{{Name: "preflight", Status: "skipped", Message: "not run by bench"}}
	if p.Passed || p.Forced || !slices.Equal(p.Checks, want) {
		t.Errorf("%+v", p)
	}
}

func TestAGivenPeakIsThatOfTheOnePrecisionSelected(t *testing.T) {
	cases := func(ds ...record.DType) (out []record.Case) {
		for _, d := range ds {
			out = append(out, record.Case{Program: record.ProgramRef{DType: d}})
		}
		return out
	}
	for _, tc := range []struct {
		name string
		cfg  Config
		want record.DType
	}{
		{"nothing selected", Config{}, record.FP32},
		{"one precision", Config{Plan: planOf(record.FP64)}, record.FP64},
		{"two precisions", Config{Plan: planOf(record.FP64, record.BF16)}, record.FP32},
		{"cases of one", Config{Cases: cases(record.BF16, record.BF16)}, record.BF16},
		{"cases of two", Config{Cases: cases(record.BF16, record.FP64)}, record.FP32},
		{"given by the caller", Config{Plan: planOf(record.FP64), User: record.UserPeaks{DType: record.FP16}}, record.FP16},
	} {
		if got := userDType(&tc.cfg); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestTheClockIsMeasuredWithAllThreadsAndWithOne(t *testing.T) {
	b := &fakebackend.Backend{Platform: "cpu"}
	c := &campaign{runner: &runner.Runner{Launch: runner.InProcess(toyServer(b))}}
	defer c.runner.Close()
	for threads, want := range map[int]int{1: 1, 2: 2} {
		c.cfg.Plan.Device, c.cfg.Plan.Threads, c.doc = "cpu", threads, record.Calibration{}
		clocks, err := c.readClocks(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(clocks) != want || clocks[1].LoadedGHz == 0 || clocks[threads].LoadedGHz == 0 || (c.doc.Host.CPU.Clock.LoadedOneGHz != nil) != (threads > 1) {
			t.Errorf("%d threads: clocks %+v, one thread %+v", threads, clocks, c.doc.Host.CPU.Clock.LoadedOneGHz)
		}
	}
}

// A neighbour at work during the first readings: the clock of the threads together is read again and the higher taken. One that stays low is the chip's.
func TestAClockOfSeveralThreadsFarBelowOneThreadsIsReadAgain(t *testing.T) {
	for _, tc := range []struct {
		name  string
		low   int // readings of two threads that are low
		want  float64
		again bool
	}{{"as high", 0, 3.6, false}, {"low at first", clockReadings + 1, 3.6, true}, {"low for longer", 2*clockReadings + 1, 3.6, true}, {"low for good", 1000, 2.77, true}} {
		n, low := 0, tc.low // of two threads, of one, and again of two
		b := &fakebackend.Backend{Platform: "cpu", Loaded: func() float64 {
			n++
			if n > clockReadings && n <= 2*clockReadings {
				return 3.69
			}
			if low--; low >= 0 {
				return 2.77
			}
			return 3.6
		}}
		c := &campaign{runner: &runner.Runner{Launch: runner.InProcess(toyServer(b))}}
		c.cfg.Plan.Device, c.cfg.Plan.Threads = "cpu", 2
		clocks, err := c.readClocks(context.Background())
		c.runner.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := c.doc.Host.CPU.Clock.LoadedGHz
		if ghz, _ := got.Get(); clocks[2].LoadedGHz != tc.want || ghz != tc.want || clocks[1].LoadedGHz != 3.69 || strings.Contains(got.Source, "lay far below") != tc.again {
			t.Errorf("%s: clocks %+v, in the document %+v", tc.name, clocks, got)
		}
	}
}
