//go:build cuda && linux && cgo

package gemm_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Rows at multiples of 8, 4 and fewer bytes, of one operand or of both, tails of every dimension within a chunk, depths below and above the four stages,
// batches, all epilogues.
func TestProductsOfUnalignedRowsOnTensorCoresMatchTheExpectation(t *testing.T) {
	shapes := []string{
		"m=1,n=1,k=1", "m=17,n=39,k=45", "m=17,n=39,k=45,tb=1", "m=130,n=140,k=300,tb=1", "m=130,n=141,k=300", "m=9,n=20,k=44,lda=44,ldb=44", "m=9,n=20,k=44,tb=1,ldc=21",
		"m=9,n=22,k=46", "m=9,n=22,k=46,tb=1", "m=33,n=24,k=24,lda=26,tb=1", "m=33,n=24,k=40,ldb=25", "m=6,n=5,k=18,batch=3", "m=6,n=5,k=20,batch=2,tb=1,ldc=7",
	}
	var ops []op.Op
	for _, d := range []record.DType{record.BF16, record.FP16, record.INT8, record.U8S8} {
		for _, shape := range shapes {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	for _, shape := range []string{"m=1,n=1,k=1", "m=17,n=39,k=45", "m=17,n=39,k=45,tb=1", "m=33,n=24,k=24,lda=25,tb=1", "m=6,n=5,k=19,batch=2,ldc=7,beta=1,alpha=-2"} {
		ops = append(ops, cudatest.Op(t, "gemm", record.FP64, shape))
	}
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "linear", record.BF16, "m=13,n=21,k=31,act="+act))
	}
	for _, p := range []string{"", ",bias=0", ",requant=1", ",requant=1,act=relu", ",requant=1,bias=0"} {
		for _, k := range []string{"31", "36", "40"} {
			ops = append(ops, cudatest.Op(t, "linear", record.INT8, "m=13,n=21,k="+k+p))
		}
	}
	cudatest.Taken(t, cuda.New(), "sm80_unaligned", ops)
}
