package campaign

import (
	"slices"
	"strings"
	"testing"

	"ridge/goharness/ceiling"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// packingRun measures one shape of patterns of which two share a linear layer, whose programs take ns by their names.
func packingRun(t *testing.T, ns map[string]float64) record.Calibration {
	t.Helper()
	all, err := fusion.Select(fusion.Builtin(), []string{"Linear_Bias", "Linear_Bias_ReLU", "SwiGLU", "QK_Softmax"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		params := map[string]string{"m": "3", "k": "5", "n": "7"}
		if all[i].Group == "attention" {
			params = map[string]string{"b": "1", "s": "4", "d": "4"}
		}
		all[i].DTypes, all[i].Shapes = []record.DType{record.FP32}, []fusion.Shape{{Params: params, Quick: true}}
	}
	fake := &fakebackend.Backend{NS: func(p op.Program, _ string) float64 {
		return ns[p.Name]
	}}
	cfg, _ := toy(t, fake, t.TempDir())
	server := toyServer(fake)
	server.Ops, server.Patterns = op.Builtin(), func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(fusion.Builtin(), ref) }
	cfg.Launch = runner.InProcess(server)
	levels := []ceiling.Level{{Name: "L1", Capacity: 32 << 10}}
	cfg.NoProbes, cfg.Plan = true, plan.Options{Device: "cpu", Threads: 1, Quick: true, Ops: fusion.WithPatterns(op.Builtin(), fusion.Builtin()), Levels: levels, Levels1: levels, ProbesOnly: true, Fusion: all}
	return mustRun(t, cfg)
}

// The chain of a linear layer has the fused program's layer, that of SwiGLU has layers of its own.
func TestWeightsArePackedBeforehandWhereAPilotShowsThatToBeFaster(t *testing.T) {
	for name, c := range map[string]struct {
		chain, single float64 // ns with packed weights; 90e3 and 50e3 without
		linear, gated [2]bool // whether the two programs have them
	}{
		"both programs are faster":               {60e3, 40e3, [2]bool{true, true}, [2]bool{true, true}},
		"the chain alone":                        {60e3, 50e3, [2]bool{false, false}, [2]bool{true, false}},
		"the fused program alone":                {90e3, 40e3, [2]bool{true, true}, [2]bool{false, true}},
		"neither":                                {90e3, 50e3, [2]bool{}, [2]bool{}},
		"neither by what a copy in memory costs": {89e3, 49.5e3, [2]bool{}, [2]bool{}},
		"both programs are slower":               {95e3, 55e3, [2]bool{}, [2]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := packingRun(t, map[string]float64{"buffers": 100e3, "in place": 90e3, "fused": 50e3, "in place packed": c.chain, "fused packed": c.single})
			profiles, err := record.FusionProfiles(&doc)
			if err != nil || len(profiles[0].Patterns) != 4 {
				t.Fatal(err)
			}
			for i, r := range doc.Results {
				want, forms := c.linear, 1
				unfused, fused := "in place", ""
				switch r.Op {
				case "SwiGLU":
					want = c.gated
				case "QK_Softmax": // no weights
					want, forms, unfused = [2]bool{}, 0, "buffers"
				}
				if want[0] {
					unfused += " packed"
				}
				if want[1] {
					fused = "packed"
				}
				s := profiles[0].Patterns[i].Shapes[0]
				if !r.Status.Counts() || s.CaseID != r.ID || s.Baseline != unfused || s.FusedForm != fused || len(r.FusedCandidates) != forms || len(s.FusedCandidates) != forms {
					t.Errorf("%s: %s %s, baseline %q of %+v, form %q of %+v; want %q and %q", r.ID, r.Status, r.Reason, s.Baseline, r.Candidates, s.FusedForm, r.FusedCandidates, unfused, fused)
				}
				if strings.Contains(s.Explanation, "packed beforehand") != want[1] {
					t.Errorf("%s: %s", r.ID, s.Explanation)
				}
			}
		})
	}
}

func TestPackedWeightsAreTriedOnceOfALayerThatPatternsShare(t *testing.T) {
	doc := packingRun(t, map[string]float64{"buffers": 100e3, "in place": 90e3, "fused": 50e3, "in place packed": 60e3, "fused packed": 40e3})
	var again []string
	for _, r := range doc.Results {
		for _, x := range append(r.FusedCandidates, r.Candidates...) {
			if in, _, ok := strings.Cut(strings.TrimPrefix(x.Reason, "tried in cpu/"), "/"); ok && in != x.Reason {
				again = append(again, r.Op+": "+x.Name+" in "+in)
			}
		}
	}
	want := []string{"Linear_Bias: in place packed in Linear_Bias", "Linear_Bias_ReLU: packed in Linear_Bias", "Linear_Bias_ReLU: in place packed in Linear_Bias"}
	if !slices.Equal(again, want) {
		t.Errorf("not tried again: %q, want %q", again, want)
	}
}

// A resumed run measures the programs that won the pilots then, in the forms that they had.
func TestAResumedComparisonHasTheFormsOfBefore(t *testing.T) {
	k := record.Case{Arms: []record.ProgramRef{{Name: "unfused:buffers"}, {Name: "fused"}}}
	for name, c := range map[string]struct {
		arms []record.Arm
		want []record.ProgramRef
	}{
		"both packed":       {[]record.Arm{{Name: "unfused:in place packed"}, {Name: "fused:packed"}}, []record.ProgramRef{{Name: "unfused:in place packed"}, {Name: "fused:packed"}}},
		"a library's chain": {[]record.Arm{{Name: "unfused:acme packed", Libraries: []string{"acme 1"}}, {Name: "fused:packed"}}, []record.ProgramRef{{Name: "unfused:acme packed", Library: "acme packed"}, {Name: "fused:packed"}}},
		"neither":           {[]record.Arm{{Name: "unfused:in place"}, {Name: "fused"}}, []record.ProgramRef{{Name: "unfused:in place"}, {Name: "fused"}}},
	} {
		got := askedBefore(k, record.Result{Arms: c.arms}).Arms
		for i, w := range c.want {
			if got[i].Name != w.Name || got[i].Library != w.Library {
				t.Errorf("%s: arm %d is %q by %q, want %q by %q", name, i, got[i].Name, got[i].Library, w.Name, w.Library)
			}
		}
	}
}
