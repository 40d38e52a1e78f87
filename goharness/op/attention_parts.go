package op

import (
	"math"

	"ridge/goharness/record"
)

// AttentionPart is a part of attention over B heads of S queries and S keys:
//
//	qk_softmax      p[b,i,:] = softmax(q[b,i,:]·k[b,:,:]ᵀ/√d)      q, k [B,S,D], p [B,S,S]
//	softmax_v       o[b,i,:] = softmax(s[b,i,:])·v[b,:,:]          s [B,S,S], v, o [B,S,D]
//	causal_softmax  p[b,i,j] = softmax over the keys j ≤ i of s[b,i,:], 0 for the others    s, p [B,S,S]
type AttentionPart struct {
	opName    string
	B, S, Dim int64
	D         record.DType
	params    []record.Param
	rows      rowCache
}

// AttentionPartSpecs declares them.
func AttentionPartSpecs() []Spec {
	dims := []ParamSpec{
		{Name: "b", Doc: "heads of all sequences", Min: 0, Max: maxDim},
		{Name: "s", Doc: "queries and keys", Min: 0, Max: maxDim},
		{Name: "d", Doc: "head dimension", Min: 1, Max: maxDim},
	}
	spec := func(name, doc string, params []ParamSpec) Spec {
		return Spec{
			Name: name, Family: "attention", Suite: "attention", Item: "query", Metric: "gflops", Batch: "b", Doc: doc, Params: params,
			DTypes: []record.DType{record.FP32, record.BF16},
			New: func(v Values, d record.DType) (Op, error) {
				a := &AttentionPart{opName: name, B: v.Int("b"), S: v.Int("s"), Dim: 1, D: d, params: v.List()}
				if len(params) == len(dims) {
					a.Dim = v.Int("d")
				}
				return a, nil
			},
		}
	}
	return []Spec{
		spec("qk_softmax", "softmax(q·kᵀ/√d) per head, the weights of attention; 2d + 6 FLOP for each pair", dims),
		spec("softmax_v", "softmax(s)·v per head, scores given; 2d + 5 FLOP for each pair", dims),
		spec("causal_softmax", "softmax of the keys that a query sees, itself and those before it, 0 for the others; 5 FLOP for each pair that is seen", dims[:2]),
	}
}

func (a *AttentionPart) Name() string             { return a.opName }
func (a *AttentionPart) Params() []record.Param   { return a.params }
func (a *AttentionPart) DType() record.DType      { return a.D }
func (a *AttentionPart) Accumulate() record.DType { return record.FP32 }
func (a *AttentionPart) Items() int64             { return Product(a.B, a.S) }

// Causal reports whether a query sees only the keys up to its own.
func (a *AttentionPart) Causal() bool { return a.opName == "causal_softmax" }

// Scale is the factor of the scores: 1/√d of products, 1 of scores that are given.
func (a *AttentionPart) Scale() float64 {
	if a.opName == "qk_softmax" {
		return 1 / math.Sqrt(float64(a.Dim))
	}
	return 1
}

// Tensors: q, k, p; s, v, o; or s, p. Queries and scores are wide, as attention's.
func (a *AttentionPart) Tensors() []Tensor {
	square, rows := []int64{a.B, a.S, a.S}, []int64{a.B, a.S, a.Dim}
	s, p := Tensor{Name: "s", Role: In, DType: a.D, Dims: square, Fill: FillWide}, Tensor{Name: "p", Role: Out, DType: a.D, Dims: square}
	switch a.opName {
	case "qk_softmax":
		return []Tensor{{Name: "q", Role: In, DType: a.D, Dims: rows, Fill: FillWide}, {Name: "k", Role: In, DType: a.D, Dims: rows}, p}
	case "softmax_v":
		return []Tensor{s, {Name: "v", Role: In, DType: a.D, Dims: rows}, {Name: "o", Role: Out, DType: a.D, Dims: rows}}
	}
	return []Tensor{s, p}
}

// seen is the number of pairs that count: all, or those that causality leaves.
func (a *AttentionPart) seen() int64 {
	if !a.Causal() || a.S == 0 {
		return Product(a.B, a.S, a.S)
	}
	if a.S%2 == 0 {
		return Product(a.B, a.S/2, a.S+1)
	}
	return Product(a.B, a.S, (a.S+1)/2)
}

// FLOPs: 2·D for a score or its part of the weighted sum, 5 for the softmax, 1 for the scale.
func (a *AttentionPart) FLOPs() int64 {
	switch a.opName {
	case "qk_softmax":
		return Product(a.seen(), Product(2, a.Dim)+6)
	case "softmax_v":
		return Product(a.seen(), Product(2, a.Dim)+5)
	}
	return Product(a.seen(), 5)
}

// Bytes reads each input once, of causal scores those that are seen, and writes the output once.
func (a *AttentionPart) Bytes() int64 {
	if a.Causal() {
		read, write := Product(a.D.Size(), a.seen()), Product(a.D.Size(), a.B, a.S, a.S)
		if read > math.MaxInt64-write {
			return math.MaxInt64
		}
		return read + write
	}
	return tensorBytes(a.Tensors())
}

// IntegerExact is false, as attention's.
func (a *AttentionPart) IntegerExact() (bool, string) {
	return false, "softmax weights of integer scores are not integers"
}

// ExpectCost: a row is computed once for its elements, each of which goes over the row again.
func (a *AttentionPart) ExpectCost() int64 { return 2*a.S + 2*a.Dim }

// Expect computes one output element in float64, its errors as Attention.Expect has them. A weight w_i that is an
// output itself changes by w_i·(δ_i − mean of δ) where the scores have errors δ, and by the rounding of the sum of n exponentials.
// Exponentials are clamped where fp32 ends, so Tiny is one of that size.
func (a *AttentionPart) Expect(in *Inputs, out int, i int64) Expectation {
	if a.opName == "softmax_v" {
		row := i / a.Dim
		return weighted(a.rows.get(in, row, a.row), func(j int64) float64 { return in.At(1, (row/a.S*a.S+j)*a.Dim+i%a.Dim) })
	}
	row, j := i/a.S, i%a.S
	r := a.rows.get(in, row, a.row)
	if j >= int64(len(r.weight)) {
		return Expectation{}
	}
	w := r.weight[j]
	return Expectation{Value: w, Magnitude: w * (2 + math.Sqrt(float64(len(r.weight))) + r.scoreMag[j] + r.drift), Tiny: 0x1p-125}
}

// row is the softmax of one query.
func (a *AttentionPart) row(in *Inputs, row int64) *softRow {
	if a.opName == "qk_softmax" {
		return productRow(in, row*a.Dim, row/a.S*a.S*a.Dim, a.S, a.Dim, a.Scale())
	}
	n := a.S
	if a.Causal() {
		n = row%a.S + 1
	}
	score := make([]float64, n)
	in.Span(0, row*a.S, 1, score)
	return newSoftRow(score, nil)
}

// Stored bounds what it adds to the error of output i when the scores were stored with unit roundoff u, each by
// roundings operations that round once, and the weights once more before they are summed up.
func (a *AttentionPart) Stored(in *Inputs, i int64, u float64, roundings int) float64 {
	if a.opName == "softmax_v" {
		row := i / a.Dim
		return a.rows.get(in, row, a.row).storedSum(u, roundings, func(j int64) float64 { return in.At(1, (row/a.S*a.S+j)*a.Dim+i%a.Dim) })
	}
	return a.rows.get(in, i/a.S, a.row).storedWeight(u, roundings, i%a.S)
}
