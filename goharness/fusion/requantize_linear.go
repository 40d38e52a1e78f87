package fusion

import (
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// requantizeLinearPatterns are an int8 linear layer that requantises its sums against one that stores them as int32 and a requantize.
func requantizeLinearPatterns() []Pattern {
	return []Pattern{{
		Name: "Linear_Requantize", Group: "linear", Doc: "Y[M,N] = round(scale[N]*(X[M,K]*W[N,K]^T + bias[N])), int8, saturated",
		Operators: []string{"linear", "requantize"},
		DTypes:    []record.DType{record.INT8},
		Params: []op.ParamSpec{
			{Name: "m", Doc: "rows (batch × tokens)", Min: 1, Max: 1 << 32},
			{Name: "k", Doc: "input features", Min: 1, Max: 1 << 32},
			{Name: "n", Doc: "output features", Min: 1, Max: 1 << 32},
		},
		Shapes: linearShapes(false),
		Build:  requantizeLinear,
		Input:  func(v op.Values) []int64 { return []int64{v.Int("m"), v.Int("k")} },
		Size:   func(v op.Values) (string, int64) { return "m", v.Int("m") },
	}}
}

func requantizeLinear(v op.Values, d record.DType) (Pair, error) {
	b, m, n, k := newOps(d), v.Int("m"), v.Int("n"), v.Int("k")
	fused, linear := b.new("linear", "m", m, "n", n, "k", k, "requant", 1), b.new("linear", "m", m, "n", n, "k", k)
	requantize := b.new("requantize", "rows", m, "cols", n)
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: "Linear_Requantize", params: v.List()}
	return Pair{Fused: single(ref, fused), Unfused: []op.Program{
		unfused("buffers", ref, step(linear, "a", "b", "bias", "t1"), step(requantize, "t1", "scale", "c")),
	}}, nil
}
