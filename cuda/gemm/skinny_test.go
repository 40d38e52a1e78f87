//go:build cuda && linux && cgo

package gemm_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestSkinny(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{"m=1,n=16,k=2048", "m=16,n=72,k=1040", "m=9,n=39,k=45,lda=48,ldb=48", "m=3,n=131,k=1100,lda=1104,tb=1,ldb=1104,ldc=133", "m=5,n=24,k=600,alpha=-2,beta=1", "m=12,n=300,k=1024,tb=1", "m=12,n=304,k=1024", "m=8,n=16,k=0"} {
		ops = append(ops, cudatest.Op(t, "gemm", record.BF16, shape))
	}
	cudatest.Taken(t, cuda.New(), "skinny", ops)
}
