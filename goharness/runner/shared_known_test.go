package runner

import (
	"slices"
	"testing"

	"ridge/goharness/fusion"
	"ridge/goharness/record"
)

// Both programs of a pattern and a library's ways are held against one expectation, but where one stores intermediates that are rounded.
func TestArmsOfOneExpectationShareIt(t *testing.T) {
	const other = "a library"
	ref := func(pattern string, d record.DType, m, name, library string) record.ProgramRef {
		return record.ProgramRef{Pattern: pattern, Op: pattern, DType: d, Params: map[string]string{"m": m, "n": "8", "k": "16"}, Name: name, Library: library}
	}
	for _, c := range []struct {
		name string
		a, b record.ProgramRef
		same bool
	}{
		{"unfused and fused in fp32", ref("Linear_Bias_ReLU", record.FP32, "4", "unfused:buffers", ""), ref("Linear_Bias_ReLU", record.FP32, "4", "fused", ""), true},
		{"candidates and a library in fp32", ref("Linear_Bias_ReLU", record.FP32, "4", "unfused:in place", ""), ref("Linear_Bias_ReLU", record.FP32, "4", "unfused:"+other, other), true},
		{"unfused and fused in bf16", ref("Linear_Bias_ReLU", record.BF16, "4", "unfused:buffers", ""), ref("Linear_Bias_ReLU", record.BF16, "4", "fused", ""), false},
		{"candidates in bf16", ref("Linear_Bias_ReLU", record.BF16, "4", "unfused:buffers", ""), ref("Linear_Bias_ReLU", record.BF16, "4", "unfused:"+other, other), true},
		{"another shape", ref("Linear_Bias_ReLU", record.FP32, "4", "fused", ""), ref("Linear_Bias_ReLU", record.FP32, "5", "fused", ""), false},
		{"another pattern", ref("Linear_Bias_ReLU", record.FP32, "4", "fused", ""), ref("Linear_Bias", record.FP32, "4", "fused", ""), false},
	} {
		var s Server
		var got [2]*Known
		for i, r := range []record.ProgramRef{c.a, c.b} {
			p, err := fusion.Program(fusion.Builtin(), r)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			got[i] = s.known(r, p)
		}
		if same := got[0] == got[1]; same != c.same {
			t.Errorf("%s: one expectation: %v, want %v", c.name, same, c.same)
		}
	}
}

// A tensor's number selects its random stream, so that a program with other numbers has other inputs.
func TestProgramsWithOtherInputsShareNoExpectation(t *testing.T) {
	ref := record.ProgramRef{Pattern: "Linear_Bias", Op: "Linear_Bias", DType: record.FP32, Params: map[string]string{"m": "4", "n": "8", "k": "16"}, Name: fusion.Fused}
	p, err := fusion.Program(fusion.Builtin(), ref)
	if err != nil {
		t.Fatal(err)
	}
	var s Server
	before := s.known(ref, p)
	if s.known(ref, p) != before {
		t.Error("one program twice: two expectations")
	}
	p.Tensors = slices.Clone(p.Tensors)
	p.Tensors[0], p.Tensors[1] = p.Tensors[1], p.Tensors[0]
	if s.known(ref, p) == before {
		t.Error("tensors in another order: one expectation")
	}
}
