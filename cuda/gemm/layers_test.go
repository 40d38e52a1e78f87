//go:build cuda && linux && cgo

package gemm_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Rows at multiples of 16 bytes: no rows, no outputs, tails of every dimension, several tiles of both kinds.
func TestLayersOfTwoProductsOnTensorCoresMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{"m=0,n=3,k=8", "m=1,n=1,k=8", "m=17,n=70,k=40", "m=130,n=65,k=16", "m=5,n=32,k=168", "m=70,n=330,k=24"} {
		ops = append(ops, cudatest.Op(t, "swiglu", record.BF16, shape))
	}
	for _, shape := range []string{
		"m=0,n=3,k=8,h=8", "m=3,n=0,k=8,h=8", "m=1,n=1,k=8,h=8", "m=9,n=11,k=16,h=40,act=relu", "m=130,n=20,k=24,h=136", "m=5,n=650,k=8,h=648,act=silu", "m=20,n=17,k=40,h=24,act=none",
	} {
		ops = append(ops, cudatest.Op(t, "mlp", record.BF16, shape))
	}
	cudatest.Taken(t, cuda.New(), "sm80", ops)
}
