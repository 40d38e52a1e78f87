package fusion

import (
	"math"
	"slices"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// mlpPatterns are a transformer's feed-forward layer against its two linear layers, their biases and GELU.
func mlpPatterns() []Pattern {
	shapes := slices.Concat(layerShapes([2]int{768, 3072}, 1, 8, 16, 64, 128, 256, 512), layerShapes([2]int{1024, 4096}, 512, 1024))
	shapes[len(shapes)-1].DTypes = []record.DType{record.FP32} // half a minute to verify and time
	return []Pattern{{
		Name: "MLP", Group: "linear", Doc: "Y[M,K] = gelu(X[M,K]*W1[N,K]^T + b1[N])*W2[K,N]^T + b2[K]",
		Operators: []string{"linear", "bias", "gelu", "linear", "bias"},
		DTypes:    []record.DType{record.FP32, record.BF16},
		Params: []op.ParamSpec{
			{Name: "m", Doc: "rows (batch × tokens)", Min: 1, Max: 1 << 32},
			{Name: "k", Doc: "features of the input and the output", Min: 1, Max: 1 << 32},
			{Name: "n", Doc: "hidden features", Min: 1, Max: 1 << 32},
		},
		Shapes: shapes,
		Build:  mlp,
		Input:  func(v op.Values) []int64 { return []int64{v.Int("m"), v.Int("k")} },
		Size:   func(v op.Values) (string, int64) { return "m", v.Int("m") },
	}}
}

func mlp(v op.Values, d record.DType) (Pair, error) {
	b, m, k, h := newOps(d), v.Int("m"), v.Int("k"), v.Int("n")
	fused := b.new("mlp", "m", m, "k", k, "h", h, "n", k)
	up, down := b.new("linear", "m", m, "n", h, "k", k, "bias", 0), b.new("linear", "m", m, "n", k, "k", h, "bias", 0)
	biasH, biasY := b.new("bias_add", "rows", m, "cols", h), b.new("bias_add", "rows", m, "cols", k)
	gelu := b.new("gelu", "rows", m, "cols", h)
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: "MLP", params: v.List()}
	stored := *ref
	if d == record.BF16 {
		stored.rounded = mlpRoundings(fused.(*op.MLP))
	}
	return Pair{Fused: single(ref, fused), Unfused: []op.Program{
		unfused("buffers", &stored, step(up, "a", "w1", "t1"), step(biasH, "t1", "b1", "t2"), step(gelu, "t2", "t3"), step(down, "t3", "w2", "t4"), step(biasY, "t4", "b2", "c")),
		unfused("in place", &stored, step(up, "a", "w1", "t1"), step(biasH, "t1", "b1", "t1"), step(gelu, "t1", "t1"), step(down, "t1", "w2", "c"), step(biasY, "c", "b2", "c")),
	}}, nil
}

// mlpRoundings is what storing intermediates may cost. The hidden features are rounded three times, by at most u of their size with a
// slope of at most 1.13, each on its own: their sum spreads as the root of the sum of squares, at most sqrt(3)*1.13/sqrt(3) of
// Spread times u in standard deviations, of which 6 are allowed. The output is rounded once more before its bias.
func mlpRoundings(p *op.MLP) func(*op.Inputs, int64) float64 {
	return func(in *op.Inputs, i int64) float64 {
		u := p.D.Unit()
		y := p.Expect(in, len(p.Tensors())-1, i).Value
		return 6*steepest*u*p.Spread(in, i) + u*(math.Abs(y)+1)
	}
}
