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
	for _, shape := range []string{"m=17,n=39,k=45,lda=48,ldb=48,ldc=41", "m=100,n=300,k=200,tb=1", "m=65,n=24,k=520,alpha=-2,beta=1"} {
		ops = append(ops, cudatest.Op(t, "gemm", record.BF16, shape))
	}
	t.Setenv("RIDGE_FAKE_SMS", "8")
	cudatest.With(t, cuda.New(), "gemm_bf16_sm90_skinny", nil, ops)
}
