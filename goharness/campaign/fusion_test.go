//go:build cgo && linux

package campaign

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/ceiling"
	"ridge/goharness/fusion"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
	"ridge/native/kerneltest"
)

// oddShapes are small shapes with remainders everywhere, by group.
func oddShapes(p fusion.Pattern) []map[string]string {
	switch {
	case p.Group == "linear":
		return []map[string]string{{"m": "1", "k": "7", "n": "5"}, {"m": "37", "k": "129", "n": "67"}}
	case p.Group == "attention":
		return []map[string]string{{"b": "3", "s": "17", "d": "9"}, {"b": "2", "s": "65", "d": "128"}}
	case p.Group == "norm" || p.Group == "elementwise":
		return []map[string]string{{"rows": "1", "cols": "1"}, {"rows": "7", "cols": "203"}, {"rows": "3", "cols": "1056"}}
	case strings.HasPrefix(p.Name, "Depthwise"):
		return []map[string]string{{"n": "2", "c": "19", "k": "19", "hw": "13", "r": "3"}, {"n": "1", "c": "33", "k": "33", "hw": "9", "r": "5", "layout": "nhwc"}}
	}
	return []map[string]string{{"n": "2", "c": "5", "k": "19", "hw": "13", "r": "3"}, {"n": "1", "c": "16", "k": "33", "hw": "9", "r": "1", "layout": "nhwc"}}
}

func openCPU(t *testing.T) backend.Device {
	t.Helper()
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

// prepares: this CPU has kernels for all steps of the program.
func prepares(t *testing.T, dev backend.Device, p op.Program) bool {
	t.Helper()
	e, err := dev.Prepare(p, backend.PrepareOptions{Seed: 1})
	if err != nil && !backend.IsUnsupported(err) {
		t.Fatal(err)
	}
	if err == nil {
		_ = e.Release()
	}
	return err == nil
}

func TestBothProgramsOfEveryPatternMeetTheExpectation(t *testing.T) {
	dev, withPacked := openCPU(t), map[string]bool{}
	for _, p := range fusion.Builtin() {
		for _, d := range p.DTypes {
			shapes := oddShapes(p)
			if testing.Short() {
				shapes = shapes[:1] // verification in Go takes its time under the race detector
			}
			for _, params := range shapes {
				ref := record.ProgramRef{Op: p.Name, Pattern: p.Name, DType: d, Params: params}
				spec, _ := fusion.Specs(fusion.Builtin()).Spec(p.Name)
				names, err := spec.Candidates(params, d)
				if err != nil {
					t.Fatal(err)
				}
				arms := []string{fusion.Fused}
				for _, n := range names {
					arms = append(arms, fusion.Unfused+":"+n)
				}
				for _, arm := range slices.Clone(arms) {
					ref.Name = arm
					form, ok, err := fusion.PackedForm(fusion.Builtin(), ref)
					if err != nil {
						t.Fatal(err)
					}
					if ok {
						arms = append(arms, form.Name)
					}
				}
				for _, arm := range arms {
					ref.Name = arm
					prog, err := fusion.Program(fusion.Builtin(), ref)
					if err != nil {
						t.Fatal(err)
					}
					if strings.HasSuffix(arm, fusion.Packed) {
						if !prepares(t, dev, prog) {
							continue
						}
						withPacked[p.Name] = true
					}
					if v := kerneltest.Program(t, dev, prog); !v.Passed || !v.Repeatable {
						t.Errorf("%s %s %v, %s: %+v", p.Name, d, params, arm, v.Mismatch)
					}
				}
			}
		}
	}
	for _, name := range []string{"Linear_Bias_GELU", "SwiGLU", "MLP"} { // whose fp32 kernels of every instruction set but the portable one pack weights
		if !withPacked[name] {
			t.Errorf("no program of %s had its weights packed", name)
		}
	}
}

// Every operand counts: a step that reads another tensor of the same shape in its place must fail.
func TestAWrongOperandIsFound(t *testing.T) {
	dev := openCPU(t)
	for _, p := range fusion.Builtin() {
		if p.Group == "linear" || p.Group == "attention" {
			continue
		}
		for _, d := range p.DTypes {
			params := oddShapes(p)[1]
			if p.Group == "conv" {
				params = map[string]string{"n": "1", "c": "9", "k": "9", "hw": "5", "r": "3"} // x and residual have one shape
			}
			for _, arm := range []string{fusion.Fused, fusion.Unfused} {
				ref := record.ProgramRef{Op: p.Name, Pattern: p.Name, DType: d, Params: params, Name: arm}
				prog, err := fusion.Program(fusion.Builtin(), ref)
				if err != nil {
					t.Fatal(err)
				}
				for s, step := range prog.Steps {
					for i, x := range step.Op.Tensors() {
						for _, other := range prog.Tensors {
							if x.Role != op.In || other.Role != op.In || other.Name == step.Bind[i] || other.DType != x.DType || other.Elements() != x.Elements() {
								continue
							}
							wrong := prog
							wrong.Steps = append([]op.Step(nil), prog.Steps...)
							bind := append([]string(nil), step.Bind...)
							bind[i] = other.Name
							wrong.Steps[s].Bind = bind
							if v := kerneltest.Program(t, dev, wrong); v.Passed {
								t.Errorf("%s %s %s: step %s passes with %s for %s", p.Name, d, arm, step.Op.Name(), other.Name, step.Bind[i])
							}
						}
					}
				}
			}
		}
	}
}

// Trap 3: a fold that leaves out a part of the batch norm must show, so none of its parts may be trivial.
func TestAWrongFoldOfBatchNormIsFound(t *testing.T) {
	dev := openCPU(t)
	for _, name := range []string{"Conv2d_BN", "Conv2d_BN_ReLU", "Conv2d_BN_Add_ReLU", "DepthwiseConv2d_BN_ReLU"} {
		for _, d := range []record.DType{record.FP32, record.BF16} {
			findWrongFolds(t, dev, record.ProgramRef{Op: name, Pattern: name, DType: d, Name: fusion.Fused,
				Params: map[string]string{"n": "2", "c": "19", "k": "19", "hw": "13", "r": "3"}})
		}
	}
}

func findWrongFolds(t *testing.T, dev backend.Device, ref record.ProgramRef) {
	t.Helper()
	for _, leave := range []string{"", "gamma", "beta", "mean", "variance", "bias"} {
		p, err := fusion.Program(fusion.Builtin(), ref)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range p.Tensors {
			if x.Role != op.Derived {
				continue
			}
			vector, without := x.Dims, leave
			right := x.Derive
			// The tensor that is left out reads as the value that makes it trivial: 1 where it scales, else 0.
			p.Tensors[i].Derive = func(in *op.Inputs, n int64) float64 {
				at, ch := -1, n
				for j, name := range x.DeriveFrom {
					if name == without {
						at = j
					}
				}
				if at < 0 {
					return right(in, n)
				}
				if len(vector) > 1 {
					ch = n / (x.Elements() / vector[0])
				}
				value := right(in, n)
				k := in.At(1, ch) / math.Sqrt(in.At(4, ch)+op.NormEps)
				switch without {
				case "gamma":
					return value / in.At(1, ch)
				case "beta":
					if len(vector) == 1 {
						return value - in.At(2, ch)
					}
				case "mean":
					if len(vector) == 1 {
						return value + in.At(3, ch)*k
					}
				case "variance":
					return value * math.Sqrt(in.At(4, ch)+op.NormEps)
				case "bias":
					if len(vector) == 1 {
						return value - in.At(0, ch)*k
					}
				}
				return value
			}
		}
		if v := kerneltest.Program(t, dev, p); v.Passed != (leave == "") {
			t.Errorf("%s %s without %q: passed %v", ref.Pattern, ref.DType, leave, v.Passed)
		}
	}
}

func TestPilotsOfShortLaunchesHaveMoreQuartets(t *testing.T) {
	for _, tc := range []struct {
		launch           time.Duration // by the ceilings
		quick            bool
		quartets, warmup int
	}{
		{0, false, 5, 3}, // not known
		{0, true, 3, 3},
		{5 * time.Microsecond, false, 20, 3},
		{5 * time.Microsecond, true, 5, 3},
		{time.Millisecond, false, 10, 3},
		{10 * time.Millisecond, false, 5, 3},
		{10 * time.Millisecond, true, 3, 3},
		{20 * time.Millisecond, false, 4, 1},
		{20 * time.Millisecond, true, 3, 1},
		{time.Second, false, 2, 1},
	} {
		if q, w := pilotLength(float64(tc.launch), tc.quick); q != tc.quartets || w != tc.warmup {
			t.Errorf("launches of %v, quick %v: %d quartets after %d launches, want %d after %d", tc.launch, tc.quick, q, w, tc.quartets, tc.warmup)
		}
	}
}

func TestAFusionCampaignGivesAProfile(t *testing.T) {
	patterns, err := fusion.Select(fusion.Builtin(), []string{"Linear_Bias_ReLU", "QK_AttentionScores"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range patterns {
		patterns[i].Shapes = []fusion.Shape{{Params: oddShapes(patterns[i])[0], Quick: true}}
	}
	ops := fusion.WithPatterns(op.Builtin(), fusion.Builtin())
	levels := []ceiling.Level{{Name: "L1", Capacity: 32 << 10}}
	server := &runner.Server{Backends: []backend.Backend{native.New()}, Ops: op.Builtin(), Host: NewWorkerHost(machine.Source{}), Affinity: "scatter", Priority: "inherited",
		Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(fusion.Builtin(), ref) }}
	cfg := Config{SkipPreflight: true, NoProbes: true, DataDir: t.TempDir(), Command: []string{"test"}, Affinity: "scatter", Launch: runner.InProcess(server),
		Plan: plan.Options{Device: "cpu", Threads: 1, Quick: true, Trials: 8, Ops: ops, Levels: levels, Levels1: levels, ProbesOnly: true, Fusion: patterns}}
	doc := mustRun(t, cfg)
	if len(doc.FusionProfiles) != 1 {
		t.Fatalf("%d fusion profiles", len(doc.FusionProfiles))
	}
	if err := record.ValidateFusion(doc.FusionProfiles[0]); err != nil {
		t.Fatal(err)
	}
	text := string(doc.FusionProfiles[0])
	for _, want := range []string{`"pattern": "Linear_Bias_ReLU"`, `"pattern": "QK_AttentionScores"`, `"num_trials": 8`, `"dtype": "bf16"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the profile lacks %s: %s", want, fmt.Sprintf("%.400s", text))
		}
	}
	if len(doc.Results) != 4 {
		t.Fatalf("%d results, want 4", len(doc.Results))
	}
	profiles, err := record.FusionProfiles(&doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles[0].Patterns {
		for _, s := range p.Shapes {
			// Measured: the fused program writes its output alone, the chain at least that.
			size, out := p.DType.Size(), s.Extra["m"]*s.Extra["n"]
			if p.Pattern == "QK_AttentionScores" {
				out = s.Extra["b"] * s.Extra["s"] * s.Extra["s"]
			}
			if s.FusedWritten != size*out || s.UnfusedWritten < s.FusedWritten || s.UnfusedWritten%s.FusedWritten != 0 {
				t.Errorf("%s: %d and %d bytes written, the output has %d", s.CaseID, s.UnfusedWritten, s.FusedWritten, size*out)
			}
			if math.Abs(s.UnfusedMS/s.FusedMS/s.Speedup-1) > 1e-9 || math.Abs(s.UnfusedGFLOPS*s.UnfusedMS*1e6/float64(s.FLOPs)-1) > 1e-9 ||
				math.Abs(s.FusedGFLOPS*s.FusedMS*1e6/float64(s.FusedFLOPs)-1) > 1e-9 || math.Abs(s.FusedGFLOPS/s.UnfusedGFLOPS-1-s.Improvement) > 1e-9 {
				t.Errorf("%s: figures that contradict each other: %+v", s.CaseID, s)
			}
		}
	}
	for _, r := range doc.Results {
		if len(r.Arms) != 2 || r.Ratio == nil || !strings.HasPrefix(r.Arms[0].Name, fusion.Unfused+":") || !strings.HasPrefix(r.Arms[1].Name, fusion.Fused) {
			t.Errorf("%s: %s %s, arms %+v", r.ID, r.Status, r.Reason, r.Arms)
			continue
		}
		// Outside of the arms the first arm's figures stand beside its time, not the fused program's.
		if a := r.Arms[0]; r.FLOPs != a.FLOPs || r.Bytes != a.Bytes || r.ReadBytes+r.WriteBytes != a.Bytes || r.GFLOPS != a.GFLOPS || r.BandwidthGBps != a.BandwidthGBps {
			t.Errorf("%s: %d FLOP, %d bytes of which %d are read and %d written, %v GFLOPS; its first arm has %d, %d, %v", r.ID, r.FLOPs, r.Bytes, r.ReadBytes, r.WriteBytes, r.GFLOPS, a.FLOPs, a.Bytes, a.GFLOPS)
		}
		if again, err := plan.FromID(ops, r.ID); err != nil || again.ID != r.ID || len(again.Arms) != 2 {
			t.Errorf("%s does not name its case: %v", r.ID, err)
		}
	}
}
