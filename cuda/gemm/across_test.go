//go:build cuda && linux && cgo

package gemm_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// B stored [K,N] whose bytes and words are transposed first: whole squares and blocks of them, tails of both sides, pitches, batches, alpha and beta. Bytes of two types share
// the first launch with those of fp8, and take many rows.
func TestTransposedOperandsMatchTheExpectation(t *testing.T) {
	var ops, three []op.Op
	for _, shape := range []string{"n=16,k=16", "n=160,k=144", "n=39,k=45,lda=48,ldb=48", "n=21,k=19,lda=32,ldb=32,ldc=23,batch=2", "n=24,k=40,lda=48,ldb=32,alpha=-2,beta=1"} {
		ops = append(ops, cudatest.Op(t, "gemm", record.FP8E4M3, "m=3,"+shape), cudatest.Op(t, "gemm", record.TF32, "m=257,"+shape))
		three = append(three, cudatest.Op(t, "gemm", record.FP32, "m=130,"+shape))
	}
	ops = append(ops, cudatest.Op(t, "gemm", record.INT8, "m=769,n=39,k=45,lda=48,ldb=48"), cudatest.Op(t, "gemm", record.U8S8, "m=769,n=39,k=45,lda=48,ldb=48"))
	cudatest.Taken(t, cuda.New(), "sm90_across", ops)
	cudatest.Taken(t, cuda.New(), "sm90_3xtf32_across", three)
}
