//go:build cgo && linux

package campaign

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/ceiling"
	"ridge/goharness/fusion"
	"ridge/goharness/machine"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
)

func TestComparisonsAreVisitedInRoundsAndPooled(t *testing.T) {
	patterns, err := fusion.Select(fusion.Builtin(), []string{"Linear_Bias_ReLU"})
	if err != nil {
		t.Fatal(err)
	}
	patterns[0].Shapes = nil
	for _, params := range oddShapes(patterns[0]) {
		patterns[0].Shapes = append(patterns[0].Shapes, fusion.Shape{Params: params, Quick: true})
	}
	dir := t.TempDir()
	levels := []ceiling.Level{{Name: "L1", Capacity: 32 << 10}}
	server := &runner.Server{Backends: []backend.Backend{native.New()}, Ops: op.Builtin(), Host: NewWorkerHost(machine.Source{}), Affinity: "scatter", Priority: "inherited",
		Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(fusion.Builtin(), ref) }}
	v := &view{}
	cfg := Config{SkipPreflight: true, NoProbes: true, DataDir: dir, Command: []string{"test"}, Affinity: "scatter", Launch: runner.InProcess(server), View: v,
		Plan: plan.Options{Device: "cpu", Threads: 1, Quick: true, Precisions: []record.DType{record.FP32}, Ops: fusion.WithPatterns(op.Builtin(), fusion.Builtin()),
			Levels: levels, Levels1: levels, ProbesOnly: true, Fusion: patterns}}
	// A full run of two tiny shapes: three visits each, or two that leave no doubt, more to what is open.
	cfg.Plan.Quick = false
	doc := mustRun(t, cfg)
	if len(doc.Results) != 2 {
		t.Fatalf("%d results, want 2", len(doc.Results))
	}
	for _, r := range doc.Results {
		sum := 0
		for _, n := range r.Ratio.Visits {
			sum += n
		}
		least := leastVisits
		if measure.Margin(*r.Ratio, fusion.Cuts()) >= wideMargin {
			least = 2
		}
		if len(r.Ratio.Visits) < least || len(r.Ratio.Visits) > measure.MaxVisits || sum != len(r.Ratio.Quartets) {
			t.Errorf("%s: visits %v of %d quartets", r.ID, r.Ratio.Visits, len(r.Ratio.Quartets))
		}
		for _, a := range r.Arms {
			if len(a.Time.SamplesNS) != 2*sum {
				t.Errorf("%s: %s has %d samples of %d quartets", r.ID, a.Name, len(a.Time.SamplesNS), sum)
			}
		}
		if settled := measure.Settled(*r.Ratio, fusion.Cuts(), false); settled != (r.Status == record.OK) || !settled && len(r.Ratio.Visits) < measure.MaxVisits {
			t.Errorf("%s is %s after visits %v, settled %v", r.ID, r.Status, r.Ratio.Visits, settled)
		}
	}
	if len(v.results) != 2 || len(v.started) < 2*2 {
		t.Errorf("%d results shown, %d starts: expected each result once and each visit's start", len(v.results), len(v.started))
	}

	// The journal's last word is the pooled result, and a run that is resumed has nothing left to visit.
	cfg.Resume, v.started = JournalPath(dir, doc.RunID), nil
	again := mustRun(t, cfg)
	for i, r := range again.Results {
		if len(r.Ratio.Quartets) < len(doc.Results[i].Ratio.Quartets) {
			t.Errorf("%s: %d quartets from the journal, %d were measured", r.ID, len(r.Ratio.Quartets), len(doc.Results[i].Ratio.Quartets))
		}
		if doc.Results[i].Status == record.OK && len(r.Ratio.Quartets) != len(doc.Results[i].Ratio.Quartets) {
			t.Errorf("%s was settled and was measured again", r.ID)
		}
	}
}

// What workers do beside measuring (sampling a program's phases) takes nothing from the cases: the run may last so much longer.
func TestWhatIsDoneBesideMeasuringDoesNotShrinkTheCases(t *testing.T) {
	began := time.Unix(1000, 0)
	budgetAfter := func(beside, spent time.Duration) int64 {
		c := &campaign{started: began, plan: plan.Plan{Cases: make([]record.Case, 100)}}
		c.cfg = Config{Beside: beside, Now: func() time.Time { return began.Add(spent) }}
		c.cfg.Plan.Quick = true
		return c.budget(record.Case{BudgetNS: 1e9}, 50)
	}
	if got := budgetAfter(0, 65*time.Second); got > 300e6 {
		t.Errorf("late: %d of 10⁹ ns", got)
	}
	if got := budgetAfter(500*time.Millisecond, 62500*time.Millisecond); got != 1e9 {
		t.Errorf("as late as the sampling takes: %d of 10⁹ ns", got)
	}
}

func TestAGivenTargetIsTheTimeOfTheRun(t *testing.T) {
	began := time.Unix(1000, 0)
	for _, tc := range []struct {
		name         string
		quick        bool
		target, want time.Duration
	}{
		{"none", false, 0, fullFusion}, {"none, quick", true, 0, quickFusion},
		{"more", false, time.Hour, time.Hour}, {"less", false, time.Minute, time.Minute}, {"quick", true, 5 * time.Minute, 5 * time.Minute},
	} {
		c := &campaign{started: began}
		c.cfg = Config{Target: tc.target, Now: func() time.Time { return began.Add(time.Second) }}
		c.cfg.Plan.Quick, c.cfg.Plan.ProbesOnly = tc.quick, true
		if got := c.timeLeft(); got != tc.want-time.Second {
			t.Errorf("%s: %v left after a second, want %v", tc.name, got, tc.want-time.Second)
		}
	}
}

// Short of time, the open comparisons that need least come first and the hopeless are left out; with time for none, all keep their turn.
func TestTheTimeLeftGoesToWhatItCanSettle(t *testing.T) {
	began := time.Unix(1000, 0)
	shape := func(id string, value, half float64, visits int, took time.Duration) (piloted, record.Result, time.Duration) {
		r := record.Result{ID: id, Ratio: &record.Ratio{Value: value, CI95: [2]float64{value * (1 - half), value * (1 + half)}, Visits: make([]int, visits)}}
		return piloted{Case: record.Case{ID: id, Cuts: []float64{0.95, 1.1, 1.5}}}, r, took
	}
	for _, tc := range []struct {
		name string
		left time.Duration
		want []string
	}{
		{"plenty", time.Minute, []string{"nearly", "far", "slow", "at the cut"}},
		{"for the hopeful", 8 * time.Second, []string{"nearly", "far", "slow"}},
		{"for all but the slow", 6 * time.Second, []string{"nearly", "far", "at the cut"}},
		{"for one", 2 * time.Second, []string{"nearly"}},
		{"for none", 100 * time.Millisecond, []string{"nearly", "far", "slow", "at the cut"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &campaign{started: began, done: map[string]record.Result{}, took: map[string]time.Duration{}}
			c.cfg.Plan.ProbesOnly = true
			c.cfg.Now = func() time.Time { return began.Add(fullFusion - tc.left) }
			var due []piloted
			add := func(p piloted, r record.Result, took time.Duration) {
				due, c.done[p.ID], c.took[p.ID] = append(due, p), r, took
			}
			add(shape("at the cut", 1.1001, 0.02, 3, time.Second/4)) // never: nine more visits
			add(shape("slow", 1.02, 0.073, 3, 4*time.Second))        // one more
			add(shape("far", 1.07, 0.035, 3, time.Second))           // two
			add(shape("nearly", 1.05, 0.05, 3, time.Second))         // one
			var got []string
			for _, p := range c.promising(due) {
				got = append(got, p.ID)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestAVisitSamplesAsLongAsItTakesAroundThat(t *testing.T) {
	for _, tc := range []struct {
		first, most int64
		around      time.Duration
		want        int64
	}{
		{30e6, 500e6, 200 * time.Millisecond, 200e6},
		{300e6, 500e6, 200 * time.Millisecond, 300e6}, // the first had more
		{30e6, 100e6, 200 * time.Millisecond, 100e6},  // the plan's
		{30e6, 500e6, -time.Millisecond, 30e6},        // a clock that does not show it
	} {
		if got := visitBudget(tc.first, tc.most, tc.around); got != tc.want {
			t.Errorf("first %d, most %d, %v around it: %d, want %d", tc.first, tc.most, tc.around, got, tc.want)
		}
	}
}

func TestComparisonsThatWereVisitedOnceAreWarnedOf(t *testing.T) {
	c := &campaign{done: map[string]record.Result{}}
	for id, visits := range map[string][]int{"once": nil, "twice": {4, 4}} {
		c.plan.Cases = append(c.plan.Cases, record.Case{ID: id, Baselines: []string{"buffers"}})
		c.done[id] = record.Result{ID: id, Status: record.OK, Ratio: &record.Ratio{Visits: visits}}
	}
	if got := c.singleVisits(); len(got) != 1 || !strings.HasPrefix(got[0], "1 of 2 comparisons were visited once") {
		t.Errorf("%q", got)
	}
	delete(c.done, "once")
	if got := c.singleVisits(); len(got) != 0 {
		t.Errorf("%q of what was not measured", got)
	}
}
