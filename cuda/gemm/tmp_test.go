//go:build cuda && linux && cgo

package gemm_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestTmp(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{"m=17,n=16,k=1024", "m=33,n=40,k=1100,ldb=48,lda=1104", "m=64,n=331,k=1032,tb=1,ldc=333", "m=127,n=616,k=388,beta=1,alpha=-2,lda=392", "m=100,n=700,k=64,tb=1"} {
		ops = append(ops, cudatest.Op(t, "gemm", record.BF16, shape))
	}
	cudatest.Taken(t, cuda.New(), "sm90_skinny", ops)
}
