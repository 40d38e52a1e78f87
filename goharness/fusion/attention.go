package fusion

import (
	"fmt"
	"math"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// attentionPatterns are scaled dot-product attention, its scores and its halves against batched products, a scaling and a
// softmax.
func attentionPatterns() []Pattern {
	params := []op.ParamSpec{
		{Name: "b", Doc: "sequences times heads", Min: 1, Max: 1 << 32},
		{Name: "s", Doc: "queries and keys of a sequence", Min: 1, Max: 1 << 32},
		{Name: "d", Doc: "head dimension", Min: 1, Max: 1 << 20},
	}
	base := Pattern{
		Group: "attention", DTypes: []record.DType{record.FP32, record.BF16}, Params: params, Shapes: attentionShapes(),
		Input: func(v op.Values) []int64 { return []int64{v.Int("b"), v.Int("s"), v.Int("d")} },
		Size:  func(v op.Values) (string, int64) { return "s", v.Int("s") },
	}
	scores, qk, sv := base, base, base
	scores.Name, scores.Operators, scores.Build = "QK_AttentionScores", []string{"matmul", "scale"}, attentionScores
	scores.Doc = "P[b] = Q[b]*K[b]^T/sqrt(D), S x S scores of each head"
	qk.Name, qk.Operators, qk.Build = "QK_Softmax", []string{"matmul", "scale", "softmax"}, qkSoftmax
	qk.Doc = "P[b] = softmax(Q[b]*K[b]^T/sqrt(D)), S x S weights of each head"
	qk.GraphsBytes = func(v op.Values, e int64) (int64, int64) {
		b, s, d := v.Int("b"), v.Int("s"), v.Int("d")
		return e * (2*b*s*d + 4*b*s*s), e * (2*b*s*d + b*s*s)
	}
	sv.Name, sv.Operators, sv.Build = "Softmax_V", []string{"softmax", "matmul"}, softmaxV
	sv.Doc = "O[b] = softmax(X[b])*V[b], S x S scores of each head given"
	return append([]Pattern{scores, qk, sv}, fullAttentionPatterns(base)...)
}

// attentionShapes: the seeds (B, S, D) of REFERENCE 1.3 and a sweep of S.
func attentionShapes() []Shape {
	var out []Shape
	for _, s := range []struct {
		b, s, d int
		quick   bool
	}{
		{8, 32, 64, false}, {8, 64, 64, false}, {1, 128, 64, true}, {8, 128, 64, false}, {4, 256, 64, true}, {8, 512, 64, false},
		{8, 1024, 64, false}, {4, 4096, 64, false},
	} {
		out = append(out, Shape{Params: map[string]string{"b": fmt.Sprint(s.b), "s": fmt.Sprint(s.s), "d": fmt.Sprint(s.d)}, Quick: s.quick})
	}
	out[len(out)-1].Grow = "b"
	return out
}

// attention is the steps of the chains: heads key/value heads, each with rows queries in all and keys keys.
type attention struct {
	*ops
	heads, rows, keys, dim int64
}

func (a *attention) scale() float64 { return 1 / math.Sqrt(float64(a.dim)) }

// product is q·kᵀ. All query heads that share a key/value head are one matrix, so nothing is copied.
func (a *attention) product(q, k string) stage {
	o, err := op.NewGemm(a.heads, a.rows, a.keys, a.dim, true, 1, a.d)
	return stage{op: a.keep(o, err), bind: []string{q, k}}
}

func (a *attention) scaling() stage {
	o, err := op.NewScale(op.Product(a.heads, a.rows), a.keys, a.scale(), a.d)
	return stage{op: a.keep(o, err), bind: []string{""}}
}

func (a *attention) softmax(from string) stage {
	return stage{op: a.new("softmax", "rows", op.Product(a.heads, a.rows), "cols", a.keys), bind: []string{from}}
}

func (a *attention) weightedSum() stage {
	o, err := op.NewGemm(a.heads, a.rows, a.dim, a.keys, false, 1, a.d)
	return stage{op: a.keep(o, err), bind: []string{"", "v"}}
}

// roundings of a score on its way through product and scaling. A power of two as the scale rounds nothing.
func (a *attention) roundings() int {
	if f, _ := math.Frexp(a.scale()); f == 0.5 {
		return 1
	}
	return 2
}

// pair makes both programs. stored is what the chain may be off by as it stores intermediates in a coarse format; the
// bounds are derived at op.AttentionPart.Stored.
func (a *attention) pair(name string, v op.Values, fused op.Op, stages []stage, stored func(in *op.Inputs, i int64) float64) (Pair, error) {
	if a.err != nil {
		return Pair{}, a.err
	}
	ref := &expected{Op: fused, name: name, params: v.List()}
	unfused := chain(ref, stages)
	if a.d == record.BF16 {
		coarse := *ref
		coarse.rounded = stored
		for i := range unfused {
			unfused[i].Reference = &coarse
		}
	}
	return Pair{Unfused: unfused, Fused: single(ref, fused)}, nil
}

func newAttention(v op.Values, d record.DType) *attention {
	return &attention{newOps(d), v.Int("b"), v.Int("s"), v.Int("s"), v.Int("d")}
}

func attentionScores(v op.Values, d record.DType) (Pair, error) {
	a := newAttention(v, d)
	fused, err := op.NewGemm(a.heads, a.rows, a.keys, a.dim, true, a.scale(), d)
	if a.keep(fused, err); err == nil {
		fused.Scaled = true
	}
	// The product's rounding passes the scaling; where that rounds, too, it is the output's own rounding.
	u := d.Unit()
	return a.pair("QK_AttentionScores", v, fused, []stage{a.product("a", "b"), a.scaling()}, func(in *op.Inputs, i int64) float64 {
		return (1 + u) * u * math.Abs(fused.Expect(in, 2, i).Value)
	})
}

// partOf makes a part of attention, or a nil one with the error kept.
func (a *attention) partOf(name string) *op.AttentionPart {
	o, _ := a.new(name, "b", a.heads, "s", a.keys, "d", a.dim).(*op.AttentionPart)
	return o
}

func qkSoftmax(v op.Values, d record.DType) (Pair, error) {
	a := newAttention(v, d)
	fused := a.partOf("qk_softmax")
	return a.pair("QK_Softmax", v, fused, []stage{a.product("q", "k"), a.scaling(), a.softmax("")}, func(in *op.Inputs, i int64) float64 {
		return fused.Stored(in, i, d.Unit(), a.roundings())
	})
}

func softmaxV(v op.Values, d record.DType) (Pair, error) {
	a := newAttention(v, d)
	fused := a.partOf("softmax_v")
	return a.pair("Softmax_V", v, fused, []stage{a.softmax("s"), a.weightedSum()}, func(in *op.Inputs, i int64) float64 {
		return fused.Stored(in, i, d.Unit(), 0)
	})
}
