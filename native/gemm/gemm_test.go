//go:build cgo && linux

package gemm_test

import (
	"fmt"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

func shape(m, n, k int, more ...string) map[string]string {
	p := map[string]string{"m": fmt.Sprint(m), "n": fmt.Sprint(n), "k": fmt.Sprint(k)}
	for i := 0; i+1 < len(more); i += 2 {
		p[more[i]] = more[i+1]
	}
	return p
}

func TestGemmKernelsMatchTheExpectation(t *testing.T) {
	shapes := []map[string]string{
		shape(1, 1, 1), shape(0, 4, 4), shape(4, 0, 4), shape(3, 5, 0), shape(7, 13, 17), shape(16, 32, 64),
		shape(31, 33, 127), shape(97, 101, 103), shape(1, 257, 129), shape(129, 1, 257), shape(64, 96, 300),
		shape(13, 29, 31, "lda", "40", "ldb", "37", "ldc", "45"), shape(33, 47, 65, "tb", "1"),
	}
	float := []map[string]string{shape(19, 23, 29, "alpha", "2", "beta", "1"), shape(70, 50, 90, "alpha", "-3")}
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.U8S8} {
		list := shapes
		if d.Float() {
			list = append(append([]map[string]string(nil), shapes...), float...)
		}
		for _, s := range list {
			ops = append(ops, kerneltest.Op(t, "gemm", d, s))
		}
	}
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, act := range op.Activations {
			ops = append(ops, kerneltest.Op(t, "linear", d, shape(37, 41, 53, "act", act)))
		}
	}
	kerneltest.All(t, native.New(), ops)
}
