//go:build cgo && linux

package fusion_test

import (
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// attentionArms are both programs of every attention pattern at shapes with remainders.
func attentionArms(t *testing.T, each func(name string, arm op.Program)) {
	t.Helper()
	all := fusion.Builtin()
	for _, c := range []struct {
		pattern string
		params  map[string]string
	}{
		{"QK_AttentionScores", map[string]string{"b": "2", "s": "37", "d": "20"}},
		{"QK_Softmax", map[string]string{"b": "3", "s": "17", "d": "9"}},
		{"QK_Softmax", map[string]string{"b": "2", "s": "65", "d": "64"}},
		{"Softmax_V", map[string]string{"b": "3", "s": "17", "d": "17"}},
		{"Softmax_V", map[string]string{"b": "2", "s": "64", "d": "64"}},
		{"Softmax_V", map[string]string{"b": "3", "s": "65", "d": "9"}},
		{"FullAttention_SDPA", map[string]string{"b": "1", "s": "70", "d": "64"}},
		{"FullAttention_SDPA", map[string]string{"b": "2", "s": "37", "d": "20", "heads": "6", "kv_heads": "2"}},
		{"FullAttention_SDPA", map[string]string{"b": "2", "s": "21", "d": "64", "heads": "3", "causal": "1"}},
		{"CausalAttention_SDPA", map[string]string{"b": "2", "s": "67", "d": "40", "heads": "4", "kv_heads": "1"}},
	} {
		for _, d := range []record.DType{record.FP32, record.BF16} {
			for _, arm := range []string{fusion.Unfused, fusion.Fused} {
				p, err := fusion.Program(all, record.ProgramRef{Op: c.pattern, Pattern: c.pattern, DType: d, Params: c.params, Name: arm})
				if err != nil {
					t.Fatal(err)
				}
				each(c.pattern+" "+string(d)+" "+arm, p)
			}
		}
	}
}

func TestBothProgramsOfTheAttentionPatternsMeetTheExpectation(t *testing.T) {
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	attentionArms(t, func(name string, p op.Program) {
		if v := kerneltest.Program(t, dev, p); !v.Passed || !v.Repeatable {
			t.Errorf("%s: %+v", name, v.Mismatch)
		} else {
			t.Logf("%s: worst of the bound %.3f", name, v.WorstBound)
		}
	})
}

// Each input takes the place of another in turn, and the coarse bounds of bf16 chains must not let it pass.
func TestAWrongOperandOfAnAttentionPatternIsFound(t *testing.T) {
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	tried := map[string]int{}
	attentionArms(t, func(name string, p op.Program) {
		tried[name] += 0
		for i, s := range p.Steps {
			for b, from := range s.Bind {
				for _, to := range p.Tensors {
					x, _ := p.Tensor(from)
					if to.Name == from || to.Role != op.In || x.Role != op.In || to.Elements() != x.Elements() {
						continue
					}
					bind := append([]string(nil), s.Bind...)
					bind[b] = to.Name
					wrong := p
					wrong.Steps = append([]op.Step(nil), p.Steps...)
					wrong.Steps[i].Bind = bind
					tried[name]++
					if v := kerneltest.Program(t, dev, wrong); v.Passed {
						t.Errorf("%s: %s in place of %s in step %s passes", name, to.Name, from, s.Op.Name())
					}
				}
			}
		}
	})
	for name, n := range tried {
		if n == 0 {
			t.Errorf("%s: no two inputs of one size to swap", name)
		}
	}
}
