//go:build cuda && linux && cgo

package gemm_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Rows at multiples of 16 bytes on the fp32 units: no products, no depth, tails of every dimension, depths below, at and above the stages, pitches, batches, all epilogues.
func TestProductsOfWholeRowsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{
		"m=0,n=16,k=16", "m=16,n=0,k=16,tb=1", "m=16,n=16,k=0", "m=1,n=1,k=1,lda=4,ldb=4", "m=128,n=64,k=16", "m=17,n=39,k=45,lda=48,ldb=48", "m=17,n=39,k=45,lda=48,ldb=48,ldc=41,tb=1",
		"m=128,n=256,k=48", "m=128,n=256,k=64,tb=1", "m=130,n=260,k=36,alpha=-2,beta=1", "m=130,n=260,k=100,tb=1,ldc=263", "m=6,n=16,k=32,batch=3", "m=6,n=13,k=18,batch=2,lda=20,ldb=20,ldc=14,tb=1,beta=1",
	} {
		ops = append(ops, cudatest.Op(t, "gemm", record.FP32, shape))
	}
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "linear", record.FP32, "m=13,n=21,k=32,act="+act))
	}
	ops = append(ops, cudatest.Op(t, "linear", record.FP32, "m=3,n=5,k=8,bias=0"))
	cudatest.With(t, cuda.New(), "gemm_fp32_simt", nil, ops)
}
