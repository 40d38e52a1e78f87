//go:build cgo && linux

package reduction_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
	"ridge/native/reduction"
)

// exactSums are the sums of a matrix along its dim in twice the precision of float64, high and low, with the sums of magnitudes.
func exactSums(m reduction.Matrix) (high, low, mag []float64) {
	n := map[int]int{-1: 1, 0: m.Cols, 1: m.Rows}[m.Dim]
	high, low, mag = make([]float64, n), make([]float64, n), make([]float64, n)
	for i, x := range m.X {
		at := 0
		switch m.Dim {
		case 0:
			at = i % m.Cols
		case 1:
			at = i / m.Cols
		}
		t := high[at] + x
		d := t - high[at]
		low[at] += (high[at] - (t - d)) + (x - d)
		high[at] = t
		mag[at] += math.Abs(x)
	}
	return high, low, mag
}

// Numbers of one sign, whose sum grows from addition to addition, and equal ones, whose roundings all fall to one side: a chain of additions
// errs by a part of its length, where random signs cancel both. Every kernel stays within its bound for every length, with one thread and as three.
func TestSumsOfOneSignStayWithinTheBoundWhateverTheLength(t *testing.T) {
	bound := map[string]float64{}
	b := native.New()
	for _, f := range b.Families {
		for _, k := range f.Kernels {
			bound[k.Name] = k.BoundC
		}
	}
	src := rand.New(rand.NewPCG(5, 6))
	constant := func(v float64) func() float64 { return func() float64 { return v } }
	fills := map[string]func() float64{
		"uniform(0,1)": src.Float64, "uniform(1,2)": func() float64 { return 1 + src.Float64() },
		"1.9999999": constant(1.9999999), "1.1": constant(1.1), "3.3": constant(3.3),
	}
	shapes := []reduction.Matrix{
		{Rows: 150001, Cols: 1, Dim: 0}, {Rows: 20003, Cols: 5, Dim: 0}, {Rows: 2000, Cols: 16, Dim: 0}, {Rows: 403, Cols: 271, Dim: 0},
		{Rows: 1, Cols: 150001, Dim: 1}, {Rows: 3, Cols: 4096, Dim: 1}, {Rows: 2, Cols: 16384, Dim: 1}, {Rows: 9, Cols: 77, Dim: 1},
		{Rows: 4930, Cols: 8, Dim: -1}, {Rows: 3, Cols: 200003, Dim: -1}, // 4.8 MB of fp64: as four streams on some kernels
	}
	for _, d := range []record.DType{record.FP64, record.FP32, record.BF16} {
		acc := kerneltest.Op(t, "sum", d, params("rows", 1, "cols", 1)).Accumulate()
		names := kerneltest.Names(b, kerneltest.Op(t, "sum", d, params("rows", 1, "cols", 1)))
		for _, m := range shapes {
			for fill, next := range fills {
				m.X = make([]float64, m.Rows*m.Cols)
				for i := range m.X {
					m.X[i] = op.Round(d, next())
				}
				high, low, mag := exactSums(m)
				for _, name := range []string{"sum", "mean"} {
					over := 1.0
					if name == "mean" {
						over = float64(len(m.X) / len(high))
					}
					for _, k := range names {
						for _, threads := range []int{1, 3} {
							got, err := reduction.Reduce(k, name, threads, m)
							if err != nil {
								t.Fatal(err)
							}
							for i, y := range got {
								// Of a mean what y*over differs by, from one rounding.
								off := math.Abs(math.FMA(y, over, -high[i])-low[i]) / over
								if most := (bound[k]*acc.Unit()*mag[i] + d.Unit()*math.Abs(high[i])) / over; !(off <= most) {
									t.Errorf("%s %s of %d x %d along %d of %s, %d threads: element %d is %.17g, off by %.2f u sum|x|, bound %.2f", k, name, m.Rows, m.Cols, m.Dim, fill,
										threads, i, y, off*over/mag[i]/acc.Unit(), most*over/mag[i]/acc.Unit())
									break
								}
							}
						}
					}
				}
			}
		}
	}
}

// An infinity stays one: what the additions around it lose is not a number, and left out. Infinities of both signs, and NaN, give NaN.
func TestSumsWithInfinityAndNaN(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct{ first, last, want float64 }{{inf, 1, inf}, {1, -inf, -inf}, {inf, inf, inf}, {inf, -inf, nan}, {nan, 1, nan}, {1, nan, nan}} {
		for _, d := range []record.DType{record.FP64, record.FP32, record.BF16} {
			for _, k := range kerneltest.Names(native.New(), kerneltest.Op(t, "sum", d, params("rows", 1, "cols", 1))) {
				for dim := -1; dim <= 1; dim++ {
					m := reduction.Matrix{Rows: 1, Cols: 301, Dim: dim, X: make([]float64, 301)}
					if dim == 0 {
						m.Rows, m.Cols = 301, 1
					}
					for i := range m.X {
						m.X[i] = 1
					}
					m.X[3], m.X[299] = c.first, c.last
					for _, name := range []string{"sum", "mean"} {
						for _, threads := range []int{1, 3} {
							if got, err := reduction.Reduce(k, name, threads, m); err != nil || !same(got[0], c.want) {
								t.Errorf("%s %s along %d of %g and %g among ones, %d threads: %v, %v, want %g", k, name, dim, c.first, c.last, threads, got, err, c.want)
							}
						}
					}
				}
			}
		}
	}
}
