//go:build cgo && linux

package gemm_test

import (
	"strconv"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// packed=1: every height of a tile, several blocks of K and of rows, groups and panels cut by the last column, both orders of B, pitches
// and all epilogues. Kernels that pack nothing say so.
func TestBPackedBeforehandMatchesTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32} {
		list := []map[string]string{
			shape(1, 1, 1), shape(0, 4, 4), shape(4, 0, 4), shape(5, 5, 0), shape(14, 33, 270), shape(3, 70, 559), shape(300, 35, 260), shape(601, 5, 3),
			shape(9, 131, 258, "tb", "1"), shape(21, 35, 267, "tb", "1", "ldb", "270"), shape(19, 29, 261, "lda", "270", "ldb", "37", "ldc", "45"),
			shape(19, 23, 290, "alpha", "2", "beta", "1"), shape(9, 20, 300, "alpha", "-3", "beta", "1", "ldc", "21"), shape(5, 4100, 2),
		}
		for m := 1; m <= 17; m++ {
			list = append(list, shape(m, 33, 20))
		}
		for _, s := range list {
			s["packed"] = "1"
			ops = append(ops, kerneltest.Op(t, "gemm", d, s))
		}
	}
	for i, act := range op.Activations {
		s := shape(13+i, 70, 300, "act", act, "packed", "1", "bias", strconv.Itoa(i%2))
		ops = append(ops, kerneltest.Op(t, "linear", record.FP32, s))
	}
	kerneltest.All(t, native.New(), ops)
}

func TestPackedBatchesAreRefused(t *testing.T) {
	if _, err := op.Builtin().New("gemm", shape(4, 4, 4, "batch", "3", "packed", "1"), record.FP32); err == nil {
		t.Error("a batch of matrices B was taken for one that is packed beforehand")
	}
}
