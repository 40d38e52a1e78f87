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
	full, allowed := kerneltest.Op(t, "gemm", record.FP16, shape(64, 64, 64)), short(t, shape(64, 64, 64))[0]
	b := native.New()
	dev := open(t, b, 1)
	coarse := 0
	for _, k := range gemm.Family().Kernels {
		if k.DType != record.FP16 {
			continue
		}
		if err := k.Sums(allowed); err != nil {
			t.Errorf("%s for acc=fp16: %v; want none, for finer sums are right too", k.Name, err)
		}
		if err := k.Sums(full); (err != nil) != (k.Accumulate == record.FP16) {
			t.Errorf("%s, sums in %s, for sums in fp32: %v", k.Name, k.Accumulate, err)
		}
		if k.Accumulate != record.FP16 || !slices.Contains(kerneltest.Names(b, full), k.Name) {
			continue
		}
		coarse++ // asked for by name it says why not
		if _, err := dev.Prepare(op.Single(full), backend.PrepareOptions{Kernel: k.Name}); err == nil || !strings.Contains(err.Error(), "acc=fp16 allows") {
			t.Errorf("%s without acc=fp16: %v; want a reason that names acc=fp16", k.Name, err)
		}
	}
	if coarse == 0 {
		t.Skip("no kernel here keeps sums in fp16")
	}
	for _, c := range []struct {
		o    op.Op
		want record.DType
	}{{full, record.FP32}, {allowed, record.FP16}} {
		if c.want == record.FP16 && !kernel.Detect().Has(kerneltest.Feature(t, "avx512fp16")) {
			continue // the model alone, which is never picked
		}
		e, err := dev.Prepare(op.Single(c.o), backend.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if k := e.Kernels()[0]; k.Accumulate != c.want && !strings.Contains(k.Name, "_amx_") {
			t.Errorf("%s is picked for %s, with sums in %s; want %s", k.Name, kerneltest.Describe(c.o), k.Accumulate, c.want)
		}
		if err := e.Release(); err != nil {
			t.Error(err)
		}
	}
}

// Products of one term, a thousandth of which lies below 2^-14, where fp16 has steps of 2^-24: a correctly rounded result is off by up to
// half of one, more than u of itself. Correct kernels were called wrong for it.
func TestResultsBelowTheNormalNumbersOfFP16AreRight(t *testing.T) {
	ops := []op.Op{kerneltest.Op(t, "gemm", record.FP16, shape(130, 700, 1)), kerneltest.Op(t, "gemm", record.FP16, shape(3, 2000, 2)), short(t, shape(130, 700, 2))[0]}
	b := kerneltest.Only(native.New(), "fp16")
	kerneltest.All(t, b, ops)
}
