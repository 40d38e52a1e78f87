package op

import "ridge/goharness/record"

// Gemv is y[m] = A[m,n]·x[n], A row-major.
type Gemv struct {
	M, N   int64
	D      record.DType
	params []record.Param
}

// GemvSpec declares gemv.
func GemvSpec() Spec {
	return Spec{
		Name: "gemv", Family: "gemm", Suite: "blas", Item: "matrix-vector product", Metric: "gbps",
		Doc: "y[m] = A[m,n]*x[n], row-major",
		Params: []ParamSpec{
			{Name: "m", Doc: "rows of A", Min: 0, Max: maxDim},
			{Name: "n", Doc: "columns of A", Min: 0, Max: maxDim},
		},
		DTypes: []record.DType{record.FP64, record.FP32},
		New: func(v Values, d record.DType) (Op, error) {
			return &Gemv{M: v.Int("m"), N: v.Int("n"), D: d, params: v.List()}, nil
		},
	}
}

func (g *Gemv) Name() string             { return "gemv" }
func (g *Gemv) Params() []record.Param   { return g.params }
func (g *Gemv) DType() record.DType      { return g.D }
func (g *Gemv) Accumulate() record.DType { return g.D }
func (g *Gemv) Items() int64             { return 1 }

// Tensors: A, x, y.
func (g *Gemv) Tensors() []Tensor {
	return []Tensor{
		{Name: "a", Role: In, DType: g.D, Dims: []int64{g.M, g.N}},
		{Name: "x", Role: In, DType: g.D, Dims: []int64{g.N}},
		{Name: "y", Role: Out, DType: g.D, Dims: []int64{g.M}},
	}
}

// FLOPs is 2·m·n.
func (g *Gemv) FLOPs() int64 { return Product(2, g.M, g.N) }

// Bytes reads A and x and writes y: n² + 2n elements when square.
func (g *Gemv) Bytes() int64 { return tensorBytes(g.Tensors()) }

// IntegerExact: sums of small integers are exact.
func (g *Gemv) IntegerExact() (bool, string) { return true, "" }

// Expect computes one dot product in float64.
func (g *Gemv) Expect(in *Inputs, out int, i int64) Expectation {
	var d dot
	d.addSpans(in, 0, i*g.N, 1, 1, 0, 1, g.N)
	return Expectation{Value: d.sum, Magnitude: d.mag}
}
