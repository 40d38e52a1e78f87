//go:build cuda && linux && cgo

package reduction_test

import (
	"math"
	"strings"
	"testing"

	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// fill makes n values.
func fill(n int64, f func(i int) float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = f(i)
	}
	return x
}

// each runs every kernel of an op on chosen inputs, aligned and one element off the alignment.
func each(t *testing.T, o op.Op, in map[string][]float64, check func(what string, out map[string][]float64)) {
	t.Helper()
	d := cudatest.Device(t)
	for _, k := range cudatest.Names(t, d, o) {
		for misalign := range int64(2) {
			out, err := cudatest.Apply(d, k, o, misalign, in)
			if err != nil || out == nil {
				t.Fatalf("%s of %s %s %v, misaligned by %d: %v", k, o.Name(), o.DType(), o.Params(), misalign, err)
			}
			what := k
			if misalign > 0 {
				what += " misaligned"
			}
			check(what, out)
		}
	}
}

// A row whose squares, or whose sum, fp32 does not hold has the norm of small numbers; the other rows are left alone.
func TestNormsOfNumbersWhoseSquaresLeaveFP32(t *testing.T) {
	const rows, large, cols = 3, 1, 256
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, name := range []string{"layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"} {
			o := cudatest.Op(t, name, d, "rows=3,cols=256")
			for _, v := range []float64{1e10, 4e18, 2e19, 8e37} {
				number := func(i int) float64 {
					if i/cols == large {
						return op.Round(d, v) * []float64{1, -1, 1}[i%3]
					}
					return float64(i%5-2) / 4
				}
				one, zero := func(int) float64 { return 1 }, func(int) float64 { return 0 }
				in := map[string][]float64{"x": fill(rows*cols, number), "gamma": fill(cols, one)}
				if strings.HasSuffix(name, "layer_norm") {
					in["beta"] = fill(cols, zero)
				}
				if strings.HasPrefix(name, "add_") {
					in["r"] = fill(rows*cols, zero)
				}
				var center, squares float64
				for _, x := range in["x"][large*cols : (large+1)*cols] {
					center += x / cols
				}
				if strings.HasSuffix(name, "rms_norm") {
					center = 0
				}
				for _, x := range in["x"][large*cols : (large+1)*cols] {
					squares += (x - center) / v * (x - center) / v
				}
				root := math.Sqrt(squares / cols)
				each(t, o, in, func(what string, out map[string][]float64) {
					for i, got := range out["y"] {
						want := (in["x"][i] - center) / v / root
						if i/cols == large && !(math.Abs(got-want) <= 0x1p-7*math.Abs(want)) || i/cols != large && !(math.Abs(got) < 2) {
							t.Errorf("%s: %s of %g: element (%d,%d) %g, want %g", what, name, v, i/cols, i%cols, got, want)
							break
						}
					}
				})
			}
		}
	}
}

// A row of one number, which rounded sums meet with errors of one sign: none is left to be divided by √ε.
func TestLayerNormOfARowOfOneNumberIsItsBeta(t *testing.T) {
	const x = 1.7000000476837158 // whose multiples fp32 rounds
	for _, cols := range []string{"1030", "8191"} {
		o := cudatest.Op(t, "layer_norm", record.FP32, "rows=1,cols="+cols)
		n := o.Tensors()[0].Elements()
		one := func(int) float64 { return 1 }
		in := map[string][]float64{"x": fill(n, func(int) float64 { return x }), "gamma": fill(n, one), "beta": fill(n, one)}
		each(t, o, in, func(what string, out map[string][]float64) {
			for i, got := range out["y"] {
				if want := 1.0; !(math.Abs(got-want) <= 2*0x1p-24*(x/math.Sqrt(1e-5)+1)+0x1p-24) {
					t.Errorf("%s of %s columns of %g: element %d %g, want %g", what, cols, x, i, got, want)
					break
				}
			}
		})
	}
}

// Each addition of a tree or of a chain of threads, warps and parts would lose nearly half of a last place: numbers of one sign, the first far above what the sums of the others reach.
func TestSumsOfFP64HoldTheirBoundWhateverTheNumbers(t *testing.T) {
	const u = 0x1p-53
	for _, shape := range []string{"rows=1,cols=9000,dim=all", "rows=9000,cols=3,dim=0", "rows=2,cols=4096,dim=1", "rows=3000,cols=8,dim=0"} {
		for _, name := range []string{"sum", "mean"} {
			o := cudatest.Op(t, name, record.FP64, shape)
			r := o.(*op.Reduction)
			in := map[string][]float64{"x": fill(r.Rows*r.Cols, func(i int) float64 {
				if first := map[int64]bool{-1: i == 0, 0: int64(i) < r.Cols, 1: int64(i)%r.Cols == 0}[r.Dim]; first {
					return 1
				}
				return 0.96 * u
			})}
			n := map[int64]int64{-1: r.Rows * r.Cols, 0: r.Rows, 1: r.Cols}[r.Dim]
			rest, divisor := float64(n-1)*0.96*u, 1.0
			if name == "mean" {
				divisor = float64(n)
			}
			each(t, o, in, func(what string, out map[string][]float64) {
				for i, got := range out["y"] {
					if off := (got - 1/divisor) - rest/divisor; !(math.Abs(off) <= 5*u*(1+rest)/divisor) {
						t.Errorf("%s: %s of %s: element %d is off by %g u, at most 5 are allowed", what, name, shape, i, off*divisor/u)
						break
					}
				}
			})
		}
	}
}

// Infinity is the sum's where no other says otherwise, in fp64 too, whose additions keep what they lose.
func TestInfinityReachesItsSum(t *testing.T) {
	inf := math.Inf(1)
	for _, d := range []record.DType{record.FP32, record.BF16, record.FP64} {
		for _, shape := range []string{"rows=3,cols=300,dim=1", "rows=300,cols=3,dim=0", "rows=1,cols=9000,dim=all"} {
			for _, more := range []float64{1, -inf} {
				o := cudatest.Op(t, "sum", d, shape)
				in := map[string][]float64{"x": fill(o.Tensors()[0].Elements(), func(i int) float64 { return float64(i % 2) })}
				in["x"][0], in["x"][len(in["x"])-1] = inf, inf
				want := inf
				if more < 0 {
					for i := range in["x"] {
						if i%2 == 1 {
							in["x"][i] = more
						}
					}
					want = math.NaN()
				}
				each(t, o, in, func(what string, out map[string][]float64) {
					if got := out["y"][0]; got != want && !(got != got && want != want) {
						t.Errorf("%s: sum of %s %s with infinity is %g, want %g", what, d, shape, got, want)
					}
				})
			}
		}
	}
}

// Equal exponentials, whose sum a chain of 32 additions in fp32 misses by 8.5 u.
func TestSoftmaxOfEqualNumbersHoldsItsBound(t *testing.T) {
	const below, u = -0.0606104955, 0x1p-24
	for _, shape := range []string{"rows=1,cols=16411", "rows=16411,cols=1,dim=0"} {
		o := cudatest.Op(t, "softmax", record.FP32, shape)
		n := o.Tensors()[0].Elements()
		in := map[string][]float64{"x": fill(n, func(i int) float64 { return op.Round(record.FP32, below) * float64(min(i, 1)) })}
		e := math.Exp(in["x"][1])
		sum := 1 + float64(n-1)*e
		each(t, o, in, func(what string, out map[string][]float64) {
			for i, got := range out["y"][:2] {
				want := math.Exp(in["x"][i]) / sum
				if bound := u * want * (3*(2-in["x"][i]-below*(sum-1)/sum) + 1); !(math.Abs(got-want) <= bound) {
					t.Errorf("%s: softmax of %s: element %d is off by %g u, at most %g are allowed", what, shape, i, (got/want-1)/u, bound/want/u)
				}
			}
		})
	}
}
