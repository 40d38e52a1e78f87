package campaign

import (
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

// packingRun measures one shape of two patterns that share a linear layer, whose programs take ns by their names.
func packingRun(t *testing.T, ns map[string]float64) record.Calibration {
	t.Helper()
	all, err := fusion.Select(fusion.Builtin(), []string{"Linear_Bias", "Linear_Bias_ReLU", "QK_Softmax"})
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

func TestWeightsArePackedBeforehandWhereAPilotShowsThatToBeFaster(t *testing.T) {
	for name, c := range map[string]struct {
		unfused, fused string // arms
		chain, single  float64
	}{
		"both programs are faster": {"unfused:in place packed", "fused:packed", 60e3, 40e3},
		"the chain alone":          {"unfused:in place packed", "fused", 60e3, 50e3},
		"the fused program alone":  {"unfused:in place", "fused:packed", 90e3, 40e3},
		"neither is shown to be":   {"unfused:in place", "fused", 90e3, 50e3},
		"both programs are slower": {"unfused:in place", "fused", 95e3, 55e3},
	} {
		t.Run(name, func(t *testing.T) {
			ns := map[string]float64{"buffers": 100e3, "in place": 90e3, "fused": 50e3, "in place packed": c.chain, "fused packed": c.single}
			doc := packingRun(t, ns)
			for _, r := range doc.Results {
				unfused, fused := c.unfused, c.fused
				if r.Op == "QK_Softmax" { // no weights
					unfused, fused = "unfused:buffers", "fused"
				}
				if !r.Status.Counts() || r.Arms[0].Name != unfused || r.Arms[1].Name != fused {
					t.Fatalf("%s: %s %s, arms %+v, want %s and %s", r.ID, r.Status, r.Reason, r.Arms, unfused, fused)
				}
				if n := len(r.FusedCandidates); n != 1 && r.Op != "QK_Softmax" || n > 0 && r.Op == "QK_Softmax" {
					t.Errorf("%s: forms of the fused program %+v", r.ID, r.FusedCandidates)
				}
			}
			profiles, err := record.FusionProfiles(&doc)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range profiles[0].Patterns {
				s := p.Shapes[0]
				packed := p.Pattern != "QK_Softmax" && c.fused == "fused:packed"
				if (s.FusedForm == fusion.Packed) != packed || strings.Contains(s.Explanation, "packed beforehand") != packed {
					t.Errorf("%s: form %q, %s", p.Pattern, s.FusedForm, s.Explanation)
				}
				if _, want, _ := strings.Cut(c.unfused, ":"); p.Pattern != "QK_Softmax" && s.Baseline != want {
					t.Errorf("%s: baseline %q, want %q", p.Pattern, s.Baseline, want)
				}
			}
		})
	}
}

// Linear_Bias and Linear_Bias_ReLU have one linear layer.
func TestPackedWeightsAreTriedOnceOfALayerThatPatternsShare(t *testing.T) {
	doc := packingRun(t, map[string]float64{"buffers": 100e3, "in place": 90e3, "fused": 50e3, "in place packed": 60e3, "fused packed": 40e3})
	var again []string
	for _, r := range doc.Results {
		for _, x := range append(r.FusedCandidates, r.Candidates...) {
			if strings.HasPrefix(x.Reason, "tried in ") {
				again = append(again, r.Op+" "+x.Name+" "+x.Reason)
			}
		}
	}
	if len(again) != 2 || !strings.HasPrefix(again[0], "Linear_Bias_ReLU packed tried in cpu/Linear_Bias/") || !strings.HasPrefix(again[1], "Linear_Bias_ReLU in place packed tried in cpu/Linear_Bias/") {
		t.Errorf("not tried again: %q", again)
	}
}
