//go:build cgo && linux

package fusion_test

import (
	"slices"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// Every step of every program of these patterns with another operand of the same size in place of the right one: a weight, a
// bias, a scale or an intermediate that is not the one meant must not pass.
func TestAWrongOperandOfALayerIsFound(t *testing.T) {
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	for name, dtypes := range map[string][]record.DType{
		"SwiGLU": {record.FP32, record.BF16}, "MLP": {record.FP32, record.BF16}, "Linear_Requantize": {record.INT8},
	} {
		for _, d := range dtypes {
			// Square, so that operands may be exchanged.
			ref := record.ProgramRef{Op: name, Pattern: name, DType: d, Params: map[string]string{"m": "64", "k": "64", "n": "64"}}
			for _, arm := range []string{fusion.Fused, fusion.Unfused + ":buffers", fusion.Unfused + ":in place"} {
				ref.Name = arm
				p, err := fusion.Program(fusion.Builtin(), ref)
				if err != nil {
					if name == "Linear_Requantize" && arm == fusion.Unfused+":in place" {
						continue // int32 and int8 differ in size
					}
					t.Fatal(err)
				}
				if v := kerneltest.Program(t, dev, p); !v.Passed {
					t.Errorf("%s %s %s: %+v", name, d, arm, v.Mismatch)
				}
				wrong := 0
				for si, s := range p.Steps {
					for bi, right := range s.Bind[:len(s.Bind)-1] {
						want, _ := p.Tensor(right)
						for _, other := range p.Tensors {
							if other.Name == right || other.Role != op.In || other.DType != want.DType || other.Elements() != want.Elements() || want.Role != op.In {
								continue
							}
							q := p
							q.Steps = slices.Clone(p.Steps)
							bind := slices.Clone(s.Bind)
							bind[bi] = other.Name
							q.Steps[si].Bind = bind
							wrong++
							if v := kerneltest.Program(t, dev, q); v.Passed {
								t.Errorf("%s %s %s: step %d with %s in place of %s passed", name, d, arm, si, other.Name, right)
							}
						}
					}
				}
				if wrong == 0 {
					t.Errorf("%s %s %s: no operand was exchanged", name, d, arm)
				}
			}
		}
	}
}
