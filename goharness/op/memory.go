package op

import "ridge/goharness/record"

// MemorySpecs declares the ops on [rows, cols] arrays that only move data (REFERENCE 1.1):
// copy (2N elements), transpose (2N), fill (N) and add_scalar (2N).
func MemorySpecs() []Spec {
	spec := func(name, doc string) Spec {
		return Spec{
			Name: name, Family: "memory", Suite: "memory", Item: "element", Metric: "gbps", Doc: doc,
			Params: []ParamSpec{
				{Name: "rows", Doc: "rows of the array", Max: maxDim},
				{Name: "cols", Doc: "columns of the array", Max: maxDim},
			},
			DTypes: []record.DType{record.FP32, record.BF16},
			New: func(v Values, d record.DType) (Op, error) {
				r, c := v.Int("rows"), v.Int("cols")
				if name == "transpose" {
					return &Transpose{Rows: r, Cols: c, D: d, params: v.List()}, nil
				}
				return &Stream{opName: name, N: Product(r, c), dims: []int64{r, c}, D: d, params: v.List(), kind: streamKindOf(name)}, nil
			},
		}
	}
	return []Spec{
		spec("copy", "y = a, 2N bytes x element size"),
		spec("transpose", "y[cols,rows] = a[rows,cols]^T, the result contiguous (never a view), 2N"),
		spec("fill", "y = 3, N"),
		spec("add_scalar", "y = a + 3, 2N"),
	}
}

// Transpose is y[Cols,Rows] = a[Rows,Cols]ᵀ, both contiguous.
type Transpose struct {
	Rows, Cols int64
	D          record.DType
	params     []record.Param
}

func (t *Transpose) Name() string             { return "transpose" }
func (t *Transpose) Params() []record.Param   { return t.params }
func (t *Transpose) DType() record.DType      { return t.D }
func (t *Transpose) Accumulate() record.DType { return accumulatorOf(t.D) }
func (t *Transpose) Items() int64             { return Product(t.Rows, t.Cols) }

// Tensors: a [rows, cols] and y [cols, rows].
func (t *Transpose) Tensors() []Tensor {
	return []Tensor{
		{Name: "a", Role: In, DType: t.D, Dims: []int64{t.Rows, t.Cols}},
		{Name: "y", Role: Out, DType: t.D, Dims: []int64{t.Cols, t.Rows}},
	}
}

// FLOPs is 0.
func (t *Transpose) FLOPs() int64 { return 0 }

// Bytes reads and writes every element once.
func (t *Transpose) Bytes() int64 { return Product(2, t.Rows, t.Cols, t.D.Size()) }

// IntegerExact: a move.
func (t *Transpose) IntegerExact() (bool, string) { return true, "" }

// Expect is the mirrored element; nothing is rounded.
func (t *Transpose) Expect(in *Inputs, out int, i int64) Expectation {
	return Expectation{Value: in.At(0, i%t.Rows*t.Cols+i/t.Rows)}
}
