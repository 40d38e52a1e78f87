package op

import (
	"math"

	"ridge/goharness/record"
)

// SwiGLU is Y[M,N] = silu(X[M,K]·G[N,K]ᵀ) ∘ (X[M,K]·U[N,K]ᵀ), row-major: the gated half of a transformer's feed-forward layer
// (Shazeer 2020). The weights are two matrices stored [out,in], as models hold gate and up projections and as the
// linear layers of an unfused chain take them.
type SwiGLU struct {
	M, N, K int64
	Packed  bool // both weights are packed beforehand
	D       record.DType
	params  []record.Param
}

// SwiGLUSpec declares swiglu.
func SwiGLUSpec() Spec {
	return Spec{
		Name: "swiglu", Family: "gemm", Suite: "linear", Item: "row (token)", Metric: "gflops", Batch: "m",
		Doc: "Y[M,N] = silu(X[M,K]*G[N,K]^T) * (X[M,K]*U[N,K]^T), element by element; weights stored [out,in]",
		Params: []ParamSpec{
			{Name: "m", Doc: "rows (batch × tokens)", Min: 0, Max: maxDim},
			{Name: "n", Doc: "output features", Min: 0, Max: maxDim},
			{Name: "k", Doc: "input features", Min: 1, Max: maxDim},
			{Name: "packed", Doc: "1: both weights are packed beforehand, untimed, as constants of inference are", Default: "0", Enum: []string{"0", "1"}},
		},
		DTypes: []record.DType{record.FP32, record.BF16},
		New: func(v Values, d record.DType) (Op, error) {
			return &SwiGLU{M: v.Int("m"), N: v.Int("n"), K: v.Int("k"), Packed: v.Bool("packed"), D: d, params: v.List()}, nil
		},
	}
}

func (s *SwiGLU) Name() string             { return "swiglu" }
func (s *SwiGLU) Params() []record.Param   { return s.params }
func (s *SwiGLU) DType() record.DType      { return s.D }
func (s *SwiGLU) Accumulate() record.DType { return record.FP32 }
func (s *SwiGLU) Items() int64             { return s.M }

// PackedOperands implements Packer.
func (s *SwiGLU) PackedOperands() []string {
	if s.Packed {
		return []string{"gate", "up"}
	}
	return nil
}

// Tensors: a (X), gate (G), up (U), c (Y).
func (s *SwiGLU) Tensors() []Tensor {
	in := func(name string, rows int64) Tensor {
		return Tensor{Name: name, Role: In, DType: s.D, Dims: []int64{rows, s.K}, Fill: FillUniform}
	}
	return []Tensor{in("a", s.M), in("gate", s.N), in("up", s.N), {Name: "c", Role: Out, DType: s.D, Dims: []int64{s.M, s.N}}}
}

// FLOPs is 4·M·N·K for the products and 6·M·N for SiLU and the multiplication.
func (s *SwiGLU) FLOPs() int64 {
	n, extra := Product(4, s.M, s.N, s.K), Product(1+actFLOPs("silu"), s.M, s.N)
	if n > math.MaxInt64-extra {
		return math.MaxInt64
	}
	return n + extra
}

// Bytes reads X and both weights and writes Y, once each.
func (s *SwiGLU) Bytes() int64 { return tensorBytes(s.Tensors()) }

// IntegerExact is false: SiLU is not exact on integers.
func (s *SwiGLU) IntegerExact() (bool, string) {
	return false, "the activation silu is not exact on integers"
}

// Halves are the expectations of the two sums of element i of Y.
func (s *SwiGLU) Halves(in *Inputs, i int64) (gate, up Expectation) {
	x, g, u := make([]float64, s.K), make([]float64, s.K), make([]float64, s.K)
	in.Span(0, i/s.N*s.K, 1, x)
	in.Span(1, i%s.N*s.K, 1, g)
	in.Span(2, i%s.N*s.K, 1, u)
	var a, b dot
	a.add(x, g)
	b.add(x, u)
	return Expectation{Value: a.sum, Magnitude: a.mag}, Expectation{Value: b.sum, Magnitude: b.mag}
}

// Expect is one element in float64. An error e of one factor changes the product by e times the other, to first order; the
// product of both errors is below u times either and inside the constant.
func (s *SwiGLU) Expect(in *Inputs, out int, i int64) Expectation {
	gate, up := s.Halves(in, i)
	g := activate("silu", gate.Value, gate.Magnitude)
	v := g.Value * up.Value
	return Expectation{Value: v, Magnitude: g.Magnitude*math.Abs(up.Value) + math.Abs(g.Value)*up.Magnitude + math.Abs(v)}
}
