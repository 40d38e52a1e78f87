//go:build cgo && linux

package gemm_test

import (
	"fmt"
	"math"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/gemm"
	"ridge/native/kerneltest"
)

// applied gives what each kernel makes of the operands to check, and tells how many took the shape.
func applied(t *testing.T, o *op.Gemm, operands [][]float64, check func(kernel string, got []float64)) (ran int) {
	t.Helper()
	for _, name := range kerneltest.Names(native.New(), o) {
		got, err := gemm.Family().Apply(name, o, operands)
		if err != nil {
			t.Error(err)
		}
		if got != nil {
			ran++
			check(name, got)
		}
	}
	return ran
}

// Sums that are infinite or NaN: row 0 of X is infinity against weights of sign +, -, and both (infinity - infinity). A
// bias of infinity reaches the same in the other rows. What is finite must stay the finite result.
func TestActivationsOfSpecialSums(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	limits := map[string][2]float64{"none": {inf, -inf}, "relu": {inf, 0}, "gelu": {inf, 0}, "gelu_tanh": {inf, 0}, "silu": {inf, 0}} // at +inf, -inf
	// Whole tiles and parts, one and three rows, small and packed products, one and two blocks of K.
	for _, s := range [][3]int{{1, 37, 12}, {3, 37, 300}, {13, 37, 12}, {29, 70, 300}, {6, 32, 700}} {
		m, n, k := s[0], s[1], s[2]
		x, w, bias := make([]float64, m*k), make([]float64, n*k), make([]float64, n)
		for i := range x {
			x[i] = float64(i%3-1) / 2
		}
		x[0], x[1] = inf, inf
		for j := range n {
			for q := range k {
				w[j*k+q] = float64((j+q)%5-2) / 4
			}
			w[j*k], w[j*k+1] = [4]float64{1, -1, 1, 1}[j%4], [4]float64{1, -1, -1, 1}[j%4]
			bias[j] = []float64{0, 1, 0, 0, inf, -inf, nan, 2}[j%8]
		}
		for _, d := range []record.DType{record.FP32, record.BF16} {
			for act, limit := range limits {
				l := kerneltest.Op(t, "linear", d, shape(m, n, k, "act", act)).(*op.Gemm)
				ran := applied(t, l, [][]float64{x, w, bias}, func(name string, got []float64) {
					for i, y := range got {
						row, col := i/n, i%n
						sum := bias[col]
						for q := range k {
							sum += x[row*k+q] * w[col*k+q]
						}
						want := fmt.Sprint("finite, about ", op.Activate(act, sum))
						ok := math.Abs(y-op.Activate(act, sum)) <= 0.01*(1+math.Abs(sum))
						switch {
						case math.IsNaN(sum):
							want, ok = "NaN", math.IsNaN(y)
						case math.IsInf(sum, 1):
							want, ok = fmt.Sprint(limit[0]), y == limit[0]
						case math.IsInf(sum, -1):
							want, ok = fmt.Sprint(limit[1]), y == limit[1]
						}
						if !ok {
							t.Errorf("%s %s %dx%dx%d: element (%d,%d), %s of %g: %g, want %s", name, d, m, n, k, row, col, act, sum, y, want)
							break
						}
					}
				})
				if ran < 2 {
					t.Errorf("%s %v: %d kernels ran", d, s, ran)
				}
			}
		}
	}
}

// The last element of a row of A is infinite, at K even and odd: sums of its row are, of B's sign, and no lane beside them that multiplies nothing
// makes a NaN of one. Widths of parts of a vector, of whole ones with a part behind, and more.
func TestInfiniteElementsReachTheSumsOfTheirRowAlone(t *testing.T) {
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16} {
		for _, n := range []int{1, 3, 4, 8, 11, 12, 20, 24, 40} {
			for _, s := range [][2]int{{2, 1}, {5, 6}, {9, 9}, {16, 8}, {20, 11}, {31, 71}} {
				m, k := s[0], s[1]
				x, w := make([]float64, m*k), make([]float64, k*n)
				for i := range x {
					x[i] = 0.5
				}
				for i := range w {
					w[i] = float64(i%2*2 - 1)
				}
				row := m / 2
				x[row*k+k-1] = math.Inf(1)
				o := kerneltest.Op(t, "gemm", d, shape(m, n, k)).(*op.Gemm)
				ran := applied(t, o, [][]float64{x, w}, func(name string, got []float64) {
					for i, y := range got {
						want := 0.0
						for q := range k {
							want += x[i/n*k+q] * w[q*n+i%n]
						}
						if y != want {
							t.Errorf("%s %s %dx%dx%d: element (%d,%d) is %g, want %g", name, d, m, n, k, i/n, i%n, y, want)
							break
						}
					}
				})
				if ran < 2 {
					t.Errorf("%s %dx%dx%d: %d kernels ran", d, m, n, k, ran)
				}
			}
		}
	}
}

// Integer kernels add a matrix D, beta 1, which the op's parameters leave to floating point.
func TestIntegerKernelsAddAMatrix(t *testing.T) {
	for _, s := range [][3]int{{1, 5, 3}, {2, 33, 40}, {20, 33, 40}, {37, 70, 130}} {
		m, n, k := s[0], s[1], s[2]
		a, b, d := make([]float64, m*k), make([]float64, k*n), make([]float64, m*n)
		for i := range a {
			a[i] = float64(i * 7 % 100)
		}
		for i := range b {
			b[i] = float64(i*5%255 - 127)
		}
		for i := range d {
			d[i] = float64(i*1000003%2000003 - 1000001)
		}
		for _, dtype := range []record.DType{record.INT8, record.U8S8} {
			o := kerneltest.Op(t, "gemm", dtype, shape(m, n, k)).(*op.Gemm)
			o.Beta = 1
			ran := applied(t, o, [][]float64{a, b, d}, func(name string, got []float64) {
				for i, y := range got {
					want := d[i]
					for q := range k {
						want += a[i/n*k+q] * b[q*n+i%n]
					}
					if y != want {
						t.Errorf("%s, %d x %d x %d: element %d is %g, want %g", name, m, n, k, i, y, want)
						return
					}
				}
			})
			if ran == 0 {
				t.Errorf("%s: no kernel took a product and a matrix", dtype)
			}
		}
	}
}
