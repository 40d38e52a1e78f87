//go:build cgo && linux

package elementwise_test

import (
	"math"
	"runtime"
	"sync"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
	"ridge/native/elementwise"
	"ridge/native/kerneltest"
)

// The random fill of these functions draws from 2^24 numbers in [-8, 8) (op.FillWide). A
// verification sees a few thousand; here every 7th (with -short every 17th) is judged as the verifier
// does, so that no seed is likely to meet an input for which a correct kernel is refused. (That the vector functions
// stay within 2 units in the last place, which is a fraction of these bounds, was seen on every float.)
func TestRandomInputsAreInsideTheBound(t *testing.T) {
	const grid, block = 1 << 24, 1 << 16
	step := 7
	if testing.Short() {
		step = 17
	}
	bound := map[string]float64{}
	for _, f := range native.New().Families {
		for _, k := range f.Kernels {
			bound[k.Name] = k.BoundC
		}
	}
	names := unaryKernels(t)
	for _, name := range []string{"gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "exp", "sin", "cos", "sqrt_abs"} {
		o := kerneltest.Op(t, name, record.FP32, params("rows", 1, "cols", 1)).(*op.Elementwise)
		worst, at := make([]float64, len(names)), make([]float32, len(names))
		var mu sync.Mutex
		var wg sync.WaitGroup
		next := make(chan int)
		for range runtime.GOMAXPROCS(0) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				x := make([]float32, 0, block)
				mine, where := make([]float64, len(names)), make([]float32, len(names))
				for from := range next {
					x = x[:0]
					for i := from; i < min(from+block*step, grid); i += step {
						x = append(x, float32((float64(i)*0x1p-23-1)*8))
					}
					want := make([]op.Expectation, len(x))
					for i, v := range x {
						want[i] = o.ExpectAt(float64(v), 0)
					}
					for k, kernel := range names {
						y, err := elementwise.Apply(kernel, name, x)
						if err != nil {
							t.Error(err)
							continue
						}
						for i, e := range want {
							b := bound[kernel]*record.FP32.Unit()*e.Magnitude + record.FP32.Unit()*math.Abs(e.Value)
							if r := runner.Deviation(float64(y[i]), record.FP32, e.Value, b, false); !(r <= mine[k]) {
								mine[k], where[k] = r, x[i]
							}
						}
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for k, r := range mine {
					if !(r <= worst[k]) {
						worst[k], at[k] = r, where[k]
					}
				}
			}()
		}
		for from := 0; from < grid; from += block * step {
			next <- from
		}
		close(next)
		wg.Wait()
		for k, kernel := range names {
			t.Logf("%s %s: worst error %.3f of the bound, at %g", kernel, name, worst[k], at[k])
			if !(worst[k] <= 1) {
				t.Errorf("%s %s(%g): error %.3f of the bound", kernel, name, at[k], worst[k])
			}
		}
	}
}
