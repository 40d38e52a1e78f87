package op

import (
	"math"

	"ridge/goharness/record"
)

// Blas1Specs declares axpy and dot.
//
// axpy is out of place, z = s·x + y: the in-place form of BLAS would add up over the
// launches of one measurement and end in infinities. Its 2n FLOP and 3n elements are BLAS's;
// the one difference is that the third array is another one than the second.
func Blas1Specs() []Spec {
	dot := streamSpec("dot", "blas", "y = sum a[i]*b[i]: 2n FLOP, 2n elements read")
	dot.New = func(v Values, d record.DType) (Op, error) {
		return &Dot{N: v.Int("n"), D: d, params: v.List()}, nil
	}
	axpy := streamSpec("axpy", "blas", "z = 3*x + y, out of place (in place it would accumulate over launches): 2n FLOP, 3n elements")
	return []Spec{dot, axpy}
}

// Dot is y[0] = Σ a[i]·b[i] over N elements, accumulated in the arrays' format.
type Dot struct {
	N      int64
	D      record.DType
	params []record.Param
}

func (d *Dot) Name() string             { return "dot" }
func (d *Dot) Params() []record.Param   { return d.params }
func (d *Dot) DType() record.DType      { return d.D }
func (d *Dot) Accumulate() record.DType { return d.D }
func (d *Dot) Items() int64             { return d.N }

// Tensors: a, b [n] and y [1].
func (d *Dot) Tensors() []Tensor {
	return []Tensor{
		{Name: "a", Role: In, DType: d.D, Dims: []int64{d.N}, Fill: FillBalanced, IntRange: dotRange},
		{Name: "b", Role: In, DType: d.D, Dims: []int64{d.N}, Fill: FillBalanced, IntRange: dotRange},
		{Name: "y", Role: Out, DType: d.D, Dims: []int64{1}},
	}
}

// FLOPs is 2n.
func (d *Dot) FLOPs() int64 { return Product(2, d.N) }

// Bytes reads both arrays; the one result is not counted (REFERENCE 1.2: 2n elements).
func (d *Dot) Bytes() int64 { return Product(2, d.N, d.D.Size()) }

// dotRange: factors are odd numbers to ±11, so that no product is 0 and a pair left out shows.
const dotRange = 11

// IntegerExact: products are at most 121 and of both signs; their sums grow like a random walk
// of steps of 48, below 2^24 for 10^10 elements at three standard deviations.
func (d *Dot) IntegerExact() (bool, string) { return true, "" }

// Expect adds in twice float64's precision (Neumaier's summation with exact products), so
// that an fp64 kernel is compared with something better than itself.
func (d *Dot) Expect(in *Inputs, out int, _ int64) Expectation {
	var sum, low, mag float64
	for i := int64(0); i < d.N; i++ {
		a, b := in.At(0, i), in.At(1, i)
		p := float64(a * b)
		low += math.FMA(a, b, -p)
		t := sum + p
		if math.Abs(sum) >= math.Abs(p) {
			low += (sum - t) + p
		} else {
			low += (p - t) + sum
		}
		sum = t
		mag += math.Abs(p)
	}
	return Expectation{Value: sum + low, Magnitude: mag}
}
