//go:build cuda && linux && cgo

package memory_test

import (
	"math"
	"testing"

	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Products of one sign whose additions all lose nearly half of a last place, by equal numbers (fp32) and by a first one far above what the sums of the others reach (fp64); and an infinite one.
func TestDotHoldsItsBoundWhateverTheNumbers(t *testing.T) {
	d := cudatest.Device(t)
	for dtype, u := range map[record.DType]float64{record.FP32: 0x1p-24, record.FP64: 0x1p-53} {
		o := cudatest.Op(t, "dot", dtype, "n=9001")
		n := o.Tensors()[0].Elements()
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = op.Round(record.FP32, 1.7), 1
			if dtype == record.FP64 {
				a[i] = 0.96 * u
			}
		}
		rest := a[0] * float64(n-1)
		first := a[0]
		if dtype == record.FP64 {
			first = 1
			a[0] = first
		}
		run := func() float64 {
			ts := o.Tensors()
			out, err := cudatest.Apply(d, "dot_"+string(dtype)+"_simt", o, 0, map[string][]float64{ts[0].Name: a, ts[1].Name: b})
			if err != nil || out == nil {
				t.Fatal(err)
			}
			return out[ts[2].Name][0]
		}
		if off := (run() - first) - rest; !(math.Abs(off) <= 3*u*(first+rest)) {
			t.Errorf("dot %s is off by %g u of the sum of sizes, at most 3 are allowed", dtype, off/u/(first+rest))
		}
		a[n/2] = math.Inf(1)
		if got := run(); !math.IsInf(got, 1) {
			t.Errorf("dot %s with one infinite product is %g, want +Inf", dtype, got)
		}
	}
}
