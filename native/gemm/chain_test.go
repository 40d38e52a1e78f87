//go:build cgo && linux

package gemm_test

import (
	"maps"
	"slices"
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

// short are the shapes with acc=fp16, which lets kernels keep short sums in fp16.
func short(t *testing.T, shapes ...map[string]string) []op.Op {
	var ops []op.Op
	for _, s := range shapes {
		s = maps.Clone(s)
		s["acc"] = "fp16"
		ops = append(ops, kerneltest.Op(t, "gemm", record.FP16, s))
	}
	return ops
}

// Sums in chains of at most 128 products of even and of odd k: one unit of K to several chains and blocks, lengths that are no multiple of
// four units, an odd last k, every height, columns in the order of packed panels and their tails, both orders of B, packed or not.
func TestShortSumsInFP16MatchTheExpectation(t *testing.T) {
	var shapes []map[string]string
	for i, k := range []int{1, 2, 3, 7, 10, 255, 256, 257, 259, 300, 513, 520, 771, 1023} {
		shapes = append(shapes, shape(14-i%3, 33+i, k))
	}
	for m := 4; m <= 17; m++ {
		shapes = append(shapes, shape(m, 37, 270), shape(m, 70-m, 40, "packed", "1"))
	}
	for _, tb := range []string{"0", "1"} {
		shapes = append(shapes, shape(0, 4, 4, "tb", tb), shape(4, 5, 0, "tb", tb), shape(21, 35, 267, "tb", tb, "ldb", "270"), shape(9, 5, 41, "tb", tb),
			shape(19, 23, 290, "alpha", "-2", "beta", "1", "tb", tb), shape(131, 67, 515, "tb", tb), shape(5, 33, 1100, "tb", tb, "ldc", "35"),
			shape(9, 29, 261, "batch", "3", "tb", tb), shape(601, 70, 20, "tb", tb), shape(17, 39, 2099, "packed", "1", "tb", tb))
	}
	shapes = append(shapes, shape(270, 130, 140), shape(710, 35, 40), shape(710, 35, 40, "packed", "1"), shape(40, 300, 7), shape(5, 4100, 9))
	kerneltest.All(t, native.New(), short(t, shapes...))
}

func TestShortSumsInFP16AreForCasesThatAllowThemAlone(t *testing.T) {
	var table []kernel.Kernel
	for _, k := range gemm.Family().Kernels {
		if k.Accumulate == record.FP16 && !strings.HasSuffix(k.Name, "_model") {
			table = append(table, k)
		}
	}
	if len(table) == 0 {
		t.Skip("no kernel of this architecture keeps sums in fp16")
	}
	full, allowed := kerneltest.Op(t, "gemm", record.FP16, shape(64, 64, 64)), short(t, shape(64, 64, 64))[0]
	for _, k := range table {
		if got := k.RankOn(full, 1); got >= 0 {
			t.Errorf("%s has rank %d for %s; want a negative one", k.Name, got, kerneltest.Describe(full))
		}
		if got := k.RankOn(allowed, 1); got != k.Rank || got <= 30 {
			t.Errorf("%s has rank %d for acc=fp16; want its own, %d, above the kernels that widen", k.Name, got, k.Rank)
		}
	}
	// Forced by name it says why not.
	b := native.New()
	dev := open(t, b, 1)
	names := slices.DeleteFunc(kerneltest.Names(b, full), func(n string) bool { return !strings.Contains(n, "fp16_avx512fp16") })
	for _, name := range names {
		_, err := dev.Prepare(op.Single(full), backend.PrepareOptions{Kernel: name})
		if err == nil || !strings.Contains(err.Error(), "acc=fp16 allows") {
			t.Errorf("%s without acc=fp16: %v; want a reason that names acc=fp16", name, err)
		}
	}
}

// Products of one term, a thousandth of which lies below 2^-14, where fp16 has steps of 2^-24: a correctly rounded result is off by up to
// half of one, more than u of itself. Correct kernels were called wrong for it.
func TestResultsBelowTheNormalNumbersOfFP16AreRight(t *testing.T) {
	ops := []op.Op{kerneltest.Op(t, "gemm", record.FP16, shape(130, 700, 1)), kerneltest.Op(t, "gemm", record.FP16, shape(3, 2000, 2)), short(t, shape(130, 700, 2))[0]}
	b := kerneltest.Sparse(native.New(), "fp16")
	kerneltest.All(t, b, ops)
}
