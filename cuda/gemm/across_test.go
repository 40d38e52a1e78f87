//go:build cuda && linux && cgo

package gemm_test

import (
	"fmt"
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// B stored [K,N] whose bytes and words are transposed first: whole squares and blocks of them, tails of both sides, pitches, batches, alpha, beta and what a second
// row of tiles brings.
func TestTransposedOperandsMatchTheExpectation(t *testing.T) {
	var ops, three []op.Op
	for _, d := range []record.DType{record.TF32, record.FP32, record.INT8, record.U8S8, record.FP8E4M3} {
		rows := int64(130)
		if d == record.FP8E4M3 {
			rows = 3
		}
		for _, shape := range []string{"n=16,k=16", "n=160,k=144", "n=39,k=45,lda=48,ldb=48", "n=21,k=19,lda=32,ldb=32,ldc=23,batch=2"} {
			shape = fmt.Sprintf("m=%d,%s", rows, shape)
			if d == record.TF32 {
				shape += ",alpha=-2,beta=1"
			}
			if d == record.FP32 {
				three = append(three, cudatest.Op(t, "gemm", d, shape))
			} else {
				ops = append(ops, cudatest.Op(t, "gemm", d, shape))
			}
		}
	}
	cudatest.Taken(t, cuda.New(), "sm90_across", ops)
	cudatest.Taken(t, cuda.New(), "sm90_3xtf32_across", three)
}
