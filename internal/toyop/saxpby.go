// Package toyop is the worked example of docs/extending.md: an op and a family with one
// kernel. Its test shows that the text and this code are the same.
package toyop

import (
	"math"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Spec declares saxpby.
func Spec() op.Spec {
	return op.Spec{
		Name: "saxpby", Family: "toy", Suite: "toy", Item: "element", Metric: "gbps",
		Doc: "z = a*x + b*y: 3n FLOP, 3n elements",
		Params: []op.ParamSpec{
			{Name: "n", Doc: "elements", Min: 0, Max: 1 << 40},
			{Name: "a", Doc: "factor of x", Default: "2", Min: -8, Max: 8},
			{Name: "b", Doc: "factor of y", Default: "3", Min: -8, Max: 8},
		},
		DTypes: []record.DType{record.FP32},
		New: func(v op.Values, d record.DType) (op.Op, error) {
			return &Saxpby{N: v.Int("n"), A: v.Int("a"), B: v.Int("b"), params: v.List()}, nil
		},
	}
}

// Saxpby is z[i] = a·x[i] + b·y[i] over N elements.
type Saxpby struct {
	N, A, B int64
	params  []record.Param
}

// Name, Params, DType, Accumulate, Items: see op.Op.
func (s *Saxpby) Name() string             { return "saxpby" }
func (s *Saxpby) Params() []record.Param   { return s.params }
func (s *Saxpby) DType() record.DType      { return record.FP32 }
func (s *Saxpby) Accumulate() record.DType { return record.FP32 }
func (s *Saxpby) Items() int64             { return s.N }

// Tensors: x, y and z, all [n].
func (s *Saxpby) Tensors() []op.Tensor {
	vector := func(name string, role op.Role) op.Tensor {
		return op.Tensor{Name: name, Role: role, DType: record.FP32, Dims: []int64{s.N}}
	}
	return []op.Tensor{vector("x", op.In), vector("y", op.In), vector("z", op.Out)}
}

// FLOPs: two multiplications and one addition an element.
func (s *Saxpby) FLOPs() int64 { return op.Product(3, s.N) }

// Bytes: two arrays read, one written.
func (s *Saxpby) Bytes() int64 { return op.Product(3, s.N, record.FP32.Size()) }

// IntegerExact: small integers times small factors are exact.
func (s *Saxpby) IntegerExact() (bool, string) { return true, "" }

// Expect evaluates one element; its magnitude is |a·x| + |b·y|.
func (s *Saxpby) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	ax, by := float64(s.A)*in.At(0, i), float64(s.B)*in.At(1, i)
	return op.Expectation{Value: ax + by, Magnitude: math.Abs(ax) + math.Abs(by)}
}
