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
	for _, d := range []record.DType{record.FP16, record.TF32, record.FP32} {
		for _, shape := range []string{"m=1,n=16,k=1028,ldb=16,lda=1032", "m=16,n=136,k=520", "m=9,n=39,k=45,lda=48,ldb=48", "m=3,n=131,k=300,lda=304,tb=1,ldb=304,ldc=133", "m=12,n=300,k=512,tb=1"} {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	for _, shape := range []string{"m=1,n=16,k=2048", "m=16,n=272,k=1040", "m=9,n=39,k=45,lda=48,ldb=48", "m=3,n=131,k=1100,lda=1104,tb=1,ldb=1104,ldc=133", "m=12,n=300,k=1024,tb=1"} {
		ops = append(ops, cudatest.Op(t, "gemm", record.INT8, shape))
	}
	for _, p := range []string{"", ",bias=0", ",requant=1", ",requant=1,act=relu", ",requant=1,bias=0"} {
		ops = append(ops, cudatest.Op(t, "linear", record.INT8, "m=3,n=21,k=1024"+p))
	}
	cudatest.Taken(t, cuda.New(), "skinny", ops)
}
