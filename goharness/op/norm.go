package op

import (
	"ridge/goharness/record"
)

// Norm is softmax along dim 0 or 1, layer_norm or rms_norm along the columns (dim 1) of
// x[rows, cols].
type Norm struct {
	opName     string
	Rows, Cols int64
	Dim        int64
	Eps        float64
	D          record.DType
	params     []record.Param
	memory     lines
}

// NormSpecs declares softmax, layer_norm and rms_norm. FLOP per element are modelled:
// softmax max, subtract, exp, add, divide = 5; layer_norm add, subtract, square, add,
// multiply by 1/σ, γ, β = 7; rms_norm square, add, multiply by 1/rms, γ = 4.
func NormSpecs() []Spec {
	docs := []string{
		"softmax", "y = exp(x - max)/sum(exp(x - max)) along dim 1 (each row) or 0 (each column); 5 FLOP per element",
		"layer_norm", "y = (x - mean)/sqrt(var + 1e-5)*gamma[cols] + beta[cols] along each row; 7 FLOP per element",
		"rms_norm", "y = x/sqrt(mean(x^2) + 1e-5)*gamma[cols] along each row; 4 FLOP per element",
	}
	var out []Spec
	for i := 0; i < len(docs); i += 2 {
		name := docs[i]
		s := Spec{
			Name: name, Family: "reduction", Suite: "reduction", Item: "row (token)", Metric: "gbps", Batch: "rows", Doc: docs[i+1],
			Params: matrixParams(0),
			DTypes: []record.DType{record.FP32, record.BF16},
			New: func(v Values, d record.DType) (Op, error) {
				n := &Norm{opName: name, Rows: v.Int("rows"), Cols: v.Int("cols"), Dim: 1, Eps: NormEps, D: d, params: v.List()}
				if name == "softmax" {
					n.Dim = dimension(v)
				}
				return n, nil
			},
		}
		if name == "softmax" {
			s.Params = append(s.Params, ParamSpec{Name: "dim", Doc: "dimension along which the values sum to 1", Default: "1", Enum: []string{"0", "1"}})
		}
		out = append(out, s)
	}
	return out
}

func (n *Norm) Name() string             { return n.opName }
func (n *Norm) Params() []record.Param   { return n.params }
func (n *Norm) DType() record.DType      { return n.D }
func (n *Norm) Accumulate() record.DType { return record.FP32 }
func (n *Norm) Items() int64             { return n.Rows }

// Tensors: x, [gamma, [beta]], y. Softmax gets logits in [-8, 8); layer_norm gets values
// around 1, so that a variance computed as E[x²] − E[x]² would show.
func (n *Norm) Tensors() []Tensor {
	x := Tensor{Name: "x", Role: In, DType: n.D, Dims: []int64{n.Rows, n.Cols}}
	ts := []Tensor{x}
	switch n.opName {
	case "softmax":
		ts[0].Fill = FillWide
	case "layer_norm":
		ts[0].Fill = FillPositive
	}
	if n.opName != "softmax" {
		ts = append(ts, Tensor{Name: "gamma", Role: In, DType: n.D, Dims: []int64{n.Cols}, Fill: FillPositive})
	}
	if n.opName == "layer_norm" {
		ts = append(ts, Tensor{Name: "beta", Role: In, DType: n.D, Dims: []int64{n.Cols}})
	}
	return append(ts, Tensor{Name: "y", Role: Out, DType: n.D, Dims: x.Dims})
}

// FLOPs is the modelled count (see NormSpecs).
func (n *Norm) FLOPs() int64 {
	per := map[string]int64{"softmax": 5, "layer_norm": 7, "rms_norm": 4}[n.opName]
	return Product(per, n.Rows, n.Cols)
}

// Bytes: 2N elements and the vectors.
func (n *Norm) Bytes() int64 { return tensorBytes(n.Tensors()) }

// IntegerExact never holds.
func (n *Norm) IntegerExact() (bool, string) {
	return false, n.opName + " divides and is not exact on integers"
}

// ExpectCost: one element goes over its whole row up to three times.
func (n *Norm) ExpectCost() int64 {
	if n.Dim == 0 {
		return 4 * n.Rows
	}
	return 4 * n.Cols
}

// Expect has the element's row (or column) gone over once.
func (n *Norm) Expect(in *Inputs, out int, i int64) Expectation {
	start, step, count := i/n.Cols*n.Cols, int64(1), n.Cols
	if n.Dim == 0 {
		start, step, count = i%n.Cols, n.Cols, n.Rows
	}
	m := n.memory.of(in, start, func() moments {
		at := func(k int64) float64 { return in.At(0, start+k*step) }
		if count <= lineBlock { // every element is looked at several times
			line := make([]float64, count)
			in.Span(0, start, step, line)
			at = func(k int64) float64 { return line[k] }
		}
		return momentsOf(n.opName, at, count)
	})
	x := in.At(0, i)
	switch n.opName {
	case "softmax":
		return m.softmax(x)
	case "layer_norm":
		return m.layerNorm(x, in.At(1, i-start), in.At(2, i-start), n.Eps)
	}
	return m.rmsNorm(x, in.At(1, i-start), n.Eps)
}
