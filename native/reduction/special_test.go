//go:build cgo && linux

package reduction_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
	"ridge/native/reduction"
)

// normKernels of an op that run here, those with non-temporal stores at every size too.
func normKernels(t *testing.T, opName string, d record.DType) []string {
	t.Helper()
	b := native.New()
	names := kerneltest.Names(b, kerneltest.Op(t, opName, d, params("rows", 1, "cols", 8)))
	for _, f := range b.Families {
		for _, k := range f.Kernels {
			if plain, found := strings.CutSuffix(k.Name, "_nt"); found && slices.Contains(names, plain) {
				names = append(names, k.Name)
			}
		}
	}
	return names
}

func same(a, b float64) bool { return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b }

// The sums that an addition and a norm store are those of fp32 rounded to the data's type, nearest, ties to even, for any bits: ties,
// denormals, sums that round to infinity, NaN of any payload. Rows are odd, longer than a group, and begin anywhere.
func TestSumsBesideANormAreRoundedToNearestForAnyBits(t *testing.T) {
	const cols = 271
	src := rand.New(rand.NewPCG(11, 12))
	rows := 200
	if testing.Short() {
		rows = 40
	}
	number := func(bits uint32) float64 { return float64(math.Float32frombits(bits << 16)) }
	r := reduction.Rows{Cols: cols, Eps: 1e-5, X: make([]float64, rows*cols), R: make([]float64, rows*cols), Gamma: make([]float64, cols), Beta: make([]float64, cols)}
	for i := range r.X {
		x := src.Uint32() & 0xffff
		y := src.Uint32() & 0x807f
		// An exponent near the other's, so that the sum has more bits than bf16 and is often a tie, as with 8 below.
		switch e := int(x>>7&255) + []int{-9, -8, -8, -8, -7, -4, 0, 1, 8}[i%9]; {
		case i%31 == 0:
			y = src.Uint32() & 0xffff
		default:
			y |= uint32(min(max(e, 0), 255)) << 7
		}
		r.X[i], r.R[i] = number(x), number(y)
	}
	// Corners: largest and its tie to infinity, denormals, zeros of both signs, infinities that cancel, NaN.
	corners := [][2]uint32{{0x7f7f, 0x7b00}, {0x7f7f, 0x7aff}, {0xff7f, 0xfb00}, {1, 1}, {0x8001, 0x8001}, {0x007f, 1}, {1, 0x8001}, {0, 0x8000}, {0x8000, 0x8000},
		{0x7f80, 0xff80}, {0x7f80, 0x7f80}, {0x7fff, 0x3f80}, {0xffff, 0x3f80}, {0x3f80, 0x7f81}, {0x7fff, 0xffff}, {0x3f80, 0x3b80}, {0x3f81, 0x3b80}, {0x3f81, 0xbb80}}
	for i, c := range corners {
		for _, at := range []int{i, cols - 1 - i, 2*cols + 64 + i, 3*cols + 65 + i} {
			r.X[at], r.R[at] = number(c[0]), number(c[1])
		}
	}
	for i := range r.Gamma {
		r.Gamma[i], r.Beta[i] = 1, 0
	}
	for _, d := range []record.DType{record.BF16, record.FP32} {
		for _, name := range []string{"add_layer_norm", "add_rms_norm"} {
			for _, k := range normKernels(t, name, d) {
				for _, r.Offset = range []int{0, 1} {
					z, _, err := reduction.Norm(k, name, r)
					if err != nil {
						t.Fatal(err)
					}
					for i := range z {
						if want := op.Round(d, op.Round(record.FP32, r.X[i]+r.R[i])); !same(z[i], want) {
							t.Errorf("%s, offset %d, element %d: %g + %g stored as %g, want %g", k, r.Offset, i, r.X[i], r.R[i], z[i], want)
							break
						}
					}
				}
			}
		}
	}
}

// A row with NaN or infinity, at any place of it, spoils that row alone: NaN everywhere, but rms_norm divides by infinity and
// gives zeros beside the NaN of infinity/infinity. The rows around stay what they are without it.
func TestNormsKeepNaNAndInfinityInTheirRow(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, cols := range []int{3, 7, 16, 20, 31, 64, 131, 271} {
		const rows, bad = 5, 2
		r := reduction.Rows{Cols: cols, Eps: 1e-5, X: make([]float64, rows*cols), R: make([]float64, rows*cols), Gamma: make([]float64, cols), Beta: make([]float64, cols)}
		for i := range r.X {
			r.X[i], r.R[i] = float64(i%5)/4, float64(i%3)/2
		}
		for i := range r.Gamma {
			r.Gamma[i], r.Beta[i] = 1+float64(i%2)/2, float64(i%7)/8
		}
		for _, d := range []record.DType{record.BF16, record.FP32} {
			for _, name := range []string{"softmax", "layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"} {
				in := r
				if !strings.HasPrefix(name, "add_") {
					in.R = nil
				}
				for _, k := range normKernels(t, name, d) {
					_, plain, err := reduction.Norm(k, name, in)
					if err != nil {
						t.Fatal(err)
					}
					for _, v := range []float64{nan, inf, -inf} {
						if name == "softmax" { // NaN only: of the infinities only +inf spoils a row
							v = nan
						}
						for _, at := range []int{0, 1, cols / 2, cols - 1} {
							in.X = slices.Clone(r.X)
							in.X[bad*cols+at] = v
							_, y, err := reduction.Norm(k, name, in)
							if err != nil {
								t.Fatal(err)
							}
							for i, got := range y {
								want := plain[i]
								if i/cols == bad {
									want = nan
									if strings.HasSuffix(name, "rms_norm") && v == v && i%cols != at {
										want = 0
									}
								}
								if !same(got, want) {
									t.Errorf("%s %s, %d columns with %g in column %d of row %d: element (%d,%d) %g, want %g", k, name, cols, v, at, bad, i/cols, i%cols, got, want)
									break
								}
							}
						}
					}
					in.X = r.X
				}
			}
		}
	}
}

// Denormals are numbers: beside eps = 1 their squares vanish, and the norm of them is themselves.
func TestNormsOfDenormalsAreThoseOfTheirNumbers(t *testing.T) {
	for _, cols := range []int{9, 131} {
		r := reduction.Rows{Cols: cols, X: make([]float64, 2*cols), R: make([]float64, 2*cols), Gamma: make([]float64, cols), Beta: make([]float64, cols), Eps: 1}
		for i := range r.X {
			r.X[i] = float64(i%9-4) * 0x1p-133
		}
		for i := range r.Gamma {
			r.Gamma[i] = 1
		}
		for _, name := range []string{"rms_norm", "add_rms_norm"} {
			in := r
			if name == "rms_norm" {
				in.R = nil
			}
			for _, k := range normKernels(t, name, record.BF16) {
				_, y, err := reduction.Norm(k, name, in)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(y) != fmt.Sprint(r.X) {
					t.Errorf("%s of denormals with eps 1: %g, want the input %g", k, y[:9], r.X[:9])
				}
			}
		}
	}
}

// Numbers whose squares, or whose sum, fp32 does not hold have the norms of small ones, in rows of any length, and leave the other rows alone.
func TestNormsOfNumbersWhoseSquaresLeaveFP32(t *testing.T) {
	const rows, large = 3, 1
	for _, cols := range []int{3, 7, 16, 29, 33, 64, 100, 256, 2119} {
		for _, v := range []float64{1e10, 4e18, 2e19, 1e30, 8e37} {
			r := reduction.Rows{Cols: cols, Eps: 1e-5, X: make([]float64, rows*cols), R: make([]float64, rows*cols), Gamma: make([]float64, cols), Beta: make([]float64, cols)}
			var sum float64
			for i := range r.X {
				r.X[i] = float64(i%5-2) / 4
				if i/cols == large {
					r.X[i] = v * []float64{1, -1, 1}[i%3]
					sum += r.X[i]
				}
			}
			for i := range r.Gamma {
				r.Gamma[i] = 1
			}
			mean := sum / float64(cols)
			for _, d := range []record.DType{record.BF16, record.FP32} {
				for _, name := range []string{"layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"} {
					in, center := r, 0.0
					if !strings.HasPrefix(name, "add_") {
						in.R = nil
					}
					if strings.HasSuffix(name, "layer_norm") {
						center = mean
					}
					var squares float64
					for _, x := range r.X[large*cols : (large+1)*cols] {
						squares += (x - center) / v * (x - center) / v
					}
					root := math.Sqrt(squares / float64(cols))
					for _, k := range normKernels(t, name, d) {
						_, y, err := reduction.Norm(k, name, in)
						if err != nil {
							t.Fatal(err)
						}
						for i, got := range y {
							want := (r.X[i] - center) / v / root
							if i/cols == large && !(math.Abs(got-want) <= 0x1p-7*math.Abs(want)) || i/cols != large && !(math.Abs(got) < 2) {
								t.Errorf("%s %s, %d columns of about %g: element (%d,%d) %g, want %g", k, name, cols, v, i/cols, i%cols, got, want)
								break
							}
						}
					}
				}
			}
		}
	}
}

// Equal numbers one after another round the same way, so that errors of a long sum of them add up: columns of one number below a larger one. The
// bound is softmax's, 2 u of the magnitude that op.Norm gives it.
func TestSoftmaxOfColumnsThatRepeatANumber(t *testing.T) {
	const cols = 37
	for _, rows := range []int{5, 17, 21, 32, 33, 100, 1000} {
		r := reduction.Rows{Cols: cols, Columns: true, X: make([]float64, rows*cols)}
		for i := range r.X {
			if i >= cols {
				r.X[i] = -float64(i%cols+1) / 16
			}
		}
		for _, k := range normKernels(t, "softmax", record.FP32) {
			_, y, err := reduction.Norm(k, "softmax", r)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range y {
				below := r.X[cols+i%cols]
				e := math.Exp(below)
				sum := 1 + float64(rows-1)*e
				want := math.Exp(r.X[i]) / sum
				bound := 2 * 0x1p-24 * want * (2 - r.X[i] - float64(rows-1)*e*below/sum)
				if math.Abs(got-want) > bound {
					t.Errorf("%s, %d rows, element (%d,%d): %g, want %g ± %.2g", k, rows, i/cols, i%cols, got, want, bound)
					break
				}
			}
		}
	}
}
