package gemm

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// Wide blocks where there is one for each multiprocessor; what has more rows, batches or rows that begin anywhere is left to others.
func TestBlocksOfFewRowsFollowShapeAndDevice(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "gemm", skinny, []plantest.Case{
		{DType: record.BF16, Params: "m=1 n=4096 k=4096", Device: h200, Entry: "gemm_bf16_sm80_skinny_nn_narrow_rows8", Blocks: 128, Shared: 16384},
		{DType: record.FP16, Params: "m=9 n=8192 k=8192", Device: h200, Entry: "gemm_fp16_sm80_skinny_nn_rows16", Blocks: 128, Shared: 65536},
		{DType: record.INT8, Params: "m=16 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_int8_sm80_skinny_nt_rows16", Blocks: 128, Shared: 32768},
		{DType: record.TF32, Params: "m=16 n=4096 k=4096", Device: h200, Entry: "gemm_tf32_sm80_skinny_nn_rows16", Blocks: 128, Shared: 24576},
		{DType: record.BF16, Params: "m=17 n=4096 k=4096", Device: h200, Entry: "m=17: at most 16 rows"},
		{DType: record.BF16, Params: "m=0 n=4096 k=4096", Device: h200, Entry: "there is nothing to multiply"},
		{DType: record.BF16, Params: "m=1 n=4096 k=4096 batch=2", Device: h200, Entry: "batch=2: one product"},
		{DType: record.BF16, Params: "m=1 n=4096 k=4096 lda=4097", Device: h200, Entry: "rows of a lie 8194 bytes apart"},
		{DType: record.BF16, Params: "m=1 n=4096 k=4294967296", Device: h200, Entry: "steps are counted with 32 bits"},
		{DType: record.BF16, Params: "m=1 n=4096 k=4096", Device: kernel.Device{SMs: 132, SharedMax: 8192}, Entry: "a block takes 16384 bytes"},
	})
	plantest.Launches(t, "gemm", skinny3xTF32, []plantest.Case{
		{DType: record.FP32, Params: "m=1 n=4096 k=4096", Device: h200, Entry: "gemm_fp32_sm80_3xtf32_skinny_nn_rows8", Blocks: 128, Shared: 16384},
	})
}

// Pairs of blocks share k where tiles are few, else A.
func TestRingsOfUpTo128RowsFollowShapeAndDevice(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448, L2Bytes: 60 << 20}
	plantest.Launches(t, "gemm", skinnyRing, []plantest.Case{
		{DType: record.BF16, Params: "m=16 n=4096 k=4096", Device: h200, Entry: "gemm_bf16_sm90_skinny_nn_parts_rows16", Blocks: 128, Shared: 205824, Cluster: 2},
		{DType: record.BF16, Params: "m=128 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_bf16_sm90_skinny_nt_parts_rows128", Blocks: 128, Shared: 197632, Cluster: 2},
		{DType: record.FP16, Params: "m=1 n=8192 k=8192", Device: h200, Entry: "gemm_fp16_sm90_skinny_nn_rows16", Blocks: 128, Shared: 205824, Cluster: 2},
		{DType: record.BF16, Params: "m=33 n=11000 k=4096 ldb=11008", Device: h200, Entry: "gemm_bf16_sm90_skinny_nn_rows64", Blocks: 172, Shared: 197632, Cluster: 2},
		{DType: record.BF16, Params: "m=65 n=8192 k=8192 tb=1", Device: h200, Entry: "gemm_bf16_sm90_skinny_nt_rows128", Blocks: 128, Shared: 197632, Cluster: 2},
		{DType: record.BF16, Params: "m=8 n=4096 k=11008 tb=1", Device: h200, Entry: "gemm_bf16_sm90_skinny_nt_parts_rows16", Blocks: 128, Shared: 205824, Cluster: 2},
		{DType: record.BF16, Params: "m=129 n=8192 k=8192", Device: h200, Entry: "m=129: at most 128 rows"},
		{DType: record.BF16, Params: "m=8 n=4096 k=4096 tb=1", Device: h200, Entry: "sooner done past shared memory"},
		{DType: record.BF16, Params: "m=16 n=4096 k=4096 batch=2", Device: h200, Entry: "batch=2: one product"},
		{DType: record.BF16, Params: "m=16 n=4096 k=4096", Device: kernel.Device{Capability: 90, SMs: 1, SharedMax: 232448}, Entry: "clusters of 2 blocks on 1 multiprocessors"},
	})
	if p := plantest.Plan(t, "gemm", record.BF16, "m=16 n=16384 k=16384", 4096, skinnyRing, h200); p.Launches[0].Args[5].Bits != 0 {
		t.Errorf("%d columns of a B that the cache does not hold a quarter of are kept", p.Launches[0].Args[5].Bits)
	}
	p := plantest.Plan(t, "gemm", record.BF16, "m=16 n=8192 k=8192", 4096, skinnyRing, h200)
	if keep := p.Launches[0].Args[5].Bits; keep != 2304 || p.Launches[0].Args[1].Map.Lines != 128 {
		t.Errorf("%d columns are kept, lines of %d bytes fetched, want 2304 and 128", keep, p.Launches[0].Args[1].Map.Lines)
	}
}
