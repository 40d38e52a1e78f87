//go:build cgo && linux

package campaign

import (
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
	// A full run of two tiny shapes: three visits each, more to what is open.
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
		if len(r.Ratio.Visits) < leastVisits || len(r.Ratio.Visits) > measure.MaxVisits || sum != len(r.Ratio.Quartets) {
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
	if len(v.results) != 2 || len(v.started) < 2*leastVisits {
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
