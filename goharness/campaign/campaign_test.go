package campaign

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

func TestACampaignGivesAValidDocument(t *testing.T) {
	cfg, _ := toy(t, &fakebackend.Backend{}, t.TempDir())
	cfg.Plan.Operations, cfg.Plan.Memory = []string{"stream", "gemm", "copy"}, 256<<10
	doc := mustRun(t, cfg)
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Validate(data); err != nil {
		t.Fatal(err)
	}
	if !doc.Summary.Complete || doc.Summary.Counts[record.OK] == 0 || doc.Summary.Counts[record.Unsupported] == 0 || doc.Summary.Counts[record.Skipped] == 0 {
		t.Errorf("summary %+v", doc.Summary)
	}
	seen := map[string]bool{}
	for _, r := range doc.Results {
		if seen[r.ID] {
			t.Errorf("%s stands twice in the document", r.ID)
		}
		seen[r.ID] = true
		if r.Status == record.OK && r.Reproduce != "ridge bench --case '"+r.ID+"' --quick" {
			t.Errorf("%s: reproduce %q", r.ID, r.Reproduce)
		}
	}
	for _, c := range doc.Ceilings {
		// The toy's last-level cache is unknown: its DRAM ceilings say so.
		measured := c.Measured.Value > 0
		if c.Level == "DRAM" {
			measured = strings.Contains(c.Measured.Unavailable, "last-level cache is unknown")
		}
		if !measured || c.Diagnosis == "" || c.Theoretical.Unavailable == "" {
			t.Errorf("ceiling %+v", c)
		}
	}
}

// Trap 8, 18 and the known-traffic check: a copy of known bytes in a known time.
func TestEveryBandwidthFieldFollowsFromBytesAndTime(t *testing.T) {
	const id = "cpu/stream_copy/fp32/n=1024/threads=1/hot" // 8192 bytes, 163.84 ns at 50 GB/s
	b := &fakebackend.Backend{NS: func(p op.Program, k string) float64 {
		if p.Name == "stream_copy" {
			return 320 // 25.6 GB/s
		}
		return toyNS(p, k)
	}}
	cfg, _ := toy(t, b, "", id)
	r := find(t, mustRun(t, cfg), id)
	if r.Status != record.OK || r.Metrics == nil || r.Metrics.Bandwidth == nil {
		t.Fatalf("%s %s, metrics %+v", r.Status, r.Reason, r.Metrics)
	}
	m := r.Metrics.Bandwidth
	for name, pair := range map[string][2]float64{
		"bytes": {float64(r.Bytes), 8192}, "median_ns": {r.Time.MedianNS, 320}, "bandwidth_gbps": {r.BandwidthGBps, 25.6},
		"avg_bandwidth_gbps": {m.AvgGBps, 25.6}, "peak_bandwidth_gbps": {m.PeakGBps, 25.6},
		"bandwidth_utilization_percent": {m.UtilizationPercent, 51.2}, "memory_transfers_gb": {m.TransfersGB, 8192e-9},
		"arithmetic_intensity": {m.Intensity, 0}, "memory_gbps": {r.Ceiling.MemoryGBps, 50}, "fraction": {r.Ceiling.Fraction, 0.512},
	} {
		if math.Abs(pair[0]-pair[1]) > 0.005*pair[1] {
			t.Errorf("%s = %v, want %v", name, pair[0], pair[1])
		}
	}
	if m.Traffic != "modelled" || m.PeakSource != "measured" || r.Ceiling.MemoryLevel != "L1-L2" || r.Ceiling.Bound != "memory" {
		t.Errorf("%+v, %+v", m, r.Ceiling)
	}
}

func TestResultsAboveTheirLimitAreInvalidAfterTheProbeWasRepeated(t *testing.T) {
	const id = "cpu/transpose/fp32/rows=64,cols=64/threads=1/hot"
	for _, tc := range []struct {
		name   string
		change func(b *fakebackend.Backend)
		status record.Status
		probes int
	}{
		{"a transpose in the time of a view", func(b *fakebackend.Backend) {
			b.NS = func(p op.Program, k string) float64 {
				if p.Name == "transpose" {
					return 10
				}
				return toyNS(p, k)
			}
		}, record.Invalid, 3},
		{"a probe that a neighbour had slowed", func(b *fakebackend.Backend) {
			slow := true
			b.NS = func(p op.Program, k string) float64 {
				if p.Name == "transpose" {
					slow = false
				} else if slow {
					return 3 * toyNS(p, k)
				}
				return toyNS(p, k)
			}
		}, record.OK, 2},
		{"a case measured in a faster moment than every probe", func(b *fakebackend.Backend) {
			lucky := 0 // calls; the first measurement of the case ends when a probe runs again
			b.NS = func(p op.Program, k string) float64 {
				if p.Name == "transpose" && lucky < 2 {
					lucky = 1
					return toyNS(p, k) / 3
				}
				if lucky == 1 {
					lucky = 2
				}
				return toyNS(p, k)
			}
		}, record.OK, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := &fakebackend.Backend{}
			tc.change(b)
			cfg, v := toy(t, b, "", id)
			doc := mustRun(t, cfg)
			r := find(t, doc, id)
			if r.Status != tc.status || !v.heard("repeating the probe") {
				t.Fatalf("%s %q, warnings %q", r.Status, r.Reason, v.warned)
			}
			most := 0
			for _, c := range doc.Ceilings {
				most = max(most, len(c.Probes))
				for i, p := range c.Probes {
					if want := map[bool]string{true: "initial", false: "reprobe"}[i == 0]; p.Why != want || p.Time == "" {
						t.Errorf("probe %d of %+v: %+v", i, c.Key(), p)
					}
				}
			}
			if most != tc.probes {
				t.Errorf("%d probes of one ceiling, want %d", most, tc.probes)
			}
			faults := Faults(doc)
			if (len(faults) == 1) != (tc.status == record.Invalid) {
				t.Errorf("faults %q decide the exit code", faults)
			}
			if best := doc.Summary.Suites["memory"].BestGFLOPS; best != 0 {
				t.Errorf("counted: %v", best)
			}
		})
	}
}

func TestATransposeThatIsOnlyAViewIsWrongAndNeverTimed(t *testing.T) {
	const id = "cpu/transpose/fp32/rows=64,cols=64/threads=1/hot"
	b := &fakebackend.Backend{Fault: map[string]string{"transpose_fast": fakebackend.View, "transpose_plain": fakebackend.View}}
	cfg, _ := toy(t, b, "", id)
	doc := mustRun(t, cfg)
	r := find(t, doc, id)
	if r.Status != record.Wrong || r.Time != nil || len(Faults(doc)) != 1 {
		t.Errorf("%s, time %v, faults %q", r.Status, r.Time, Faults(doc))
	}
}

func TestAWrongKernelIsReplacedSetAsideAndReported(t *testing.T) {
	b := &fakebackend.Backend{Fault: map[string]string{"stream_copy_fast": fakebackend.Wrong}}
	cfg, v := toy(t, b, "", copies(2)...)
	doc := mustRun(t, cfg)
	for i, id := range copies(2) {
		r := find(t, doc, id)
		if r.Status != record.OK || r.Kernel != "stream_copy_plain" || len(r.Attempts) != 1-i {
			t.Errorf("%s: %s by %s, attempts %+v", id, r.Status, r.Kernel, r.Attempts)
		}
	}
	if f := Faults(doc); len(f) != 1 || !strings.Contains(f[0], "stream_copy_fast is wrong") || !v.heard("set aside") {
		t.Errorf("faults %q, warnings %q", f, v.warned)
	}
}

// Trap 10: the count that a peak's accumulators prove gives a folded loop away.
func TestAPeakThatRunsAQuarterOfItsInstructionsIsNoCeiling(t *testing.T) {
	b := &fakebackend.Backend{Fault: map[string]string{"peak_fast": fakebackend.Quarter, "peak_plain": fakebackend.Quarter},
		NS: func(p op.Program, k string) float64 {
			if p.Name == "peak" {
				return toyNS(p, k) / 4
			}
			return toyNS(p, k)
		}}
	cfg, _ := toy(t, b, "", "cpu/gemm/fp32/m=8,n=8,k=8/threads=1/hot")
	doc := mustRun(t, cfg)
	for _, c := range doc.Ceilings {
		if c.Kind == record.CeilingCompute && (c.Measured.Value != 0 || !strings.HasPrefix(c.Measured.Unavailable, "wrong: ") || len(c.Probes) != 0) {
			t.Errorf("the folded probe gave %+v", c.Measured)
		}
	}
	if r := find(t, doc, cfg.Cases[0].ID); r.Ceiling.Bound != "unknown" || r.Ceiling.ComputeGFLOPS != 0 {
		t.Errorf("GEMM stands against %+v", r.Ceiling)
	}
	if len(Faults(doc)) == 0 {
		t.Error("a wrong probe does not fail the run")
	}
}

func TestMainProbesAreRepeatedNextToTheCasesTheyJudge(t *testing.T) {
	b := &fakebackend.Backend{NS: func(p op.Program, k string) float64 {
		if p.Name == "peak" && slices.Contains(p.Reference.Params(), record.Param{Name: "isa", Value: "sse2"}) {
			return 2 * toyNS(p, k)
		}
		return toyNS(p, k)
	}}
	cfg, _ := toy(t, b, "", copies(40)...)
	cfg.Plan.Peaks = []plan.Peak{{ISA: "portable", DType: record.FP32}, {ISA: "portable", DType: record.FP64}, {ISA: "sse2", DType: record.FP32}}
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	began := clock
	cfg.Now = func() time.Time { return clock }
	var cases bool
	var probing time.Duration
	b.Before = func(p op.Program) { // every measurement takes its time
		took := time.Second
		if p.Name != "stream_copy" {
			if took = 200 * time.Millisecond; cases {
				probing += took
			}
		}
		cases = cases || p.Name == "stream_copy"
		clock = clock.Add(took)
	}
	doc := mustRun(t, cfg)
	var counts []int
	for _, c := range doc.Ceilings {
		periodic := 0
		for _, p := range c.Probes {
			if p.Why == "periodic" {
				periodic++
			}
		}
		if main := c.Kind == record.CeilingCompute && c.ISA == "portable"; main != (periodic > 0) {
			t.Errorf("%+v: %d periodic probes", c.Key(), periodic)
		}
		if periodic > 0 {
			counts = append(counts, periodic)
		}
	}
	if len(counts) != 2 || counts[0] < 2 || max(counts[0], counts[1])-min(counts[0], counts[1]) > 1 {
		t.Errorf("the main probes were repeated %v times: they should take turns", counts)
	}
	if share := probing.Seconds() / clock.Sub(began).Seconds(); share > 0.07 {
		t.Errorf("repeated probes took %.0f %% of the run", 100*share)
	}
}

func TestCasesNeverOverlapInTime(t *testing.T) {
	cfg, _ := toy(t, &fakebackend.Backend{}, "", copies(8)...)
	var end time.Time
	for _, r := range mustRun(t, cfg).Results {
		start, err := time.Parse(time.RFC3339Nano, r.Started)
		if err != nil {
			t.Fatal(err)
		}
		if start.Before(end.Add(-time.Millisecond)) { // two clocks: wall time starts, monotonic time lasts
			t.Errorf("%s began %v before the case before it ended", r.ID, end.Sub(start))
		}
		end = start.Add(time.Duration(r.WallNS))
	}
}

func TestAnInterruptionKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ids := copies(6)
	b := &fakebackend.Backend{Before: func(p op.Program) {
		if p.Name == "stream_copy" && p.Reference.Items() == 103 {
			cancel() // in the middle of the fourth case
		}
	}}
	dir := t.TempDir()
	cfg, _ := toy(t, b, dir, ids...)
	doc, err := Run(ctx, cfg)
	if !errors.Is(err, ErrInterrupted) || !Interrupted(err) || !strings.Contains(err.Error(), ids[3]) {
		t.Fatalf("error %v", err)
	}
	if doc.Summary.Complete || doc.Results[len(doc.Results)-1].ID != ids[2] {
		t.Errorf("complete %v, last result %s", doc.Summary.Complete, doc.Results[len(doc.Results)-1].ID)
	}
	log, err := record.Open(JournalPath(dir, doc.RunID))
	if err != nil {
		t.Fatal(err)
	}
	if end := log.End(); end == nil || end.Complete || end.Reason == "" || len(log.Results()) != len(doc.Results) {
		t.Errorf("journal: end %+v, %d results of %d", end, len(log.Results()), len(doc.Results))
	}
	b.Before = nil
	cfg, _ = toy(t, b, dir, ids...)
	cfg.Resume = doc.RunID
	again := mustRun(t, cfg)
	if again.RunID != doc.RunID || again.Summary.Resumed != len(doc.Results) || !again.Summary.Complete {
		t.Errorf("resumed %d of %d in run %s", again.Summary.Resumed, len(doc.Results), again.RunID)
	}
	for i, id := range ids {
		if got := again.Results[len(again.Results)-len(ids)+i].ID; got != id {
			t.Errorf("case %d is %s, want %s", i, got, id)
		}
	}
}

// startedAt is a worker that holds the deadline of its requests, of a minute, against when it had started.
type startedAt struct {
	runner.Worker
	t  *testing.T
	at time.Time
}

func (w startedAt) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	if end, ok := ctx.Deadline(); !ok || end.Before(w.at.Add(time.Minute)) {
		w.t.Errorf("%s: a deadline %v after the start, want a minute", q.Verb, end.Sub(w.at))
	}
	return w.Worker.Do(ctx, q)
}

// A worker that starts slowly costs time, and no case: its start is not in the deadline.
func TestTheStartOfTheWorkerIsNotInTheDeadline(t *testing.T) {
	b := &fakebackend.Backend{Platform: "cpu"}
	r := &runner.Runner{Launch: func(ctx context.Context) (runner.Worker, error) {
		if end, ok := ctx.Deadline(); ok {
			t.Errorf("the worker must have started in %v", time.Until(end))
		}
		w, err := runner.InProcess(toyServer(b))(ctx)
		time.Sleep(time.Millisecond)
		return startedAt{w, t, time.Now()}, err
	}, Deadline: func(runner.Request, record.Case, *runner.Prepared) time.Duration { return time.Minute }}
	defer r.Close()
	cfg, _ := toy(t, b, "", copies(1)...)
	res, err := r.Run(context.Background(), cfg.Cases[0])
	if err != nil || res.Status != record.OK {
		t.Errorf("%s %s %v", res.Status, res.Reason, err)
	}
}

func TestConditionsAreNeverBlank(t *testing.T) {
	cfg, _ := toy(t, &fakebackend.Backend{IdleGHz: 3.7, LoadedGHz: 2.9}, "", copies(1)...)
	doc := mustRun(t, cfg)
	c := find(t, doc, copies(1)[0]).Conditions
	for name, f := range map[string]record.Fact[float64]{"before": c.ClockBeforeGHz, "after": c.ClockAfterGHz} {
		if v, ok := f.Get(); !ok || v != 3.7 {
			t.Errorf("clock %s: %+v", name, f)
		}
	}
	if v, _ := doc.Host.CPU.Clock.LoadedGHz.Get(); v != 2.9 {
		t.Errorf("clock under load %v", v)
	}
	// Every fact of the conditions has a value or a reason.
	for v, i := reflect.ValueOf(*c), 0; i < v.NumField(); i++ {
		f := v.Field(i)
		if f.Kind() != reflect.Struct { // the facts are the structs among the fields
			continue
		}
		if f.FieldByName("Value").IsNil() && f.FieldByName("Unavailable").String() == "" {
			t.Errorf("%s has neither a value nor a reason", v.Type().Field(i).Name)
		}
	}
	tm := find(t, doc, copies(1)[0]).Time
	if len(tm.SamplesNS) == 0 || tm.CI95NS[0] > tm.MedianNS || tm.CI95NS[1] < tm.MedianNS || tm.CI95NS[0] == 0 {
		t.Errorf("a time without spread: %+v", tm)
	}
}

func TestTheCommandThatMeasuresAgainRepeatsEffortAndAffinity(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string // behind the case
	}{
		{"default", func(*Config) {}, " --quick"},
		{"scatter is the default", func(c *Config) { c.Affinity = "scatter" }, " --quick"},
		{"compact", func(c *Config) { c.Affinity = "compact" }, " --quick --affinity compact"},
		{"a list", func(c *Config) { c.Affinity = "0" }, " --quick --affinity 0"},
		{"counts", func(c *Config) { c.Cases[0].Warmup, c.Cases[0].Trials = 2, 5 }, " --quick --warmup 2 --trials 5"},
	} {
		cfg, _ := toy(t, &fakebackend.Backend{}, t.TempDir(), copies(1)...)
		tc.change(&cfg)
		r := find(t, mustRun(t, cfg), copies(1)[0])
		if want := "ridge bench --case '" + r.ID + "'" + tc.want; r.Reproduce != want {
			t.Errorf("%s: %q, want %q", tc.name, r.Reproduce, want)
		}
	}
}
