//go:build cgo && linux

package reduction_test

import (
	"context"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
	"ridge/native/internal/badreduction"
	"ridge/native/kerneltest"
)

func TestTheVerifierCatchesFaultySums(t *testing.T) {
	dev, err := native.New(badreduction.Family()).Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	small := kerneltest.Op(t, "sum", record.FP32, params("rows", 37, "cols", 41))
	if err := kerneltest.One(dev, small, "sum_order_varies", 0); err == nil || !strings.Contains(err.Error(), "repeat") {
		t.Errorf("sum_order_varies: got %v, expected a mismatch in the repeat phase", err)
	}
	// A large size hides what is left out in random inputs: below the last place of a bf16 sum
	// or of an fp32 mean. 4096² is the size that calibrations use.
	shapes := [][2]int{{37, 41}, {64, 64}, {1, 17}}
	if !testing.Short() {
		shapes = append(shapes, [2]int{4096, 4096})
	}
	for _, s := range shapes {
		for _, d := range []record.DType{record.FP32, record.BF16} {
			for _, name := range []string{"sum", "mean"} {
				o := kerneltest.Op(t, name, d, params("rows", s[0], "cols", s[1]))
				for _, fault := range []string{"last", "vector", "tails", "middle"} {
					err := kerneltest.One(dev, o, "without_"+fault+"_"+string(d), 0)
					if err == nil || !strings.Contains(err.Error(), "integer") {
						t.Errorf("%s %s of %v without its %s: got %v, expected a mismatch in the integer phase", name, d, s, fault, err)
					}
				}
			}
		}
	}
}

// verify runs the preferred kernel through the verifier and names it.
func verify(t *testing.T, dev backend.Device, o op.Op) (record.Verification, string) {
	t.Helper()
	p := op.Single(o)
	e, err := dev.Prepare(p, backend.PrepareOptions{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Release() }()
	v, err := runner.Verify(context.Background(), e, p, 7, runner.DefaultEffort)
	if err != nil {
		t.Fatal(err)
	}
	return v, e.Kernels()[0].Name
}

// A bound 1,000 times too wide would hide faults: on short rows the worst error must use a
// fair part of it.
func TestErrorsUseAFairPartOfTheirBound(t *testing.T) {
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{-1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	for _, name := range []string{"sum", "mean", "softmax", "layer_norm", "rms_norm"} {
		p := params("rows", 61, "cols", 29)
		if name == "sum" || name == "mean" || name == "softmax" {
			p["dim"] = "1"
		}
		o := kerneltest.Op(t, name, record.FP32, p)
		v, k := verify(t, dev, o)
		t.Logf("%s %s: worst error %.3f of the bound", k, name, v.WorstBound)
		if !v.Passed || v.WorstBound < 0.05 {
			t.Errorf("%s %s: passed %v, worst error %.3g of the bound, expected 0.05 to 1", k, name, v.Passed, v.WorstBound)
		}
	}
}
