package campaign

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
	"ridge/internal/toyop"
	"ridge/internal/toypattern"
)

// metered adds a meter to a toy campaign that draws watts, with windows short enough for a test.
func metered(cfg *Config, m power.Meter) {
	cfg.Energy = true
	cfg.EnergyOf = EnergyOptions{Effort: EnergyEffort{Idle: 20 * time.Millisecond, Plan: power.Plan{Windows: 2, Length: 20 * time.Millisecond}, Most: 8, Within: time.Minute},
		Meters: []power.Source{{Name: "toy", Platform: "cpu", Open: func(context.Context, power.Env, power.Device) (power.Meter, error) { return m, nil }}}}
}

func toyMeter(watts float64) *powertest.Counter {
	return &powertest.Counter{Of: []power.Domain{
		{Name: "package-0", Unit: power.Joules, Scale: 1e-6, Range: 1 << 32, Interval: time.Millisecond},
		{Name: "psys", Unit: power.Joules, Scale: 1e-6, Range: 1 << 32, Interval: time.Millisecond, Apart: true}},
		Watts: []float64{watts, 3 * watts}, Start: []uint64{1<<32 - 1e6, 0}, Now: measure.MonotonicNow,
		See: func(time.Duration) power.Sensors { return power.Sensors{ClockMHz: 3600, TemperatureC: 55} }}
}

// soaks is a worker whose loads last so much longer than they are asked to and take no time: the run's clock alone moves.
type soaks struct {
	runner.Worker
	now  *time.Time
	late time.Duration
}

func (w soaks) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	if q.Verb != runner.VerbSoak {
		return w.Worker.Do(ctx, q)
	}
	*w.now = w.now.Add(time.Duration(q.Seconds*float64(time.Second)) + w.late)
	return runner.Reply{Soaked: &runner.Soaked{StartNS: 0, EndNS: 2 * time.Hour.Nanoseconds(), Launches: 7200e6}}, nil // a launch each microsecond, around all windows
}

// virtual measures the energies of a campaign by a clock that sleeping moves, and its time by the loads alone: nothing depends on how busy
// the host is.
func virtual(cfg *Config, m *powertest.Counter, late time.Duration) *powertest.Clock {
	clock, now := &powertest.Clock{T: time.Hour}, time.Unix(1e9, 0)
	m.Now = func() time.Duration { return clock.T }
	metered(cfg, m)
	cfg.EnergyOf.Clock, cfg.Now = clock.Power(), func() time.Time { return now }
	launch := cfg.Launch
	cfg.Launch = func(ctx context.Context) (runner.Worker, error) {
		w, err := launch(ctx)
		return soaks{w, &now, late}, err
	}
	return clock
}

func TestEnergyGoesFromTheMeterIntoTheDocument(t *testing.T) {
	ids := append(copies(3), "cpu/gemm/fp32/m=16,n=16,k=16/threads=1/hot")
	cfg, v := toy(t, &fakebackend.Backend{}, t.TempDir(), ids...)
	var trace strings.Builder
	metered(&cfg, toyMeter(50))
	cfg.EnergyOf.Trace, cfg.EnergyOf.Follow = &trace, 5*time.Millisecond
	doc := mustRun(t, cfg)
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Validate(data); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		r := find(t, doc, id)
		e := r.Energy
		if !e.Known() {
			t.Errorf("%s: %+v; warned %q", id, e, v.warned)
			continue
		}
		// Stated at 95 %, and a few hundred are read here by the real clock of a busy machine: within twice.
		if off := math.Abs(e.MeanWatts() - 50); off > 2*e.Uncertainty/(float64(e.WindowNS)/1e9) || len(e.Windows) != 2 || e.WindowNS < 35e6 || e.Meter != "toy counter" {
			t.Errorf("%s: %v W, %+v", id, e.MeanWatts(), e)
		}
		if e.NetJoules == nil || math.Abs(*e.NetJoules) > 2*e.NetUncertainty {
			t.Errorf("%s: net %v ± %v, want about 0", id, e.NetJoules, e.NetUncertainty)
		}
		if len(e.Domains) != 2 || !e.Domains[0].InTotal || e.Domains[1].InTotal || math.Abs(e.Domains[1].Watts-150) > 6*e.Uncertainty/(float64(e.WindowNS)/1e9) {
			t.Errorf("%s: domains %+v", id, e.Domains)
		}
		p := r.Metrics.Power
		perWatt := float64(r.FLOPs) * e.Launches / e.Joules / 1e9
		if p.EnergyJoules != e.Joules || p.MaxWatts < p.AvgWatts || math.Abs(p.GFLOPSPerWatt-perWatt) > 1e-9*perWatt || p.PJPerByte <= 0 || p.UncertaintyPct <= 0 {
			t.Errorf("%s: power metrics %+v", id, p)
		}
		if e.ClockMinMHz != 3600 || e.ClockAvgMHz != 3600 || e.ClockMaxMHz != 3600 || e.TemperatureMinC != 55 || e.TemperatureAvgC != 55 || e.TemperatureMaxC != 55 {
			t.Errorf("%s: clock and temperature %+v", id, e)
		}
		if e.DRAMShare == nil || e.DRAMShare.Unavailable == "" {
			t.Errorf("%s: DRAM share %+v", id, e.DRAMShare)
		}
	}
	x := doc.Energy
	if x == nil || x.Meter != "toy counter" || x.Selected != 4 || x.Measured != 4 {
		t.Fatalf("report %+v", x)
	}
	if i := x.Idle; i.Unavailable != "" || i.Before <= 0 || i.After <= 0 || math.Abs((i.Before+i.After)/2-50) > 2*i.Uncertainty {
		t.Errorf("idle %+v", i)
	}
	if len(x.Roofline) != 0 { // the toy's cases lie in its caches
		t.Errorf("roofline %+v", x.Roofline)
	}
	for _, want := range []string{",idle,,", ",timing,", ",sustain,cpu/stream_copy/fp32/n=100/threads=1/hot,stream_copy_fast"} {
		if !strings.Contains(trace.String(), want) {
			t.Errorf("the trace lacks %q:\n%.2000s", want, trace.String())
		}
	}
}

func TestAMeterThatFailsNeverStopsARunNorGivesANumber(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(*powertest.Counter)
		want string
	}{
		{"it vanishes", func(m *powertest.Counter) {
			n := 0
			m.Fail = func(context.Context, time.Duration) error {
				if n++; n > 8 {
					return errors.New("the zone is gone")
				}
				return nil
			}
		}, "the zone is gone"},
		{"it shows zeros", func(m *powertest.Counter) { m.Watts = []float64{0, 0} }, "did not move"},
		{"it shows garbage", func(m *powertest.Counter) { m.Watts = []float64{7e7, 1} }, "garbage"},
		{"it hangs", func(m *powertest.Counter) {
			m.Fail = func(context.Context, time.Duration) error { select {} }
		}, "stalled"},
		{"it shows more than the limit", func(m *powertest.Counter) { m.Info.LimitWatts = 10 }, "above the power limit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id := copies(1)[0]
			cfg, _ := toy(t, &fakebackend.Backend{}, t.TempDir(), id)
			m := toyMeter(50)
			tc.set(m)
			metered(&cfg, m)
			doc := mustRun(t, cfg)
			r := find(t, doc, id)
			if r.Status != record.OK || r.Energy.Known() || r.Energy.Joules != 0 || !strings.Contains(r.Energy.Unavailable, tc.want) {
				t.Errorf("%s, energy %+v", r.Status, r.Energy)
			}
			if r.Metrics.Power.Unavailable == "" || r.Metrics.Power.AvgWatts != 0 {
				t.Errorf("power metrics %+v", r.Metrics.Power)
			}
		})
	}
}

func TestAMachineWithoutAMeterSaysWhy(t *testing.T) {
	id := copies(1)[0]
	cfg, _ := toy(t, &fakebackend.Backend{}, t.TempDir(), id)
	cfg.Energy = true
	doc := mustRun(t, cfg)
	if r := find(t, doc, id); !strings.HasPrefix(r.Energy.Unavailable, "no energy meter: rapl-powercap: no RAPL zone under /sys/class/powercap") || doc.Energy.Unavailable != r.Energy.Unavailable {
		t.Errorf("result %+v, document %+v", r.Energy, doc.Energy)
	}
	cfg, _ = toy(t, &fakebackend.Backend{}, t.TempDir(), id)
	if doc = mustRun(t, cfg); doc.Energy != nil || find(t, doc, id).Energy.Unavailable != "not asked for" {
		t.Errorf("not asked for: %+v", doc.Energy)
	}
}

func TestCasesThatTheUserNamesAreMeasuredAndTheOthersNot(t *testing.T) {
	ids := copies(3)
	for _, tc := range []struct {
		named []string
		want  []bool
	}{{[]string{ids[1]}, []bool{false, true, false}}, {[]string{"all"}, []bool{true, true, true}}} {
		cfg, v := toy(t, &fakebackend.Backend{}, t.TempDir(), ids...)
		metered(&cfg, toyMeter(50))
		cfg.EnergyOf.Cases = append(tc.named, "cpu/gemm/fp32/m=1,n=1,k=1/threads=1/hot")
		cfg.EnergyOf.Effort.Within = time.Nanosecond // what was asked for by name has no limit
		doc := mustRun(t, cfg)
		for i, id := range ids {
			e := find(t, doc, id).Energy
			if e.Known() != tc.want[i] || !e.Known() && e.Unavailable != "not selected" {
				t.Errorf("%q: %s: %+v", tc.named, id, e)
			}
		}
		if !v.heard("this run has no such case") {
			t.Errorf("warned %q", v.warned)
		}
	}
}

// A name that no case has is said before the run on a machine without a meter too: the same line is typed on one with a meter next.
func TestACaseThatTheRunDoesNotHaveIsNamedWithoutAMeterToo(t *testing.T) {
	cfg, v := toy(t, &fakebackend.Backend{}, t.TempDir(), copies(1)...)
	cfg.Energy = true
	cfg.EnergyOf = EnergyOptions{Meters: []power.Source{}, Cases: []string{"cpu/gemm/fp32/m=1,n=1,k=1/threads=1/hot"}}
	doc := mustRun(t, cfg)
	if !v.heard("this run has no such case") || !strings.Contains(doc.Energy.Unavailable, "no energy meter") {
		t.Errorf("warned %q, %+v", v.warned, doc.Energy)
	}
}

// A case takes 432 ms: a lead of 200 ms, two windows that may take 66 ms each, and a margin. Nothing is begun that does not fit into the
// time with the second baseline of 20 ms: a slow program, whose windows take 10 s each, is left out from the start.
func TestEnergiesKeepToTheirTime(t *testing.T) {
	ids := copies(3)
	const takes = 432 * time.Millisecond
	for _, tc := range []struct {
		name   string
		slow   bool
		late   time.Duration // what each takes longer than its windows
		within time.Duration
		known  int
	}{
		{"the second fits", false, 0, 2*takes + 20*time.Millisecond, 2},
		{"the second does not fit with the baseline", false, 0, 2*takes + 19*time.Millisecond, 1},
		{"the second does not fit when it is as late as the first", false, 50 * time.Millisecond, 2*takes + 119*time.Millisecond, 1},
		{"the first is slow", true, 0, 5 * time.Second, 2},
	} {
		b := &fakebackend.Backend{NS: func(p op.Program, kernel string) float64 {
			if tc.slow && p.Bytes() == 100*8 {
				return 4e9
			}
			return toyNS(p, kernel)
		}}
		cfg, _ := toy(t, b, t.TempDir(), ids...)
		virtual(&cfg, toyMeter(50), tc.late)
		cfg.EnergyOf.Effort.Within = tc.within
		doc := mustRun(t, cfg)
		known := 0
		for _, id := range ids {
			if e := find(t, doc, id).Energy; e.Known() {
				known++
			} else if !strings.HasPrefix(e.Unavailable, "not selected: of the "+tc.within.String()+" for energies ") {
				t.Errorf("%s: %s: %+v", tc.name, id, e)
			}
		}
		if known != tc.known || doc.Energy.Measured != known || doc.Energy.Selected != 3 || find(t, doc, ids[0]).Energy.Known() == tc.slow {
			t.Errorf("%s: %d known, %+v", tc.name, known, doc.Energy)
		}
	}
}

func TestBothProgramsOfAFusionPatternHaveTheirEnergy(t *testing.T) {
	doc := mustRun(t, compared(t, t.TempDir()))
	profiles, err := record.FusionProfiles(&doc)
	if err != nil || len(profiles) == 0 {
		t.Fatal(profiles, err)
	}
	n := 0
	for _, p := range profiles[0].Patterns {
		for _, s := range p.Shapes {
			if !s.Status.Counts() {
				continue
			}
			n++
			if !s.Energy.Known() || !s.FusedEnergy.Known() || s.EnergyRatio <= 0 || s.EnergyRatioCI95 == nil {
				t.Errorf("%s: unfused %+v, fused %+v", s.CaseID, s.Energy, s.FusedEnergy)
				continue
			}
			if ci := *s.EnergyRatioCI95; ci[0] > s.EnergyRatio || ci[1] < s.EnergyRatio {
				t.Errorf("%s: energy ratio %v with the interval %v", s.CaseID, s.EnergyRatio, ci)
			}
		}
	}
	if n == 0 {
		t.Error("no shape was measured")
	}
}

// compared is a toy campaign of a fusion pattern with a meter.
func compared(t *testing.T, dir string) Config {
	t.Helper()
	patterns := []fusion.Pattern{toypattern.Pattern()}
	b := &fakebackend.Backend{}
	cfg, _ := toy(t, b, dir)
	ops := fusion.WithPatterns(toyOps().With(toyop.Spec()), patterns)
	server := &runner.Server{Backends: []backend.Backend{b}, Ops: ops, Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(patterns, ref) }}
	cfg.Launch = runner.InProcess(server)
	cfg.Plan.Ops, cfg.Plan.Fusion, cfg.Plan.ProbesOnly, cfg.Plan.Memory = ops, patterns, true, 1<<30
	metered(&cfg, toyMeter(50))
	cfg.EnergyOf.Cases = []string{"all"}
	return cfg
}

// comparisons are the results with two arms that count.
func comparisons(doc record.Calibration) (out []record.Result) {
	for _, r := range doc.Results {
		if len(r.Arms) == 2 && r.Status.Counts() {
			out = append(out, r)
		}
	}
	return out
}

// The journal names the baseline that won; a run that had no meter yet, or was interrupted, goes on with the energies.
func TestEnergiesOfComparisonsGoOnAfterAResume(t *testing.T) {
	dir := t.TempDir()
	cfg := compared(t, dir)
	broken := toyMeter(50)
	broken.Fail = func(context.Context, time.Duration) error { return errors.New("the zone is gone") }
	metered(&cfg, broken)
	cfg.EnergyOf.Cases = []string{"all"}
	first := mustRun(t, cfg)
	if rs := comparisons(first); len(rs) < 2 || rs[0].Energy.Known() {
		t.Fatalf("%d comparisons, energy %+v", len(rs), rs[0].Energy)
	}
	// The meter works now; the run is interrupted after the first energy.
	ctx, cancel := context.WithCancel(t.Context())
	cfg = compared(t, dir)
	cfg.Resume = first.RunID
	m := toyMeter(50)
	m.Fail = func(context.Context, time.Duration) error {
		if text, err := os.ReadFile(JournalPath(dir, first.RunID)); err == nil && strings.Contains(string(text), "with its energy") {
			cancel()
		}
		return nil
	}
	metered(&cfg, m)
	cfg.EnergyOf.Cases = []string{"all"}
	if _, err := Run(ctx, cfg); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("not interrupted: %v", err)
	}
	cfg = compared(t, dir)
	cfg.Resume = first.RunID
	doc := mustRun(t, cfg)
	late := 0
	for _, r := range comparisons(doc) {
		for i, a := range r.Arms {
			e := a.Energy
			if !e.Known() || e.NetJoules == nil {
				t.Fatalf("%s: arm %d: %+v", r.ID, i, e)
			}
			if i == 0 && slices.Contains(e.Warnings, "the idle baseline was taken after the run was resumed") {
				late++
			}
		}
		if r.Energy == nil || r.Energy.NetJoules == nil || *r.Energy.NetJoules != *r.Arms[0].Energy.NetJoules {
			t.Errorf("%s: the result's energy is not that of its first arm: %+v", r.ID, r.Energy)
		}
	}
	if late != 1 || doc.Energy.Measured != doc.Energy.Selected {
		t.Errorf("%d energies were kept from the interrupted run, want 1; %+v", late, doc.Energy)
	}
	// All is known: nothing is measured again.
	cfg = compared(t, dir)
	cfg.Resume = first.RunID
	again := mustRun(t, cfg)
	for i, r := range comparisons(again) {
		if was := comparisons(doc)[i]; r.Energy.Joules != was.Energy.Joules || *r.Arms[1].Energy.NetJoules != *was.Arms[1].Energy.NetJoules {
			t.Errorf("%s was measured again", r.ID)
		}
	}
}

func TestABaselineOfALibraryIsKnownAfterAResume(t *testing.T) {
	k := record.Case{ID: "x", Arms: []record.ProgramRef{{Name: "unfused:chain"}, {Name: "fused"}}}
	r := record.Result{Arms: []record.Arm{{Name: "unfused:onednn packed", Libraries: []string{"onednn 3.7 (gomp)"}}, {Name: "fused"}}}
	got := askedBefore(k, r)
	if got.Arms[0].Name != "unfused:onednn packed" || got.Arms[0].Library != "onednn packed" || k.Arms[0].Name != "unfused:chain" {
		t.Errorf("%+v of %+v", got.Arms, k.Arms)
	}
	r.Arms[0] = record.Arm{Name: "unfused:library-like"}
	if got := askedBefore(k, r); got.Arms[0].Library != "" || got.Arms[0].Name != "unfused:library-like" {
		t.Errorf("one of ridge's own: %+v", got.Arms[0])
	}
}

func TestACaseThatDoesNotCountSaysSoInPlaceOfAnEnergy(t *testing.T) {
	c := &campaign{cfg: Config{Energy: true}, energy: &energy{}}
	if got := c.noEnergy(&record.Result{Status: record.Invalid, Time: &record.Time{}}); !strings.Contains(got, "invalid") {
		t.Errorf("%q", got)
	}
}

func TestAnEnergyThatContradictsTheCeilingOrThePowerIsWarnedOf(t *testing.T) {
	cfg, _ := toy(t, &fakebackend.Backend{}, "", copies(1)...)
	metered(&cfg, toyMeter(50))
	c := &campaign{cfg: cfg}
	r := &record.Result{FLOPs: 1e9, Time: &record.Time{MedianNS: 1e7}, Ceiling: &record.ResultCeiling{ComputeGFLOPS: 80}}
	for _, tc := range []struct {
		name     string
		launches float64
		total    power.Total
		limit    float64
		want     string
	}{
		{"all well", 790, power.Total{Joules: 500, Uncertainty: 5, Seconds: 10, PowerWatts: 50.1, PowerError: 0.1}, 60, "took 1.27 times"},
		{"faster than the ceiling", 1000, power.Total{Joules: 500, Uncertainty: 5, Seconds: 10}, 0, "above the measured ceiling of 80"},
		{"energy is not power times time", 1000, power.Total{Joules: 500, Uncertainty: 5, Seconds: 10, PowerWatts: 80, PowerError: 0.1}, 0, "not power times time"},
		{"above the limit", 1000, power.Total{Joules: 500, Uncertainty: 5, Seconds: 10}, 45, "a mean power of 50 W is above the power limit of 45 W"},
		{"a reading above the limit", 1000, power.Total{Joules: 500, Uncertainty: 5, Seconds: 10}, 55, "the highest reading, 58 W, is above the power limit of 55 W"},
	} {
		e := &record.Energy{Launches: tc.launches, LimitWatts: tc.limit, MaxWatts: 58}
		if got := strings.Join(c.crossCheck(r, 0, tc.total, e), "; "); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

// What counters saw of DRAM is held against the model where DRAM serves the case: cold buffers, and a working set that no cache holds.
func TestCountedTrafficIsHeldAgainstTheModelWhereDRAMServes(t *testing.T) {
	cfg, _ := toy(t, &fakebackend.Backend{}, "", copies(1)...)
	metered(&cfg, toyMeter(50))
	c := &campaign{cfg: cfg}
	for _, tc := range []struct {
		name, mode, level string
		counted           float64
		warns             bool
	}{
		{"hot in a cache", record.Hot, "L2", 3e6, false}, {"hot from DRAM, as modelled", record.Hot, "DRAM", 1.1e6, false},
		{"hot from DRAM, more", record.Hot, "DRAM", 1.3e6, true}, {"hot from DRAM, less", record.Hot, "DRAM", 0.7e6, true}, {"cold", record.Cold, "", 2e6, true},
	} {
		r := &record.Result{Bytes: 1e6, Mode: tc.mode, Time: &record.Time{MedianNS: 1e7}, Ceiling: &record.ResultCeiling{MemoryLevel: tc.level}}
		counted := record.Known(tc.counted, "counters")
		e := &record.Energy{Launches: 1000, MeasuredBytes: &counted}
		got := strings.Join(c.crossCheck(r, 0, power.Total{Joules: 500, Uncertainty: 5, Seconds: 10}, e), "; ")
		if strings.Contains(got, "the memory controllers moved") != tc.warns {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

// The toy's kernels take no time while they are sustained: the rate that its energy implies is far above the ceiling that was probed.
func TestARunWhoseEnergyImpliesMoreThanTheCeilingSaysSo(t *testing.T) {
	id := "cpu/gemm/fp32/m=16,n=16,k=16/threads=1/hot"
	cfg, _ := toy(t, &fakebackend.Backend{}, t.TempDir(), id)
	metered(&cfg, toyMeter(50))
	r := find(t, mustRun(t, cfg), id)
	if !r.Energy.Known() || r.Ceiling == nil || r.Ceiling.ComputeGFLOPS <= 0 {
		t.Fatalf("energy %+v, ceiling %+v", r.Energy, r.Ceiling)
	}
	implied := r.Metrics.Power.GFLOPSPerWatt * r.Metrics.Power.AvgWatts
	warned := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "above the measured ceiling of") })
	if implied < 2*r.Ceiling.ComputeGFLOPS || !warned {
		t.Errorf("%.4g GFLOPS implied, ceiling %.4g, warnings %q", implied, r.Ceiling.ComputeGFLOPS, r.Warnings)
	}
}
