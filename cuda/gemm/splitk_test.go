//go:build cuda && linux && cgo

package gemm_test

import (
	"bytes"
	"errors"
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Few tiles and a long k (4 multiprocessors: 8 parts of a tile, of two tiles 4): rows of each tile and their tails, parts of one and of several sizes, a last part that is shorter, k that
// ends within a stage, both ways of B, all epilogues.
func TestProductsThatShareTheDepthMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{
		"m=0,n=16,k=512", "m=16,n=0,k=512,tb=1", "m=1,n=16,k=1024", "m=32,n=128,k=512,tb=1", "m=33,n=40,k=1100,ldb=48,lda=1104", "m=64,n=131,k=1032,tb=1,ldc=133", "m=65,n=24,k=520", "m=129,n=16,k=776,tb=1",
		"m=5,n=24,k=600,alpha=-2,beta=1", "m=5,n=24,k=600,alpha=3,beta=1,tb=1,ldc=25", "m=3,n=304,k=768",
	} {
		ops = append(ops, cudatest.Op(t, "gemm", record.BF16, shape), cudatest.Op(t, "gemm", record.FP16, shape))
	}
	for _, shape := range []string{"m=1,n=16,k=2048", "m=33,n=48,k=1100,lda=1104", "m=64,n=131,k=1040,tb=1,ldc=133", "m=129,n=16,k=1040,tb=1"} {
		ops = append(ops, cudatest.Op(t, "gemm", record.INT8, shape))
	}
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "linear", record.BF16, "m=2,n=21,k=512,act="+act))
	}
	for _, p := range []string{"", ",bias=0", ",requant=1", ",requant=1,act=relu", ",requant=1,bias=0"} {
		ops = append(ops, cudatest.Op(t, "linear", record.INT8, "m=3,n=21,k=1024"+p))
	}
	for _, shape := range []string{"m=17,n=16,k=1024", "m=33,n=40,k=1100,ldb=48,lda=1104", "m=64,n=131,k=516,tb=1,ldc=133", "m=129,n=16,k=388,beta=1,alpha=-2"} {
		ops = append(ops, cudatest.Op(t, "gemm", record.FP32, shape))
	}
	t.Setenv("RIDGE_FAKE_CAPABILITY", "8.0") // 9.0 has another kernel for more than 128 rows
	forced(t, map[record.DType]string{record.BF16: "gemm_bf16_sm80_splitk", record.FP16: "gemm_fp16_sm80_splitk", record.INT8: "gemm_int8_sm80_splitk", record.FP32: "gemm_fp32_sm80_3xtf32_splitk"}, ops)
	cudatest.Taken(t, cuda.New(), "splitk", []op.Op{cudatest.Op(t, "gemm", record.BF16, "m=65,n=24,k=520"), cudatest.Op(t, "gemm", record.INT8, "m=64,n=131,k=1040,tb=1"),
		cudatest.Op(t, "gemm", record.FP32, "m=33,n=40,k=1100,ldb=48,lda=1104")})
}

// The same for wgmma (4 multiprocessors: 4 parts of a tile, of two tiles 2).
func TestProductsThatShareTheDepthOnHopperMatchTheExpectation(t *testing.T) {
	var ops, three []op.Op
	for _, shape := range []string{
		"m=1,n=16,k=648", "m=33,n=40,k=652,ldb=48,lda=656", "m=64,n=131,k=1544,tb=1,ldc=133", "m=129,n=16,k=1544,tb=1", "m=5,n=24,k=648,alpha=-2,beta=1",
		"m=5,n=24,k=648,alpha=3,beta=1,tb=1,ldc=25",
	} {
		ops = append(ops, cudatest.Op(t, "gemm", record.BF16, shape))
	}
	ops = append(ops, cudatest.Op(t, "gemm", record.FP16, "m=3,n=17,k=648,ldb=24"), cudatest.Op(t, "gemm", record.FP16, "m=33,n=40,k=664,tb=1"),
		cudatest.Op(t, "gemm", record.INT8, "m=1,n=16,k=1296,tb=1"), cudatest.Op(t, "gemm", record.INT8, "m=64,n=39,k=1300,lda=1312,ldb=1312,tb=1,ldc=41"),
		cudatest.Op(t, "gemm", record.FP8E4M3, "m=1,n=16,k=1296,tb=1"), cudatest.Op(t, "gemm", record.FP8E4M3, "m=33,n=40,k=1300,lda=1312,ldb=1312,tb=1,beta=1"))
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "linear", record.BF16, "m=2,n=21,k=648,act="+act))
	}
	for _, p := range []string{"", ",bias=0", ",requant=1", ",requant=1,act=relu", ",requant=1,bias=0"} {
		ops = append(ops, cudatest.Op(t, "linear", record.INT8, "m=3,n=21,k=1296"+p))
	}
	for _, shape := range []string{"m=1,n=16,k=324,tb=1", "m=33,n=40,k=325,lda=328,ldb=328,tb=1,beta=1,alpha=-2"} {
		ops, three = append(ops, cudatest.Op(t, "gemm", record.TF32, shape)), append(three, cudatest.Op(t, "gemm", record.FP32, shape))
	}
	forced(t, map[record.DType]string{record.BF16: "gemm_bf16_sm90_splitk", record.FP16: "gemm_fp16_sm90_splitk", record.INT8: "gemm_int8_sm90_splitk", record.FP8E4M3: "gemm_fp8_e4m3_sm90_splitk",
		record.TF32: "gemm_tf32_sm90_splitk", record.FP32: "gemm_fp32_sm90_3xtf32_splitk"}, append(ops, three...))
	cudatest.Taken(t, cuda.New(), "splitk", []op.Op{cudatest.Op(t, "gemm", record.BF16, "m=129,n=16,k=1544,tb=1"), cudatest.Op(t, "gemm", record.FP32, "m=33,n=40,k=325,lda=328,ldb=328,tb=1")})
}

// forced runs the kernel of each precision, also where another is preferred.
func forced(t *testing.T, kernels map[record.DType]string, ops []op.Op) {
	t.Helper()
	of := map[record.DType][]op.Op{}
	for _, o := range ops {
		of[o.DType()] = append(of[o.DType()], o)
	}
	for d, list := range of {
		cudatest.With(t, cuda.New(), kernels[d], nil, list)
	}
}

// Blocks of the parts end in any order; their sums are added in one.
func TestProductsThatShareTheDepthHaveTheSameBitsInEveryOrder(t *testing.T) {
	for _, name := range []string{"gemm_bf16_sm80_splitk", "gemm_bf16_sm90_splitk", "gemm_bf16_sm80_skinny", "gemm_bf16_sm90_skinny"} {
		t.Run(name, func(t *testing.T) { sameBitsInEveryOrder(t, name) })
	}
}

func sameBitsInEveryOrder(t *testing.T, name string) {
	p := op.Single(cudatest.Op(t, "gemm", record.BF16, "m=16,n=40,k=2048"))
	var first []byte
	for _, order := range append(cudatest.Orders, "random:7") {
		t.Setenv("RIDGE_MODEL_ORDER", order)
		d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := d.Prepare(p, backend.PrepareOptions{Kernel: name, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Fill(false, 0), e.Run(1)); err != nil {
			t.Fatal(err)
		}
		c, _, _, err := e.ReadRaw("c")
		if err != nil {
			t.Fatal(err)
		}
		c = bytes.Clone(c)
		if first == nil {
			first = c
		} else if !bytes.Equal(first, c) {
			t.Errorf("order %s: other bits than in order %s", order, cudatest.Orders[0])
		}
		if err := errors.Join(e.Release(), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
