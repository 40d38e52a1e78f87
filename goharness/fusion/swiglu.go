package fusion

import (
	"fmt"
	"math"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// swigluPatterns are Y = silu(X·Gᵀ) ∘ (X·Uᵀ) against two linear layers, SiLU and a multiplication.
func swigluPatterns() []Pattern {
	return []Pattern{{
		Name: "SwiGLU", Group: "linear", Doc: "Y[M,N] = silu(X[M,K]*G[N,K]^T) * (X[M,K]*U[N,K]^T)",
		Operators: []string{"linear", "linear", "silu", "multiply"},
		DTypes:    []record.DType{record.FP32, record.BF16},
		Params: []op.ParamSpec{
			{Name: "m", Doc: "rows (batch × tokens)", Min: 1, Max: 1 << 32},
			{Name: "k", Doc: "input features", Min: 1, Max: 1 << 32},
			{Name: "n", Doc: "output features", Min: 1, Max: 1 << 32},
		},
		Shapes: layerShapes([2]int{1024, 2816}, 1, 8, 16, 64, 128, 256, 512, 1024),
		Build:  swiglu,
		Input:  func(v op.Values) []int64 { return []int64{v.Int("m"), v.Int("k")} },
		Size:   func(v op.Values) (string, int64) { return "m", v.Int("m") },
	}}
}

// layerShapes sweeps the rows of a layer of (k, n) features; quick has one row and 64.
func layerShapes(kn [2]int, rows ...int) []Shape {
	var out []Shape
	for _, m := range rows {
		out = append(out, Shape{Params: map[string]string{"m": fmt.Sprint(m), "k": fmt.Sprint(kn[0]), "n": fmt.Sprint(kn[1])}, Quick: m == 1 || m == 64})
	}
	return out
}

func swiglu(v op.Values, d record.DType) (Pair, error) {
	b, m, n, k := newOps(d), v.Int("m"), v.Int("n"), v.Int("k")
	fused := b.new("swiglu", "m", m, "n", n, "k", k)
	linear := b.new("linear", "m", m, "n", n, "k", k, "bias", 0)
	silu, multiply := b.new("silu", "rows", m, "cols", n), b.new("multiply", "rows", m, "cols", n)
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: "SwiGLU", params: v.List()}
	stored := *ref
	if d == record.BF16 {
		stored.rounded = swigluRoundings(fused.(*op.SwiGLU))
	}
	return Pair{Fused: single(ref, fused), Unfused: []op.Program{
		unfused("buffers", &stored, step(linear, "a", "gate", "t1"), step(linear, "a", "up", "t2"), step(silu, "t1", "t3"), step(multiply, "t3", "t2", "c")),
		unfused("in place", &stored, step(linear, "a", "gate", "c"), step(linear, "a", "up", "t1"), step(silu, "c", "c"), step(multiply, "c", "t1", "c")),
	}}, nil
}

// swigluRoundings is what storing the gate, its activation and up may cost, each times the other factor.
func swigluRoundings(s *op.SwiGLU) func(*op.Inputs, int64) float64 {
	return func(in *op.Inputs, i int64) float64 {
		gate, up := s.Halves(in, i)
		g, u := math.Abs(op.Activate("silu", gate.Value)), math.Abs(up.Value)
		return s.D.Unit() * (steepest*math.Abs(gate.Value)*u + 2*g*u) * (1 + 4*s.D.Unit()) // the last: products of two roundings
	}
}
