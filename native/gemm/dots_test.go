//go:build cgo && linux

package gemm_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/gemm"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

// A few rows against B stored [N,K] (gemm_dots.h): every height of tiles and what is left of them, one and several tiles and one row more than
// goes this way; rows of B shorter than a vector of 8 to 64 elements, as long, and one longer; one block of K of 32 vectors, a part of a second,
// and several; a part of four columns, of twelve, and more columns than sums are kept for; pitches, ends of the product and batches.
func TestAFewRowsGoByDotProductsAlongK(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.U8S8} {
		add := func(m, n, k int, more ...string) {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, n, k, append(more, "tb", "1")...)))
		}
		for _, k := range []int{1, 7, 8, 9, 31, 33, 63, 64, 65, 300, 513, 2049} {
			add(1, 5, k)
			add(4, 3, k)
		}
		for _, m := range []int{2, 3, 5, 6, 7, 9, 13, 24, 25} {
			add(m, 14, 277)
		}
		add(3, 250, 261)
		add(2, 13, 4200)
		add(6, 25, 2200)
		add(64, 49, 300)
		add(65, 20, 270)
		add(5, 253, 270)
		add(7, 29, 261, "lda", "270", "ldb", "280", "ldc", "45")
		add(1, 29, 262, "lda", "270", "ldb", "281", "ldc", "45")
		add(4, 17, 270, "batch", "5")
		for _, m := range []int{8, 13, 40} { // few columns: threads share rows
			add(m, 10, 270)
		}
		if d.Float() {
			add(8, 18, 290, "alpha", "-3", "beta", "1")
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// Where B comes from memory columns of it are read side by side, if the device is told to: groups of them and what is left, rows that end within a vector.
func TestColumnsFromMemoryAreReadSideBySide(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 20 MiB")
	}
	b := native.New()
	dev, err := b.Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	kerneltest.ReadRuns(dev)
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.U8S8} {
		for m := 1; m <= 3; m++ {
			o := kerneltest.Remember(kerneltest.Op(t, "gemm", d, shape(m, int(20<<20/(1501*d.Size())), 1501, "tb", "1")))
			ran := 0
			for _, k := range kerneltest.Names(b, o) {
				var unsupported *backend.UnsupportedError
				err := kerneltest.One(dev, o, k, d.Size())
				if errors.As(err, &unsupported) {
					continue
				}
				ran++
				if err != nil {
					t.Errorf("%s, %d rows: %v", k, m, err)
				}
			}
			if ran == 0 {
				t.Errorf("%s, %d rows: no kernel ran", d, m)
			}
		}
	}
}

// The same of two products in one launch: hidden features beyond a chunk's columns, not in whole vectors, and beyond a chunk of 256 KiB or 1024.
func TestAFewRowsOfTwoLayersGoByDotProductsAlongK(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, s := range [][3]int{{1, 261, 20}, {3, 33, 70}, {5, 250, 300}, {29, 100, 33}, {64, 90, 50}} {
			p := shape(s[0], s[1], s[2])
			ops = append(ops, kerneltest.Op(t, "swiglu", d, p))
			p = shape(s[0], 37, s[2])
			p["h"] = map[int]string{1: "261", 3: "33", 5: "517", 29: "250", 64: "101"}[s[0]]
			ops = append(ops, kerneltest.Op(t, "mlp", d, p))
		}
		for m, h := range map[int]string{6: "11000", 24: "2800", 64: "1100"} {
			ops = append(ops, kerneltest.Op(t, "mlp", d, shape(m, 13, 7, "h", h)))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// Dot products of pairs pack A and B, N padded to 32: what is faster widened they leave to others, unless B comes packed.
func TestDotProductsOfPairsLeaveNarrowAndShortProductsToKernelsThatWiden(t *testing.T) {
	for _, c := range []struct {
		m, n, k int
		more    []string
		takes   bool
	}{
		{3, 100, 100, nil, false}, {4, 25, 100, nil, true}, {6, 24, 100, nil, false}, {7, 24, 100, nil, true}, {7, 17, 100, nil, true}, {300, 16, 100, nil, false},
		{300, 1, 1000, nil, false}, {12, 1, 31, nil, true}, {11, 1, 31, nil, false}, {12, 1, 32, nil, false}, {64, 64, 64, nil, true}, {8, 8, 4096, nil, false}, {8, 8, 4097, nil, true},
		{9, 12, 4097, nil, false}, {9, 13, 4097, nil, true}, {17, 13, 3072, nil, false}, {17, 13, 3073, nil, true}, {16, 16, 4096, nil, false}, {3, 16, 8192, nil, false},
		{300, 16, 100, []string{"packed", "1"}, true},
		{64, 100, 24, []string{"tb", "1"}, true}, {64, 14, 24, []string{"tb", "1"}, false}, {64, 14, 25, []string{"tb", "1"}, true}, {8, 100, 21, []string{"tb", "1"}, false}, {8, 100, 22, []string{"tb", "1"}, true}, {13, 13, 16, []string{"tb", "1"}, true}, {12, 13, 16, []string{"tb", "1"}, false},
		{1, 4096, 16, []string{"tb", "1"}, false}, {1, 4097, 8, []string{"tb", "1"}, true}, {1, 4096, 17, []string{"tb", "1"}, true}, {64, 4096, 8, []string{"tb", "1"}, true},
		{16, 2, 32, []string{"tb", "1"}, false}, {15, 2, 32, []string{"tb", "1"}, true}, {16, 2, 31, []string{"tb", "1"}, true},
		{65, 4, 256, []string{"tb", "1"}, false}, {65, 4, 64, []string{"tb", "1"}, true}, {65, 12, 1000, []string{"tb", "1"}, true}, {65, 13, 64, []string{"tb", "1"}, false},
		{65, 16, 65, []string{"tb", "1"}, true}, {65, 17, 16, []string{"tb", "1"}, true},
	} {
		o := kerneltest.Op(t, "gemm", record.BF16, shape(c.m, c.n, c.k, c.more...))
		args, err := gemm.Family().Bind(o, make([]kernel.Buffer, 8))
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, k := range gemm.Family().Kernels {
			if !strings.HasPrefix(k.Name, "gemm_bf16_avx512bf16_14x32") {
				continue
			}
			asked++
			if got := k.Supports(args); got != c.takes {
				t.Errorf("%s takes %v: %v, want %v", k.Name, o.Params(), got, c.takes)
			}
		}
		kernel.Free(args)
		if asked == 0 && runtime.GOARCH == "amd64" {
			t.Fatal("no kernel asked")
		}
	}
}
