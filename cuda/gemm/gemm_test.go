//go:build cuda && linux && cgo

package gemm_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestMain(m *testing.M) { cudatest.Main(m) }

// Empty products, tails of every dimension, one and several tiles (128×128×16, fp64 128×64×8), pitches, all epilogues.
func TestProductsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16, record.FP16, record.FP64, record.TF32, record.FP8E4M3} {
		for _, shape := range []string{
			"m=0,n=5,k=3", "m=3,n=0,k=3", "m=5,n=7,k=0", "m=1,n=1,k=1", "m=17,n=33,k=15", "m=130,n=140,k=17", "m=128,n=128,k=64",
			"m=5,n=9,k=40,tb=1", "m=131,n=129,k=33,tb=1,alpha=-2,beta=1", "m=9,n=11,k=13,lda=20,ldb=17,ldc=19,alpha=3,beta=1",
			"m=9,n=11,k=13,lda=16,ldb=20,ldc=12,tb=1", "m=6,n=5,k=18,batch=3", "m=6,n=5,k=18,batch=2,lda=20,ldc=7,tb=1,beta=1",
		} {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	for _, d := range []record.DType{record.FP32, record.BF16, record.TF32, record.FP8E4M3} {
		for _, act := range op.Activations {
			ops = append(ops, cudatest.Op(t, "linear", d, "m=13,n=21,k=30,act="+act))
		}
		ops = append(ops, cudatest.Op(t, "linear", d, "m=3,n=5,k=7,bias=0"))
	}
	cudatest.All(t, cuda.New(), ops)
}

// Words of four bytes whole and in part, in rows that begin at a multiple of 4 or not; all epilogues.
func TestProductsOfBytesMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.INT8, record.U8S8} {
		for _, shape := range []string{
			"m=0,n=5,k=3", "m=3,n=0,k=3", "m=5,n=7,k=0", "m=1,n=1,k=1", "m=17,n=33,k=15", "m=130,n=140,k=70", "m=5,n=9,k=40,tb=1",
			"m=129,n=130,k=131,tb=1", "m=9,n=11,k=13,lda=20,ldb=17,ldc=19", "m=9,n=11,k=13,lda=16,ldb=20,ldc=12,tb=1",
			"m=6,n=5,k=18,batch=3", "m=6,n=5,k=18,batch=2,lda=20,ldc=7,tb=1",
		} {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	for _, p := range []string{"", ",bias=0", ",requant=1", ",requant=1,act=relu", ",requant=1,bias=0"} {
		ops = append(ops, cudatest.Op(t, "linear", record.INT8, "m=13,n=21,k=30"+p), cudatest.Op(t, "linear", record.INT8, "m=130,n=140,k=64"+p))
	}
	cudatest.All(t, cuda.New(), ops)
}

// Rows at multiples of 16 bytes, as tensor cores take them: no products, no depth, tails of every dimension, depths below, at and above the four
// stages, both tiles (six of 128 columns take four multiprocessors two rounds, three wide ones one), pitches of C that no pair fits, batches, all epilogues.
func TestProductsOnTensorCoresMatchTheExpectation(t *testing.T) {
	shapes := []string{
		"m=0,n=16,k=16", "m=16,n=16,k=0", "m=1,n=1,k=1,lda=16,ldb=16", "m=16,n=16,k=32", "m=130,n=144,k=96", "m=128,n=128,k=336", "m=17,n=39,k=45,lda=48,ldb=48",
		"m=17,n=39,k=45,lda=48,ldb=48,ldc=41,tb=1", "m=9,n=272,k=160,tb=1,ldc=273", "m=100,n=656,k=80", "m=100,n=647,k=80,tb=1", "m=6,n=16,k=32,batch=3",
		"m=6,n=5,k=16,batch=2,ldb=16,ldc=7", "m=6,n=5,k=16,batch=2,ldb=16,ldc=7,tb=1",
	}
	var ops []op.Op
	for _, d := range []record.DType{record.BF16, record.FP16, record.FP64, record.INT8, record.U8S8, record.TF32, record.FP32} {
		for _, shape := range shapes {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	for _, d := range []record.DType{record.BF16, record.FP16, record.FP64, record.TF32, record.FP32} {
		for _, shape := range []string{"m=20,n=24,k=48,alpha=-2,beta=1", "m=20,n=24,k=48,alpha=3,beta=1,tb=1,ldc=25", "m=6,n=16,k=32,batch=3,beta=1"} {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "linear", record.BF16, "m=13,n=21,k=32,act="+act), cudatest.Op(t, "linear", record.TF32, "m=13,n=21,k=32,act="+act),
			cudatest.Op(t, "linear", record.FP32, "m=13,n=21,k=32,act="+act))
	}
	for _, p := range []string{"", ",bias=0", ",requant=1", ",requant=1,act=relu", ",requant=1,bias=0"} {
		ops = append(ops, cudatest.Op(t, "linear", record.INT8, "m=13,n=21,k=32"+p), cudatest.Op(t, "linear", record.INT8, "m=100,n=647,k=80"+p))
	}
	t.Setenv("RIDGE_FAKE_CAPABILITY", "8.0") // 9.0 has kernels of its own
	cudatest.Taken(t, cuda.New(), "sm80", ops)
}

// As above for wgmma: tails of every dimension, more tiles than multiprocessors (4), so that blocks take several, depths below, at and above the stages,
// both tiles, B along k and along its columns, pitches of C that no pack of 16 bytes fits, batches, all epilogues.
func TestProductsOnHopperMatchTheExpectation(t *testing.T) {
	shapes := []string{
		"m=17,n=1,k=1,lda=16,ldb=16,tb=1", "m=17,n=16,k=32,tb=1", "m=130,n=144,k=96,tb=1", "m=17,n=39,k=45,lda=48,ldb=48,ldc=41,tb=1", "m=140,n=1304,k=80,tb=1",
		"m=128,n=128,k=912,batch=2,tb=1", "m=6,n=5,k=16,batch=7,ldb=16,ldc=7,tb=1",
	}
	across := []string{"m=20,n=16,k=32", "m=130,n=144,k=96", "m=17,n=39,k=45,lda=48,ldb=48", "m=300,n=647,k=80,ldb=656", "m=70,n=328,k=464", "m=6,n=16,k=32,batch=3"}
	var ops []op.Op
	for _, d := range []record.DType{record.BF16, record.FP16, record.INT8, record.U8S8, record.TF32} {
		for _, shape := range shapes {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	ops = append(ops, cudatest.Op(t, "gemm", record.TF32, "m=20,n=24,k=48,alpha=3,beta=1,tb=1,ldc=25"), cudatest.Op(t, "linear", record.TF32, "m=130,n=300,k=68,act=silu"))
	for _, d := range []record.DType{record.FP8E4M3, record.FP32} { // fp8: k of a part of 128, of several and within one
		for _, shape := range []string{"m=17,n=1,k=1,lda=16,ldb=16,tb=1", "m=130,n=144,k=96,tb=1", "m=17,n=39,k=45,lda=48,ldb=48,ldc=41,tb=1", "m=6,n=5,k=16,batch=7,ldb=16,ldc=7,tb=1",
			"m=20,n=24,k=48,alpha=3,beta=1,tb=1,ldc=25"} {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	ops = append(ops, cudatest.Op(t, "gemm", record.FP8E4M3, "m=140,n=1300,k=144,tb=1"), cudatest.Op(t, "gemm", record.FP8E4M3, "m=9,n=16,k=1200,tb=1,alpha=-2"),
		cudatest.Op(t, "gemm", record.FP32, "m=300,n=300,k=80,tb=1"), cudatest.Op(t, "gemm", record.FP32, "m=19,n=16,k=228,tb=1,alpha=-2"))
	for _, d := range []record.DType{record.BF16, record.FP16} {
		for _, shape := range append(across, "m=20,n=24,k=48,alpha=-2,beta=1", "m=20,n=24,k=48,alpha=3,beta=1,tb=1,ldc=25", "m=6,n=17,k=32,ldb=24,batch=3,beta=1") {
			ops = append(ops, cudatest.Op(t, "gemm", d, shape))
		}
	}
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "linear", record.BF16, "m=21,n=21,k=32,act="+act), cudatest.Op(t, "linear", record.FP8E4M3, "m=21,n=21,k=32,act="+act),
			cudatest.Op(t, "linear", record.FP32, "m=21,n=21,k=32,act="+act))
	}
	for _, p := range []string{"", ",bias=0", ",requant=1", ",requant=1,act=relu", ",requant=1,bias=0"} {
		ops = append(ops, cudatest.Op(t, "linear", record.INT8, "m=21,n=21,k=32"+p), cudatest.Op(t, "linear", record.INT8, "m=100,n=648,k=80"+p))
	}
	// What is stored as it is rounded, of several tiles a block: alpha, bias and ReLU of the sums in registers.
	ops = append(ops, cudatest.Op(t, "linear", record.BF16, "m=140,n=1304,k=72,act=relu"), cudatest.Op(t, "linear", record.BF16, "m=130,n=144,k=64"), cudatest.Op(t, "linear", record.TF32, "m=130,n=144,k=64"),
		cudatest.Op(t, "gemm", record.FP16, "m=140,n=1304,k=72,alpha=3"), cudatest.Op(t, "gemm", record.TF32, "m=140,n=144,k=72,alpha=-2,tb=1"))
	cudatest.Taken(t, cuda.New(), "sm90", ops)
}

// Clusters of two blocks that share B's tile, on two pairs of multiprocessors: an odd number of tiles in either direction, so that a block of the last cluster has no
// rows, one tile alone, more places than clusters, depths below, at and above the stages, B either way, batches, all epilogues.
func TestProductsInClustersMatchTheExpectation(t *testing.T) {
	cluster := map[string]int64{"tile": 256, "cluster": 2}
	of := func(name string, d record.DType, shapes ...string) (ops []op.Op) {
		for _, s := range shapes {
			ops = append(ops, cudatest.Op(t, name, d, s))
		}
		return ops
	}
	for _, tc := range []struct {
		kernel string
		ops    []op.Op
	}{
		{"gemm_bf16_sm90", append(of("gemm", record.BF16, "m=130,n=144,k=96,tb=1", "m=300,n=520,k=48,tb=1", "m=129,n=39,k=45,lda=48,ldb=48,ldc=41,tb=1", "m=140,n=264,k=400,tb=1",
			"m=150,n=24,k=16,batch=5,tb=1", "m=300,n=39,k=80,ldb=48", "m=140,n=264,k=328", "m=150,n=16,k=72,batch=3,alpha=-2,beta=1", "m=130,n=24,k=48,alpha=3,beta=1,tb=1,ldc=25"), of("linear", record.BF16, "m=150,n=280,k=72,act=gelu", "m=290,n=21,k=32,act=relu,bias=0")...)},
		{"gemm_fp16_sm90", of("gemm", record.FP16, "m=300,n=39,k=80,ldb=48", "m=140,n=264,k=48,tb=1")},
		{"gemm_tf32_sm90", append(of("gemm", record.TF32, "m=300,n=39,k=48,lda=64,ldb=64,tb=1", "m=129,n=39,k=197,lda=200,ldb=200,ldc=41,tb=1"), of("linear", record.TF32, "m=130,n=300,k=36,act=silu")...)},
		{"gemm_fp8_e4m3_sm90", of("gemm", record.FP8E4M3, "m=300,n=39,k=144,tb=1", "m=129,n=39,k=688,ldc=41,tb=1,alpha=-2")},
		{"gemm_int8_sm90", append(of("gemm", record.INT8, "m=300,n=39,k=144,tb=1", "m=150,n=24,k=640,batch=2,tb=1"),
			of("linear", record.INT8, "m=290,n=41,k=144", "m=290,n=281,k=64,requant=1,act=relu", "m=130,n=40,k=64,requant=1,bias=0")...)},
		{"gemm_u8s8_sm90", of("gemm", record.U8S8, "m=300,n=39,k=144,tb=1", "m=150,n=24,k=16,batch=3,tb=1")},
	} {
		cudatest.With(t, cuda.New(), tc.kernel, cluster, tc.ops)
	}
	// What the plan chooses by itself: two rounds of tiles with eight stages.
	t.Setenv("RIDGE_FAKE_SMS", "2")
	cudatest.Taken(t, cuda.New(), "bf16_sm90", of("gemm", record.BF16, "m=256,n=512,k=512,tb=1"))
}

func TestLayersOfTwoProductsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, shape := range []string{"m=0,n=3,k=2", "m=1,n=1,k=1", "m=17,n=70,k=33", "m=130,n=65,k=20"} {
			ops = append(ops, cudatest.Op(t, "swiglu", d, shape))
		}
		for _, shape := range []string{"m=0,n=3,k=2,h=4", "m=3,n=0,k=2,h=4", "m=1,n=1,k=1,h=1", "m=9,n=11,k=13,h=40,act=relu", "m=130,n=20,k=17,h=135"} {
			ops = append(ops, cudatest.Op(t, "mlp", d, shape))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

// Rows shorter and longer than a warp, fewer and more rows than the grid has warps (4 multiprocessors: 512).
func TestMatrixVectorProductsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.FP64} {
		for _, shape := range []string{"m=0,n=3", "m=3,n=0", "m=1,n=1", "m=9,n=31", "m=600,n=33", "m=5,n=2100"} {
			ops = append(ops, cudatest.Op(t, "gemv", d, shape))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}
