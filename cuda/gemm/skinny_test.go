//go:build cuda && linux && cgo

package gemm_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Few rows: both heights and widths (4 multiprocessors: wide columns from 130 on), fewer and more steps than warps, k that ends within a step, columns that end within a lane's, pitches, all epilogues.
func TestProductsOfFewRowsMatchTheExpectation(t *testing.T) {
	shapes := []string{"m=1,n=16,k=1040,lda=1056", "m=16,n=272,k=528", "m=9,n=39,k=45,lda=48,ldb=48", "m=3,n=131,k=300,lda=304,tb=1,ldb=304,ldc=133", "m=12,n=300,k=512,tb=1", "m=8,n=272,k=64", "m=8,n=16,k=0"}
	var ops []op.Op
	for _, d := range []record.DType{record.BF16, record.FP16, record.INT8, record.TF32, record.FP32} {
		for _, shape := range shapes {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	for _, d := range []record.DType{record.BF16, record.FP16, record.TF32, record.FP32} {
		ops = append(ops, cudatest.Op(t, "gemm", d, "m=5,n=24,k=600,alpha=-2,beta=1"), cudatest.Op(t, "gemm", d, "m=5,n=24,k=600,alpha=3,beta=1,tb=1,ldc=25"))
	}
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "linear", record.BF16, "m=2,n=21,k=512,act="+act))
	}
	for _, p := range []string{"", ",bias=0", ",requant=1", ",requant=1,act=relu", ",requant=1,bias=0"} {
		ops = append(ops, cudatest.Op(t, "linear", record.INT8, "m=3,n=21,k=1024"+p))
	}
	t.Setenv("RIDGE_FAKE_CAPABILITY", "8.0") // 9.0 has another kernel for some
	cudatest.Taken(t, cuda.New(), "skinny", ops)
}

// Up to 128 rows on Hopper: boxes of each height and their tails, blocks that share k (8 multiprocessors: to 256 columns) and blocks that share A, an odd number of tiles, fewer stages than
// blocks and more than the ring has, both ways of B, columns to keep and not, pitches of C that no pair fits, all epilogues.
func TestProductsOfUpTo128RowsOnHopperMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{
		"m=9,n=16,k=40", "m=16,n=72,k=1808", "m=17,n=39,k=45,lda=48,ldb=48,ldc=41", "m=33,n=131,k=1032,tb=1,ldc=133", "m=128,n=130,k=1100,tb=1,lda=1104,ldb=1104", "m=65,n=24,k=520,alpha=-2,beta=1",
		"m=12,n=328,k=64", "m=32,n=650,k=1500,tb=1,lda=1504,ldb=1504", "m=50,n=300,k=300,lda=304,ldb=304", "m=127,n=616,k=388,beta=1,alpha=3,lda=392", "m=100,n=700,k=40,tb=1,ldc=701",
	} {
		ops = append(ops, cudatest.Op(t, "gemm", record.BF16, shape))
	}
	ops = append(ops, cudatest.Op(t, "gemm", record.FP16, "m=17,n=39,k=45,lda=48,ldb=48"), cudatest.Op(t, "gemm", record.FP16, "m=66,n=300,k=200,tb=1"))
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "linear", record.BF16, "m=20,n=21,k=136,act="+act))
	}
	t.Setenv("RIDGE_FAKE_SMS", "8")
	cudatest.Taken(t, cuda.New(), "sm90_skinny", ops)
}
