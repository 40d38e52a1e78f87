package op

import (
	"math"

	"ridge/goharness/record"
)

// Argmax is the index of the largest element of x[rows, cols]: of all in row-major order, along the
// rows (dim 0: one row number per column) or along the columns (dim 1: one column number per
// row). Of equal elements the first wins. A NaN counts as larger than all numbers, so that the
// first NaN wins.
type Argmax struct {
	Reduction
}

// ArgmaxSpec declares argmax.
func ArgmaxSpec() Spec {
	return Spec{
		Name: "argmax", Family: "reduction", Suite: "reduction", Item: "element", Metric: "gbps",
		Doc: "index (int64) of the largest of x[rows,cols]: of all elements, over rows (dim 0) or over columns (dim 1); " +
			"of equal ones the first, NaN above all numbers; 1 FLOP (comparison) per element",
		Params: append(matrixParams(1),
			ParamSpec{Name: "dim", Doc: "dimension that disappears", Default: "all", Enum: []string{"all", "0", "1"}}),
		DTypes: []record.DType{record.FP64, record.FP32, record.BF16},
		New: func(v Values, d record.DType) (Op, error) {
			return &Argmax{Reduction{opName: "argmax", Rows: v.Int("rows"), Cols: v.Int("cols"), Dim: dimension(v), D: d, params: v.List()}}, nil
		},
	}
}

// Tensors: x, and y of int64.
func (a *Argmax) Tensors() []Tensor {
	ts := a.Reduction.Tensors()
	ts[1].DType = record.INT64
	return ts
}

// Bytes reads x once and writes y.
func (a *Argmax) Bytes() int64 { return tensorBytes(a.Tensors()) }

// IntegerExact: an index is exact, and small integers have many equal elements.
func (a *Argmax) IntegerExact() (bool, string) { return true, "" }

// Expect looks for the first of the largest elements of a line.
func (a *Argmax) Expect(in *Inputs, out int, i int64) Expectation {
	start, step, n := a.line(i)
	buf := make([]float64, min(lineBlock, n))
	best, at := math.Inf(-1), int64(0)
	for from := int64(0); from < n; from += lineBlock {
		x := buf[:min(lineBlock, n-from)]
		in.Span(0, start+from*step, step, x)
		for k, v := range x {
			if v > best || math.IsNaN(v) && !math.IsNaN(best) {
				best, at = v, from+int64(k)
			}
		}
	}
	return Expectation{Value: float64(at)}
}
