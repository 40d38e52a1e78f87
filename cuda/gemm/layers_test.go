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
func TestGatedProductsOnTensorCoresMatchTheExpectation(t *testing.T) {
	t.Setenv("RIDGE_FAKE_CAPABILITY", "8.0") // 9.0 has another kernel for some
	for _, d := range []record.DType{record.BF16, record.FP32} {
		var ops []op.Op
		for _, shape := range []string{"m=0,n=3,k=8", "m=3,n=0,k=8", "m=1,n=1,k=8", "m=17,n=70,k=40", "m=130,n=65,k=16", "m=20,n=32,k=168", "m=70,n=330,k=24", "m=65,n=200,k=264"} {
			ops = append(ops, cudatest.Op(t, "swiglu", d, shape))
		}
		cudatest.Taken(t, cuda.New(), "sm80", ops)
	}
}

// Few tiles (4 multiprocessors): rows of each tile and their tails, one part, parts of one and of several sizes, a last part that is shorter, k that ends within a stage.
func TestGatedProductsThatShareTheDepthMatchTheExpectation(t *testing.T) {
	t.Setenv("RIDGE_FAKE_CAPABILITY", "8.0")
	for _, d := range []record.DType{record.BF16, record.FP32} {
		var ops []op.Op
		for _, shape := range []string{"m=17,n=1,k=8", "m=32,n=40,k=1096", "m=33,n=131,k=520", "m=64,n=128,k=1032", "m=65,n=60,k=776", "m=127,n=64,k=1088", "m=20,n=300,k=64"} {
			ops = append(ops, cudatest.Op(t, "swiglu", d, shape))
		}
		cudatest.Taken(t, cuda.New(), "splitk", ops)
	}
}

// Of few rows: both heights, fewer and more steps than warps, k that ends within a step, columns that end within a block, several blocks.
func TestGatedProductsOfFewRowsMatchTheExpectation(t *testing.T) {
	for _, d := range []record.DType{record.BF16, record.FP32} {
		var ops []op.Op
		for _, shape := range []string{"m=1,n=1,k=8", "m=1,n=70,k=1032", "m=5,n=16,k=520", "m=8,n=33,k=64", "m=9,n=17,k=264", "m=16,n=70,k=776", "m=13,n=5,k=1096"} {
			ops = append(ops, cudatest.Op(t, "swiglu", d, shape))
		}
		cudatest.Taken(t, cuda.New(), "skinny", ops)
	}
}

// Of 17 to 128 rows on Hopper: boxes of each height and their tails, blocks that share k (8 multiprocessors: to 128 columns) and blocks that share X, an odd number of tiles, wide and narrow,
// fewer stages than blocks and more than the ring has, outputs that no pair fits.
func TestGatedProductsOfUpTo128RowsOnHopperMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{
		"m=17,n=1,k=8", "m=32,n=70,k=40", "m=33,n=128,k=2064", "m=64,n=33,k=1000", "m=65,n=99,k=520", "m=128,n=40,k=136", "m=20,n=131,k=2064", "m=64,n=224,k=40", "m=100,n=170,k=1096",
		"m=30,n=257,k=72", "m=50,n=300,k=1544", "m=128,n=333,k=264",
	} {
		ops = append(ops, cudatest.Op(t, "swiglu", record.BF16, shape))
	}
	t.Setenv("RIDGE_FAKE_SMS", "8")
	cudatest.Taken(t, cuda.New(), "sm90_skinny", ops)
}

// Of many rows on Hopper (4 multiprocessors): tails of every dimension, more tiles than blocks, wide and narrow ones, outputs that no pack fits, fewer stages than the ring has and more.
func TestGatedProductsOfManyRowsOnHopperMatchTheExpectation(t *testing.T) {
	for _, d := range []record.DType{record.BF16, record.FP32} {
		var ops []op.Op
		for _, shape := range []string{"m=129,n=1,k=8", "m=130,n=72,k=328", "m=257,n=200,k=72", "m=300,n=131,k=136", "m=520,n=384,k=40"} {
			ops = append(ops, cudatest.Op(t, "swiglu", d, shape))
		}
		cudatest.With(t, cuda.New(), map[record.DType]string{record.BF16: "swiglu_bf16_sm90", record.FP32: "swiglu_fp32_sm90_3xtf32"}[d], nil, append(ops, cudatest.Op(t, "swiglu", d, "m=3,n=40,k=600")))
		cudatest.Taken(t, cuda.New(), "sm90", ops[1:])
	}
	cudatest.With(t, cuda.New(), "swiglu_bf16_sm90", map[string]int64{"tile": 256}, []op.Op{cudatest.Op(t, "swiglu", record.BF16, "m=130,n=72,k=328"), cudatest.Op(t, "swiglu", record.BF16, "m=257,n=200,k=72")})
}

// mlps are products of few and of many rows, of no rows and outputs, with tails of every dimension (hidden features too, whose rows are padded), short and long
// depths of either product, and every activation.
func mlps(t *testing.T, d record.DType) (ops []op.Op) {
	for _, shape := range []string{
		"m=0,n=3,k=8,h=8", "m=3,n=0,k=8,h=8", "m=1,n=1,k=8,h=8", "m=1,n=136,k=1032,h=264", "m=5,n=650,k=8,h=648,act=silu", "m=16,n=20,k=328,h=1160,act=gelu_tanh", "m=17,n=17,k=40,h=24,act=none",
		"m=64,n=40,k=648,h=136,act=relu", "m=64,n=24,k=72,h=1296", "m=130,n=20,k=24,h=136,act=relu", "m=130,n=136,k=776,h=272",
	} {
		ops = append(ops, cudatest.Op(t, "mlp", d, shape))
	}
	return ops
}

func TestMLPsOnTensorCoresMatchTheExpectation(t *testing.T) {
	t.Setenv("RIDGE_FAKE_CAPABILITY", "8.0") // 9.0 has other kernels for most
	for _, d := range []record.DType{record.BF16, record.FP32} {
		cudatest.Taken(t, cuda.New(), "sm80", mlps(t, d))
	}
	cudatest.Taken(t, cuda.New(), "sm80", []op.Op{cudatest.Op(t, "mlp", record.BF16, "m=9,n=11,k=15,h=41"), cudatest.Op(t, "mlp", record.BF16, "m=20,n=11,k=16,h=43,act=relu")})
}

func TestMLPsOnHopperMatchTheExpectation(t *testing.T) {
	for _, d := range []record.DType{record.BF16, record.FP32} {
		cudatest.Taken(t, cuda.New(), "sm90", mlps(t, d))
	}
}
