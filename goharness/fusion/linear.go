package fusion

import (
	"fmt"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// linearPatterns are y = act(x·wᵀ + bias) against linear, bias_add and the activation.
func linearPatterns() []Pattern {
	var out []Pattern
	for _, p := range []struct{ name, act string }{
		{"Linear_Bias", "none"}, {"Linear_Bias_ReLU", "relu"}, {"Linear_Bias_GELU", "gelu"}, {"Linear_Bias_SiLU", "silu"},
	} {
		operators := []string{"linear", "bias"}
		doc := "Y[M,N] = X[M,K]*W[N,K]^T + bias[N]"
		if p.act != "none" {
			operators, doc = append(operators, p.act), "Y[M,N] = "+p.act+"(X[M,K]*W[N,K]^T + bias[N])"
		}
		out = append(out, Pattern{
			Name: p.name, Group: "linear", Doc: doc, Operators: operators,
			DTypes: []record.DType{record.FP32, record.BF16},
			Params: []op.ParamSpec{
				{Name: "m", Doc: "rows (batch × tokens)", Min: 1, Max: 1 << 32},
				{Name: "k", Doc: "input features", Min: 1, Max: 1 << 32},
				{Name: "n", Doc: "output features", Min: 1, Max: 1 << 32},
			},
			Shapes: linearShapes(p.act == "gelu"),
			Build:  func(v op.Values, d record.DType) (Pair, error) { return linear(p.name, p.act, v, d) },
			Input:  func(v op.Values) []int64 { return []int64{v.Int("m"), v.Int("k"), v.Int("n")} }, // as the graphs format has it
			Size:   func(v op.Values) (string, int64) { return "m", v.Int("m") },
		})
	}
	return out
}

// linearShapes: the seeds (M, K, N) of REFERENCE 1.3 and a sweep of M, at the end in matrices of 134 MB in all (fp32) with few products to an
// element; with largest also 2048³ and, in fp32, 4096³, which takes two cores half a minute.
func linearShapes(largest bool) []Shape {
	var out []Shape
	for _, s := range []struct {
		m, k, n int
		quick   bool
	}{
		{1, 1024, 1024, false}, {8, 1024, 1024, false}, {64, 1024, 1024, false}, {128, 512, 512, true}, {256, 1024, 1024, false},
		{512, 1024, 1024, true}, {1024, 2048, 2048, false}, {2048, 2048, 2048, false}, {4096, 4096, 4096, false}, {65536, 256, 256, false},
	} {
		if (s.m == 2048 || s.m == 4096) && !largest {
			continue
		}
		shape := Shape{Params: map[string]string{"m": fmt.Sprint(s.m), "k": fmt.Sprint(s.k), "n": fmt.Sprint(s.n)}, Quick: s.quick}
		if s.m == 4096 {
			shape.DTypes = []record.DType{record.FP32}
		}
		if s.m == 65536 {
			shape.Grow = "m"
		}
		out = append(out, shape)
	}
	return out
}

func linear(name, act string, v op.Values, d record.DType) (Pair, error) {
	b, m, n, k := newOps(d), v.Int("m"), v.Int("n"), v.Int("k")
	layer := func(bias int, act string) op.Op {
		return b.new("linear", "m", m, "n", n, "k", k, "bias", bias, "act", act)
	}
	fused, plain, biased := layer(1, act), layer(0, "none"), layer(1, "none")
	stages := []stage{{op: plain, bind: []string{"a", "b"}, value: plain}, {op: b.new("bias_add", "rows", m, "cols", n), bind: []string{"", "bias"}}}
	if act != "none" {
		stages[1].value = biased
		stages = append(stages, stage{op: b.new(act, "rows", m, "cols", n), bind: []string{""}})
	}
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: name, params: v.List()}
	return Pair{Unfused: chain(ref, stages), Fused: single(ref, fused)}, nil
}
