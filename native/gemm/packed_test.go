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
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.U8S8} {
		list := []map[string]string{
			shape(1, 1, 1), shape(0, 4, 4), shape(4, 0, 4), shape(5, 5, 0), shape(14, 33, 270), shape(3, 70, 559), shape(300, 35, 260), shape(601, 5, 3),
			shape(9, 131, 258, "tb", "1"), shape(21, 35, 267, "tb", "1", "ldb", "270"), shape(19, 29, 261, "lda", "270", "ldb", "37", "ldc", "45"),
			shape(9, 20, 300, "ldc", "21"), shape(5, 4100, 2),
		}
		if d.Float() {
			list = append(list, shape(19, 23, 290, "alpha", "2", "beta", "1"), shape(9, 20, 300, "alpha", "-3", "beta", "1", "ldc", "21"))
		}
		if d.Size() < 4 { // blocks of 1024 values of K and what is left of a unit
			list = append(list, shape(5, 70, 2099, "tb", "1"), shape(17, 39, 1027), shape(65, 33, 1031, "tb", "1"), shape(3, 33, 4127), shape(15, 34, 4099, "tb", "1"))
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
	for _, requant := range []string{"0", "1"} {
		for _, s := range [][3]int{{1, 70, 130}, {16, 97, 70}, {13, 70, 2070}, {65, 40, 131}} {
			ops = append(ops, kerneltest.Op(t, "linear", record.INT8, shape(s[0], s[1], s[2], "packed", "1", "requant", requant, "bias", "1", "act", map[string]string{"0": "none", "1": "relu"}[requant])))
		}
		ops = append(ops, kerneltest.Op(t, "linear", record.BF16, shape(13, 70, 1100, "packed", "1", "bias", requant, "act", "gelu")))
	}
	kerneltest.All(t, native.New(), ops)
}

func TestPackedBatchesAreRefused(t *testing.T) {
	if _, err := op.Builtin().New("gemm", shape(4, 4, 4, "batch", "3", "packed", "1"), record.FP32); err == nil {
		t.Error("a batch of matrices B was taken for one that is packed beforehand")
	}
}
