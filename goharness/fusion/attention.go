package fusion

import (
	"fmt"
	"math"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// attentionPatterns are the scores and the whole of scaled dot-product attention against batched
// products, a scaling and a softmax. Query heads are part of the batch.
func attentionPatterns() []Pattern {
	params := []op.ParamSpec{
		{Name: "b", Doc: "sequences times heads", Min: 1, Max: 1 << 32},
		{Name: "s", Doc: "queries and keys of a sequence", Min: 1, Max: 1 << 32},
		{Name: "d", Doc: "head dimension", Min: 1, Max: 1 << 20},
	}
	base := Pattern{
		Group: "attention", DTypes: []record.DType{record.FP32}, Params: params, Shapes: attentionShapes(),
		Input: func(v op.Values) []int64 { return []int64{v.Int("b"), v.Int("s"), v.Int("d")} },
		Size:  func(v op.Values) (string, int64) { return "s", v.Int("s") },
	}
	scores, sdpa := base, base
	scores.Name, scores.Operators, scores.Build = "QK_AttentionScores", []string{"matmul", "scale"}, attentionScores
	scores.Doc = "P[b] = Q[b]*K[b]^T/sqrt(D), S x S scores of each head"
	sdpa.Name, sdpa.Operators, sdpa.Build = "FullAttention_SDPA", []string{"matmul", "scale", "softmax", "matmul"}, fullAttention
	sdpa.Doc = "O[b] = softmax(Q[b]*K[b]^T/sqrt(D))*V[b]"
	sdpa.GraphsBytes = func(v op.Values, e int64) (int64, int64) {
		b, s, d := v.Int("b"), v.Int("s"), v.Int("d")
		return e * (4*b*s*d + 3*b*s*s), e * 4 * b * s * d
	}
	return []Pattern{scores, sdpa}
}

// attentionShapes: the seeds (B, S, D) of REFERENCE 1.3 and a sweep of S.
func attentionShapes() []Shape {
	var out []Shape
	for _, s := range []struct {
		b, s, d int
		quick   bool
	}{
		{8, 32, 64, false}, {8, 64, 64, false}, {1, 128, 64, true}, {8, 128, 64, false}, {4, 256, 64, true}, {8, 512, 64, false},
		{8, 1024, 64, false}, {8, 2048, 64, false}, {4, 4096, 64, false},
	} {
		out = append(out, Shape{Params: map[string]string{"b": fmt.Sprint(s.b), "s": fmt.Sprint(s.s), "d": fmt.Sprint(s.d)}, Quick: s.quick})
	}
	return out
}

// scoreStages are q·kᵀ and the scaling.
func scoreStages(b *ops, v op.Values, q, k string) []stage {
	n, s, d := v.Int("b"), v.Int("s"), v.Int("d")
	product, err := op.NewGemm(n, s, s, d, true, 1, b.d)
	b.keep(product, err)
	scaled, err := op.NewScale(op.Product(n, s), s, 1/math.Sqrt(float64(d)), b.d)
	b.keep(scaled, err)
	return []stage{{op: product, bind: []string{q, k}}, {op: scaled, bind: []string{""}}}
}

func attentionScores(v op.Values, d record.DType) (Pair, error) {
	b := newOps(d)
	fused, err := op.NewGemm(v.Int("b"), v.Int("s"), v.Int("s"), v.Int("d"), true, 1/math.Sqrt(float64(v.Int("d"))), d)
	b.keep(fused, err)
	stages := scoreStages(b, v, "a", "b")
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: "QK_AttentionScores", params: v.List()}
	return Pair{Unfused: chain(ref, stages), Fused: single(ref, fused)}, nil
}

func fullAttention(v op.Values, d record.DType) (Pair, error) {
	b, n, s, dim := newOps(d), v.Int("b"), v.Int("s"), v.Int("d")
	fused := b.new("attention", "b", n, "heads", 1, "sq", s, "d", dim)
	stages := scoreStages(b, v, "q", "k")
	stages = append(stages, stage{op: b.new("softmax", "rows", op.Product(n, s), "cols", s), bind: []string{""}})
	last, err := op.NewGemm(n, s, dim, s, false, 1, d)
	b.keep(last, err)
	stages = append(stages, stage{op: last, bind: []string{"", "v"}})
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: "FullAttention_SDPA", params: v.List()}
	return Pair{Unfused: chain(ref, stages), Fused: single(ref, fused)}, nil
}
