//go:build cgo && linux

package elementwise_test

import (
	"math"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/elementwise"
	"ridge/native/kerneltest"
)

// unaryKernels are the fp32 kernels of one-operand functions that this CPU can run.
func unaryKernels(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, k := range kerneltest.Names(native.New(), kerneltest.Op(t, "exp", record.FP32, params("rows", 1, "cols", 1))) {
		if strings.HasPrefix(k, "unary_fp32") && !strings.HasSuffix(k, "_nt") {
			out = append(out, k)
		}
	}
	return out
}

func apply(t *testing.T, kernel, name string, x []float32) []float32 {
	t.Helper()
	y, err := elementwise.Apply(kernel, name, x)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// reference in float64, with relative accuracy where the textbook form cancels.
var reference = map[string]func(float64) float64{
	"exp":     math.Exp,
	"tanh":    math.Tanh,
	"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"silu":    func(x float64) float64 { return x / (1 + math.Exp(-x)) },
	"gelu":    func(x float64) float64 { return op.Activate("gelu", x) },
	"gelu_tanh": func(x float64) float64 {
		return x / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	},
	"sin": math.Sin,
	"cos": math.Cos,
}

// ulps is the distance of got from want in units of want's last fp32 place.
func ulps(got float32, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

func sweep(lo, hi float64, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(lo + (hi-lo)*(float64(i)+0.37)/float64(n))
	}
	return x
}

func TestVectorFunctionsStayWithinTheirUlps(t *testing.T) {
	for _, c := range []struct {
		name   string
		lo, hi float64
		limit  float64
	}{
		{"exp", -8, 8, 1.1}, {"exp", -103, 88.7, 1.1},
		{"tanh", -8, 8, 2.5}, {"tanh", -0.01, 0.01, 2.5},
		{"sigmoid", -8, 8, 2.2}, {"sigmoid", -87, 20, 2.2},
		{"silu", -8, 8, 2.7}, {"sin", -8, 8, 1.8}, {"sin", -131072, 131072, 1.8}, {"cos", -8, 8, 1.8}, {"cos", -131072, 131072, 1.8},
		{"gelu", -1, 8, 3}, {"gelu", -13, -1, 6}, {"gelu_tanh", -1, 8, 2.2}, {"gelu_tanh", -11, -1, 2.2},
	} {
		x := sweep(c.lo, c.hi, 40000)
		for _, k := range unaryKernels(t) {
			if strings.HasSuffix(k, "portable") {
				continue // the C library's functions, judged by the verifier
			}
			worst, at := 0.0, float32(0)
			for i, y := range apply(t, k, c.name, x) {
				if u := ulps(y, reference[c.name](float64(x[i]))); u > worst || u != u {
					worst, at = u, x[i]
				}
			}
			t.Logf("%s %s [%g, %g]: %.2f ulp at %g", k, c.name, c.lo, c.hi, worst, at)
			if !(worst <= c.limit) {
				t.Errorf("%s %s [%g, %g]: %.2f ulp at %g, limit %g", k, c.name, c.lo, c.hi, worst, at, c.limit)
			}
		}
	}
}

func TestVectorFunctionsOnSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	negZero := float32(math.Copysign(0, -1))
	denormal := float32(0x1p-140)
	for _, c := range []struct {
		name    string
		x, want float32
	}{
		{"exp", 0, 1}, {"exp", negZero, 1}, {"exp", inf, inf}, {"exp", -inf, 0}, {"exp", nan, nan},
		{"exp", 88.72283, 3.4028e38}, {"exp", 88.73, inf}, {"exp", 1e30, inf}, {"exp", -104, 0}, {"exp", -1e30, 0},
		{"exp", -100, 3.783506e-44}, {"exp", denormal, 1},
		{"tanh", 0, 0}, {"tanh", negZero, negZero}, {"tanh", inf, 1}, {"tanh", -inf, -1}, {"tanh", nan, nan},
		{"tanh", denormal, denormal}, {"tanh", -denormal, -denormal}, {"tanh", 1e30, 1}, {"tanh", 9.2, 1},
		{"sigmoid", 0, 0.5}, {"sigmoid", inf, 1}, {"sigmoid", -inf, 0}, {"sigmoid", nan, nan}, {"sigmoid", -1e30, 0}, {"sigmoid", 1e30, 1},
		{"silu", 0, 0}, {"silu", inf, inf}, {"silu", nan, nan}, {"silu", 1e30, 1e30}, {"silu", -1e4, 0},
		{"gelu", 0, 0}, {"gelu", inf, inf}, {"gelu", nan, nan}, {"gelu", 1e30, 1e30}, {"gelu", -1e4, 0},
		{"gelu_tanh", 0, 0}, {"gelu_tanh", inf, inf}, {"gelu_tanh", nan, nan}, {"gelu_tanh", 1e4, 1e4}, {"gelu_tanh", -1e4, 0},
		{"sin", 0, 0}, {"sin", negZero, negZero}, {"sin", inf, nan}, {"sin", nan, nan}, {"sin", denormal, denormal},
		{"sin", 1e6, float32(math.Sin(1e6))}, {"sin", -1e20, float32(-math.Sin(float64(float32(1e20))))},
		{"cos", 0, 1}, {"cos", -inf, nan}, {"cos", nan, nan}, {"cos", 1e10, float32(math.Cos(1e10))},
		{"relu", negZero, 0}, {"relu", nan, nan}, {"relu", inf, inf}, {"relu", -inf, 0}, {"relu", denormal, denormal},
		{"sqrt_abs", 0, 1e-4}, {"sqrt_abs", -inf, inf}, {"sqrt_abs", nan, nan}, {"sqrt_abs", -16, 4},
	} {
		for _, k := range unaryKernels(t) {
			// Beside ordinary values, in a full vector and in a tail.
			x := []float32{1, c.x, -1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, c.x}
			y := apply(t, k, c.name, x)
			for _, i := range []int{1, len(x) - 1} {
				got := y[i]
				ok := got == c.want || (got != got && c.want != c.want) || math.Abs(float64(got-c.want)) <= 1e-4*math.Abs(float64(c.want)) && c.want*0 == 0
				if c.want == 0 && c.x != 0 {
					ok = math.Abs(float64(got)) < 0x1p-126 // a tail below the normal numbers
				}
				if c.x == 0 && c.want == 0 && c.name != "relu" && c.name != "gelu" {
					ok = ok && math.Signbit(float64(got)) == math.Signbit(float64(c.want))
				}
				if !ok {
					t.Errorf("%s %s(%g) [%d] = %g, want %g", k, c.name, c.x, i, got, c.want)
				}
			}
		}
	}
}
