package gemm

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// Parts fill the device with two blocks a multiprocessor; where tiles do, or k is short, there are none.
func TestPartsOfTheDepthFollowShapeAndDevice(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	a100 := kernel.Device{Capability: 80, SMs: 108, SharedMax: 166912}
	plantest.Launches(t, "gemm", splitK, []plantest.Case{
		{DType: record.BF16, Params: "m=1 n=4096 k=4096", Device: h200, Entry: "gemm_bf16_sm80_splitk_nn_rows32", Blocks: 256, Shared: 40960},
		{DType: record.BF16, Params: "m=64 n=8192 k=8192 tb=1", Device: h200, Entry: "gemm_bf16_sm80_splitk_nt_rows64", Blocks: 256, Shared: 49152},
		{DType: record.BF16, Params: "m=128 n=16384 k=16384 tb=1", Device: h200, Entry: "what tiles fill, are left to wgmma"},
		{DType: record.BF16, Params: "m=128 n=16384 k=16384 tb=1", Device: a100, Entry: "leave nothing to split"},
		{DType: record.INT8, Params: "m=129 n=1024 k=4096", Device: h200, Entry: "gemm_int8_sm80_splitk_nn", Blocks: 128, Shared: 65536},
		{DType: record.BF16, Params: "m=129 n=1024 k=4096", Device: h200, Entry: "m=129 n=1024 k=4096: more than 128 rows"},
		{DType: record.BF16, Params: "m=129 n=1024 k=4096", Device: a100, Entry: "gemm_bf16_sm80_splitk_nn", Blocks: 208, Shared: 65536},
		{DType: record.BF16, Params: "m=4096 n=4096 k=4096", Device: a100, Entry: "leave nothing to split"},
		{DType: record.BF16, Params: "m=1 n=128 k=256", Device: h200, Entry: "what tiles fill, are left to wgmma"},
		{DType: record.BF16, Params: "m=1 n=128 k=256", Device: a100, Entry: "1 tiles of 8 stages on 108 multiprocessors leave nothing to split"},
		{DType: record.BF16, Params: "m=1 n=128 k=4096 batch=2", Device: h200, Entry: "batch=2: one product"},
		{DType: record.BF16, Params: "m=1 n=128 k=4096 lda=4097", Device: h200, Entry: "rows of a lie 8194 bytes apart"},
		{DType: record.BF16, Params: "m=1 n=128 k=4096", Device: kernel.Device{SMs: 132, SharedMax: 32768}, Entry: "a block takes 40960 bytes"},
	})
}

// Parts of the depth for wgmma: as many as are done first, none where tiles fill the device or the depth is short.
func TestPartsForHopperFollowShapeAndDevice(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "gemm", wgmmaSplitK, []plantest.Case{
		{DType: record.BF16, Params: "m=1 n=4096 k=4096", Device: h200, Entry: "gemm_bf16_sm90_splitk_nn", Blocks: 128, Shared: 230400},
		{DType: record.BF16, Params: "m=128 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_bf16_sm90_splitk_nt", Blocks: 128, Shared: 230400},
		{DType: record.FP16, Params: "m=64 n=8192 k=8192 tb=1", Device: h200, Entry: "gemm_fp16_sm90_splitk_nt", Blocks: 128, Shared: 230400},
		{DType: record.TF32, Params: "m=8 n=11008 k=4096 tb=1", Device: h200, Entry: "gemm_tf32_sm90_splitk_nt", Blocks: 132, Shared: 230400},
		{DType: record.FP8E4M3, Params: "m=32 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_fp8_e4m3_sm90_splitk_nt", Blocks: 128, Shared: 230400},
		{DType: record.INT8, Params: "m=129 n=1024 k=8192 tb=1", Device: h200, Entry: "gemm_int8_sm90_splitk_nt", Blocks: 128, Shared: 230400},
		{DType: record.BF16, Params: "m=128 n=16384 k=16384 tb=1", Device: h200, Entry: "128 tiles of 256 stages on 132 multiprocessors leave nothing to split"},
		{DType: record.BF16, Params: "m=1 n=128 k=256", Device: h200, Entry: "1 tiles of 4 stages on 132 multiprocessors leave nothing to split"},
		{DType: record.BF16, Params: "m=70000 n=128 k=65536", Device: kernel.Device{Capability: 90, SMs: 1000, SharedMax: 232448}, Entry: "leave nothing to split"},
		{DType: record.BF16, Params: "m=1 n=4096 k=4096 batch=2", Device: h200, Entry: "batch=2: one product"},
		{DType: record.TF32, Params: "m=1 n=4096 k=4096", Device: h200, Entry: "wgmma takes words along k alone"},
		{DType: record.BF16, Params: "m=0 n=4096 k=4096", Device: h200, Entry: "an empty matrix has no tensor map"},
	})
	plantest.Launches(t, "gemm", wgmmaSplitK3xTF32, []plantest.Case{
		{DType: record.FP32, Params: "m=1 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_fp32_sm90_3xtf32_splitk_nt", Blocks: 128, Shared: 230400},
	})
	p := plantest.Plan(t, "gemm", record.BF16, "m=3 n=4096 k=4100 lda=4104 ldb=4104 tb=1", 4096, wgmmaSplitK, h200)
	if got := p.Launches[0].Args[5].Bits; p.Workspace != 4*3*4096*4 || got != 17 {
		t.Errorf("%d bytes of parts, %d stages each, want 4 parts of 17 and 14 stages", p.Workspace, got)
	}
}
