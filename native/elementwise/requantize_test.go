//go:build cgo && linux

package elementwise_test

import (
	"errors"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/elementwise"
	"ridge/native/kerneltest"
)

func TestRequantizeKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, act := range []string{"none", "relu"} {
		for _, s := range [][3]int{{0, 5, 1}, {5, 0, 1}, {1, 1, 1}, {300, 1, 1}, {33, 3, 1}, {13, 37, 1}, {2, 1031, 1}, {9, 63, 1}, {9, 64, 1}, {9, 65, 1}, {31, 100, 1}, {2, 3, 7}, {1, 5, 129}, {3, 17, 49}} {
			ops = append(ops, kerneltest.Op(t, "requantize", record.INT8, params("rows", s[0], "cols", s[1], "inner", s[2], "act", act)))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

func TestEveryRequantizeKernelTreatsCornersAsWritten(t *testing.T) {
	all := kerneltest.Corners(t)
	sums, scales := make([]int32, len(all)), make([]float32, len(all))
	for i, c := range all {
		sums[i], scales[i] = c.Sum, c.Scale
	}
	names := kerneltest.Names(native.New(), kerneltest.Op(t, "requantize", record.INT8, params("rows", 1, "cols", 1)))
	if len(names) < 2 {
		t.Errorf("kernels: %v", names)
	}
	for _, name := range names {
		for _, how := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			got, err := elementwise.ApplyRequantize(name, sums, scales, how[0], how[1])
			if err != nil {
				t.Error(err)
				continue
			}
			for i, c := range all {
				if want := c.Right(how[0]); got[i] != want {
					t.Errorf("%s, relu %v, planes %v: %s: sum %d, scale %g: %d, want %d", name, how[0], how[1], c.Why, c.Sum, c.Scale, got[i], want)
				}
			}
		}
	}
}

func TestNonTemporalRequantizeTakesAndPassesLargeArrays(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 70 MiB")
	}
	b := native.New()
	dev, err := b.Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	large := kerneltest.Op(t, "requantize", record.INT8, params("rows", (64<<20)/(5*1031)+2, "cols", 1031))
	small := kerneltest.Op(t, "requantize", record.INT8, params("rows", 3, "cols", 1031))
	for _, k := range kerneltest.Names(b, large) {
		if len(k) < 3 || k[len(k)-3:] != "_nt" {
			continue
		}
		if err := kerneltest.One(dev, large, k, 1); err != nil {
			t.Errorf("%s: %v", k, err)
		}
		var unsupported *backend.UnsupportedError
		if err := kerneltest.One(dev, small, k, 0); !errors.As(err, &unsupported) {
			t.Errorf("%s on a small array: got %v, expected it to refuse", k, err)
		}
	}
}
