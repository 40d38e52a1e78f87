//go:build cgo && linux

package gemm_test

import (
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// Nine to eighteen rows go by strips of B: one tile (9 to 14 rows on AVX-512), several tiles of
// different heights, strips that do not fill a tile's columns, blocks of 32 rows of B and one
// more, several chunks of columns (7,000 of fp32), and what ends a tile.
func TestAFewRowsGoByStripsOfB(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16} {
		for _, s := range []map[string]string{
			shape(9, 1, 257), shape(9, 15, 287), shape(13, 47, 288), shape(16, 64, 289), shape(18, 97, 270),
			shape(10, 33, 321, "alpha", "-3", "beta", "1", "ldb", "37", "ldc", "41"), shape(17, 50, 320, "lda", "323"),
			shape(9, 7000, 3),
		} {
			ops = append(ops, kerneltest.Op(t, "gemm", d, s))
		}
	}
	kerneltest.AllWith(t, native.New(), ops, packed)
}

// Up to eight rows against B that comes from memory: where exact tiles are made, their variants tell from how many bytes of B on rows go by sums in L1; and narrow ones, whose K threads share.
func TestAFewRowsAgainstBFromMemoryMatchTheExpectation(t *testing.T) {
	if testing.Short() {
		t.Skip("B of 17 MB and more")
	}
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.BF16} {
		for _, s := range []map[string]string{
			shape(5, 2053, 2051), shape(8, 2051, 2053, "alpha", "-3", "beta", "1", "ldb", "2055", "ldc", "2060"), shape(7, 61, 70001), shape(9, 2053, 2051),
		} {
			ops = append(ops, kerneltest.Op(t, "gemm", d, s))
		}
	}
	kerneltest.All(t, kerneltest.Only(native.New(), "avx512"), ops)
}
