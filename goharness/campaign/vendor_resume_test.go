package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/ceiling"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// listed is a worker that notes which libraries the arms it measures are computed by.
type listed struct {
	runner.Worker
	current  string
	measured *[]string
}

func (w *listed) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	switch q.Verb {
	case runner.VerbPrepare:
		w.current = ""
		for _, a := range q.Case.Arms {
			w.current += a.Library
		}
	case runner.VerbMeasure:
		*w.measured = append(*w.measured, w.current)
	}
	return w.Worker.Do(ctx, q)
}

// withLibrary is a run of two shapes: of m=3 the library is the baseline, of m=4 ridge's own chain. workers are what each worker measured.
func withLibrary(t *testing.T, dir string, l librarian, ways ...string) (cfg Config, v *view, workers *[]*[]string) {
	t.Helper()
	all, err := fusion.Select(fusion.Builtin(), []string{"Linear_Bias_ReLU"})
	if err != nil {
		t.Fatal(err)
	}
	all[0].DTypes, all[0].Shapes = []record.DType{record.FP32}, nil
	for _, m := range []string{"3", "4"} {
		all[0].Shapes = append(all[0].Shapes, fusion.Shape{Params: map[string]string{"m": m, "k": "5", "n": "7"}, Quick: true})
	}
	l.Backend = &fakebackend.Backend{NS: func(p op.Program, _ string) float64 {
		ns := map[string]float64{"buffers": 100e3, "in place": 90e3, fusion.Fused: 60e3, "in place packed": 90e3, "fused packed": 60e3, "acme packed": 80e3, "acme fused": 70e3}[p.Name]
		if p.Name == "acme packed" && strings.Contains(fmt.Sprint(p.Reference.Params()), "{m 4}") {
			ns = 95e3
		}
		return ns * cmp.Or(l.times, 1)
	}}
	cfg, v = toy(t, l.Backend, dir)
	server := &runner.Server{Backends: []backend.Backend{l}, Ops: op.Builtin(),
		Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(fusion.Builtin(), ref) }}
	workers = &[]*[]string{}
	cfg.Launch = func(ctx context.Context) (runner.Worker, error) {
		w, err := runner.InProcess(server)(ctx)
		mine := &[]string{}
		*workers = append(*workers, mine)
		return &listed{Worker: w, measured: mine}, err
	}
	cfg.Libraries = []backend.LibraryWays{{Name: "acme", Unfused: ways, Fused: []string{"acme fused"}}}
	levels := []ceiling.Level{{Name: "L1", Capacity: 32 << 10}}
	cfg.NoProbes, cfg.Plan = true, plan.Options{Device: "cpu", Threads: 1, Quick: true, Ops: fusion.WithPatterns(op.Builtin(), fusion.Builtin()), Levels: levels, Levels1: levels, ProbesOnly: true, Fusion: all}
	return cfg, v, workers
}

func TestAResumedRunVisitsABaselineOfALibraryAgain(t *testing.T) {
	for name, c := range map[string]struct {
		library librarian
		ways    []string
		visits  int
		warning string
	}{
		"the same library":         {librarian{}, []string{"acme packed"}, 2, ""},
		"one that is gone":         {librarian{missing: "acme is not here"}, []string{"acme packed"}, 1, "its baseline is acme packed: acme is not here"},
		"another version":          {librarian{version: "1.2.30"}, []string{"acme packed"}, 1, "it was acme 1.2.3 fast, there is acme 1.2.30 now"},
		"a way that nobody knows":  {librarian{}, []string{"acme"}, 1, "this build knows no such way"},
		"a run that looks none up": {librarian{}, nil, 1, "looks no library of that name up"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cfg, v, _ := withLibrary(t, dir, librarian{}, "acme packed")
			ctx, stop := context.WithCancel(t.Context())
			v.onStart = func(k record.Case) { // both shapes have had their first visit
				if len(v.started) == 3 {
					stop()
				}
			}
			first, err := Run(ctx, cfg)
			if !errors.Is(err, ErrInterrupted) || len(first.Results) != 2 {
				t.Fatalf("%v, %d results", err, len(first.Results))
			}
			for i, want := range []string{"unfused:acme packed", "unfused:in place"} {
				if r := first.Results[i]; r.Arms[0].Name != want || len(r.Ratio.Visits) > 1 {
					t.Fatalf("%s: baseline %+v, visits %v", r.ID, r.Arms[0].Name, r.Ratio.Visits)
				}
			}
			cfg, v, workers := withLibrary(t, dir, c.library, c.ways...)
			if cfg.Resume = first.RunID; c.ways == nil {
				cfg.Libraries = nil
			}
			doc := mustRun(t, cfg)
			for i, want := range []int{c.visits, 2} {
				r := doc.Results[i]
				if got := max(1, len(r.Ratio.Visits)); got != want {
					t.Errorf("%s has %d visits, want %d", r.ID, got, want)
				}
				if !r.Status.Counts() || r.Arms[0].Name != first.Results[i].Arms[0].Name || !slices.Equal(r.Arms[0].Libraries, first.Results[i].Arms[0].Libraries) ||
					r.VendorFused == nil || r.VendorFused.Ratio != first.Results[i].VendorFused.Ratio || len(r.VendorTried) != 1 || len(r.Candidates) != len(first.Results[i].Candidates) {
					t.Errorf("%s: %+v", r.ID, r)
				}
			}
			for _, w := range v.warned {
				if c.warning == "" || !strings.Contains(w, c.warning) {
					t.Errorf("warned: %s", w)
				}
			}
			if c.warning != "" && len(v.warned) != 1 {
				t.Errorf("%d warnings, want one of %s", len(v.warned), c.warning)
			}
			visits := 0
			for _, w := range *workers {
				for _, lib := range *w {
					if visits++; lib != (*w)[0] {
						t.Errorf("one worker measured %q: the library has one of its own", *w)
					}
				}
			}
			if visits != c.visits {
				t.Errorf("%d visits were made by %v", visits, *workers)
			}
		})
	}
}

// crashing is a worker that a library ends when it computes the shape with m=4.
type crashing struct {
	runner.Worker
	doomed bool
}

func (w *crashing) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	if q.Verb == runner.VerbPrepare {
		w.doomed = q.Case.Program.Params["m"] == "4" && slices.ContainsFunc(q.Case.Arms, func(a record.ProgramRef) bool { return a.Library != "" })
	}
	if w.doomed && q.Verb == runner.VerbMeasure {
		return runner.Reply{}, &runner.CrashError{Signal: "SIGSEGV"}
	}
	return w.Worker.Do(ctx, q)
}

// A library set aside after it was the baseline of a shape would run in ridge's own worker there.
func TestALibraryThatIsSetAsideIsNotVisitedAgain(t *testing.T) {
	cfg, v, workers := withLibrary(t, t.TempDir(), librarian{}, "acme packed")
	launch := cfg.Launch
	cfg.Launch = func(ctx context.Context) (runner.Worker, error) {
		w, err := launch(ctx)
		return &crashing{Worker: w}, err
	}
	doc := mustRun(t, cfg)
	if a, b := doc.Results[0].Ratio, doc.Results[1].Ratio; len(a.Visits) > 1 || len(b.Visits) != 2 || !v.heard("its baseline is acme packed: set aside in this run: crashed") {
		t.Errorf("visits %v and %v, warned %q", a.Visits, b.Visits, v.warned)
	}
	for _, w := range *workers {
		if slices.Contains(*w, "") && slices.ContainsFunc(*w, func(lib string) bool { return lib != "" }) {
			t.Errorf("one worker measured %q", *w)
		}
	}
}
