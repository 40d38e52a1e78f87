package fusion

import (
	"fmt"
	"slices"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// fullAttentionPatterns are the whole of attention: every query sees every key, or those up to its own.
//
// The causal chain computes all scores, as a batched product must, and has a softmax that knows the mask (causal_softmax). A
// chain that adds a mask as a tensor reads and writes the scores once more and is never faster, so this is the harder baseline.
//
// The causal sweep is a pattern of its own, for a recommendation speaks of one kind of shape.
func fullAttentionPatterns(base Pattern) []Pattern {
	base.Params = append(append([]op.ParamSpec(nil), base.Params...),
		op.ParamSpec{Name: "heads", Doc: "query heads of a sequence; b counts sequences then", Default: "1", Min: 1, Max: 1 << 20},
		op.ParamSpec{Name: "kv_heads", Doc: "key/value heads, must divide heads; 0: as heads", Default: "0", Max: 1 << 20},
	)
	base.Input = func(v op.Values) []int64 {
		return []int64{op.Product(v.Int("b"), v.Int("heads")), v.Int("s"), v.Int("d")}
	}
	full, causal := base, base
	full.Name, full.Operators = "FullAttention_SDPA", []string{"matmul", "scale", "softmax", "matmul"}
	full.Doc = "O[b] = softmax(Q[b]*K[b]^T/sqrt(D))*V[b]"
	full.Params = append(append([]op.ParamSpec(nil), base.Params...),
		op.ParamSpec{Name: "causal", Doc: "1: a query sees the keys up to its own", Default: "0", Enum: []string{"0", "1"}})
	longest := Shape{Params: map[string]string{"b": "1", "s": "8192", "d": "64"}, DTypes: []record.DType{record.FP32}}
	full.Shapes = append(slices.Clone(full.Shapes), longest)
	for i := range full.Shapes {
		full.Shapes[i].Grow = "" // its fused kernel keeps the scores, and its arithmetic takes longer than memory
	}
	full.Build = func(v op.Values, d record.DType) (Pair, error) {
		return fullAttention(full.Name, v, d, v.Bool("causal"))
	}
	full.GraphsBytes = func(v op.Values, e int64) (int64, int64) {
		b, g, s, d := op.Product(v.Int("b"), v.Int("heads")), sharedHeads(v), v.Int("s"), v.Int("d")
		kv := op.Product(v.Int("b"), g)
		return e * (2*b*s*d + 2*kv*s*d + 3*b*s*s), e * (2*b*s*d + 2*kv*s*d)
	}
	causal.Name, causal.Operators = "CausalAttention_SDPA", []string{"matmul", "scale", "causal_softmax", "matmul"}
	causal.Doc = "O[b] = softmax(Q[b]*K[b]^T/sqrt(D) of the keys up to the query's own)*V[b], key/value heads shared"
	causal.Build = func(v op.Values, d record.DType) (Pair, error) { return fullAttention(causal.Name, v, d, true) }
	causal.Shapes = causalShapes()
	return []Pattern{full, causal}
}

// causalShapes: a sweep of S with grouped heads, 8 query heads to 2 key/value heads.
func causalShapes() []Shape {
	var out []Shape
	for i, s := range []int{64, 128, 256, 512, 1024, 2048, 4096, 8192} {
		heads, kv := 8, 2
		if s >= 4096 { // the chain's scores: three matrices S x S for each head
			heads, kv = 2, 1
		}
		out = append(out, Shape{Quick: i == 2 || i == 3, Params: map[string]string{"b": "1", "s": fmt.Sprint(s), "d": "64",
			"heads": fmt.Sprint(heads), "kv_heads": fmt.Sprint(kv)}})
	}
	return out
}

// sharedHeads is the number of key/value heads of a sequence.
func sharedHeads(v op.Values) int64 {
	if n := v.Int("kv_heads"); n > 0 {
		return n
	}
	return v.Int("heads")
}

func fullAttention(name string, v op.Values, d record.DType, causal bool) (Pair, error) {
	b, heads, kv, s := v.Int("b"), v.Int("heads"), sharedHeads(v), v.Int("s")
	if heads%kv != 0 {
		return Pair{}, fmt.Errorf("kv_heads=%d must divide heads=%d", kv, heads)
	}
	a := &attention{newOps(d), op.Product(b, kv), op.Product(heads/kv, s), s, v.Int("d")}
	mask := 0
	if causal {
		mask = 1
	}
	fused, _ := a.new("attention", "b", b, "heads", heads, "kv_heads", kv, "sq", s, "d", a.dim, "causal", mask).(*op.Attention)
	softmax := a.softmax("")
	if causal {
		softmax.op = a.new("causal_softmax", "b", op.Product(b, heads), "s", s)
	}
	stages := []stage{a.product("q", "k"), a.scaling(), softmax, a.weightedSum()}
	return a.pair(name, v, fused, stages, func(in *op.Inputs, i int64) float64 {
		return fused.Stored(in, i, d.Unit(), a.roundings())
	})
}
