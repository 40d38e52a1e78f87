package op

import (
	"ridge/goharness/record"
)

// AddNorm is the end of a transformer's block: z = x + r rounded to the dtype and y = layer_norm(z) or
// rms_norm(z) along the columns of [rows, cols]. Both are outputs: z is the residual stream that the next block adds to.
type AddNorm struct {
	norm       *Norm // of z
	opName     string
	Rows, Cols int64
	Eps        float64
	D          record.DType
	params     []record.Param
}

// AddNormSpecs declares add_layer_norm and add_rms_norm: 1 FLOP per element more than the norms.
func AddNormSpecs() []Spec {
	var out []Spec
	for _, n := range []struct{ norm, doc string }{
		{"layer_norm", "z = x + r and y = layer_norm(z)*gamma[cols] + beta[cols], both written; 8 FLOP per element"},
		{"rms_norm", "z = x + r and y = rms_norm(z)*gamma[cols], both written; 5 FLOP per element"},
	} {
		out = append(out, Spec{
			Name: "add_" + n.norm, Family: "reduction", Suite: "reduction", Item: "row (token)", Metric: "gbps", Batch: "rows", Doc: n.doc,
			Params: matrixParams(0),
			DTypes: []record.DType{record.FP32, record.BF16},
			New: func(v Values, d record.DType) (Op, error) {
				a := &AddNorm{opName: "add_" + n.norm, Rows: v.Int("rows"), Cols: v.Int("cols"), Eps: NormEps, D: d, params: v.List()}
				a.norm = &Norm{opName: n.norm, Rows: a.Rows, Cols: a.Cols, Dim: 1, Eps: NormEps, D: d}
				return a, nil
			},
		})
	}
	return out
}

func (a *AddNorm) Name() string             { return a.opName }
func (a *AddNorm) Params() []record.Param   { return a.params }
func (a *AddNorm) DType() record.DType      { return a.D }
func (a *AddNorm) Accumulate() record.DType { return record.FP32 }
func (a *AddNorm) Items() int64             { return a.Rows }

// Tensors: x, r, gamma, [beta], z, y. r is around 1, so that a variance computed as E[z²] − E[z]² would show.
func (a *AddNorm) Tensors() []Tensor {
	n := a.norm.Tensors() // x, gamma, [beta], y
	x := Tensor{Name: "x", Role: In, DType: a.D, Dims: n[0].Dims}
	r, z := x, x
	r.Name, r.Fill = "r", FillPositive
	z.Name, z.Role = "z", Out
	ts := append([]Tensor{x, r}, n[1:len(n)-1]...)
	return append(ts, z, n[len(n)-1])
}

// FLOPs is one addition per element and the norm's modelled count.
func (a *AddNorm) FLOPs() int64 { return a.norm.FLOPs() + Product(a.Rows, a.Cols) }

// Bytes: 4N elements and the vectors.
func (a *AddNorm) Bytes() int64 { return tensorBytes(a.Tensors()) }

// IntegerExact never holds.
func (a *AddNorm) IntegerExact() (bool, string) { return a.norm.IntegerExact() }

// ExpectCost is the norm's, over a sum.
func (a *AddNorm) ExpectCost() int64 { return 2 * a.norm.ExpectCost() }

// sum is element i of z as it is stored: the sum in fp32, rounded to the dtype.
func (a *AddNorm) sum(in *Inputs, i int64) float64 {
	return Round(a.D, Round(record.FP32, in.At(0, i)+in.At(1, i)))
}

// Expect of z is the sum itself, whose two roundings are known; of y the norm of the stored sums.
func (a *AddNorm) Expect(in *Inputs, out int, i int64) Expectation {
	z := a.sum(in, i)
	if ts := a.Tensors(); ts[out].Name == "z" {
		return Expectation{Value: z}
	}
	col, start := i%a.Cols, i/a.Cols*a.Cols
	m := a.norm.memory.of(in, start, func() moments {
		at := func(k int64) float64 { return a.sum(in, start+k) }
		if a.Cols <= lineBlock { // every element is looked at several times
			line, r := make([]float64, a.Cols), make([]float64, a.Cols)
			in.Span(0, start, 1, line)
			in.Span(1, start, 1, r)
			for k := range line {
				line[k] = Round(a.D, Round(record.FP32, line[k]+r[k]))
			}
			at = func(k int64) float64 { return line[k] }
		}
		return momentsOf(a.norm.opName, at, a.Cols)
	})
	if a.norm.opName == "layer_norm" {
		return m.layerNorm(z, in.At(2, col), in.At(3, col), a.Eps)
	}
	return m.rmsNorm(z, in.At(2, col), a.Eps)
}
