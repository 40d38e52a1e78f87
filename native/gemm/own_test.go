//go:build cgo && linux

package gemm_test

import (
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// Tiles that pack B themselves (gemm_own.h): more rows than MC, so that B is packed again for the rest, whole groups
// of panels and a part of one, two blocks of K of which the last ends within a unit of 2 or 4, and every height.
func TestTilesPackTheirOwnPanelsOfB(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16} {
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(131, 41, 515)))
	}
	ops = append(ops, kerneltest.Op(t, "gemm", record.FP32, shape(15, 165, 258, "ldb", "167", "beta", "1")),
		kerneltest.Op(t, "gemm", record.BF16, shape(9, 133, 1027, "alpha", "2")))
	for _, d := range []record.DType{record.INT8, record.U8S8} {
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(259, 33, 67)), kerneltest.Op(t, "gemm", d, shape(9, 130, 1027)))
	}
	kerneltest.All(t, native.New(), ops)
}
