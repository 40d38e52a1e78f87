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
		{DType: record.BF16, Params: "m=128 n=16384 k=16384 tb=1", Device: h200, Entry: "gemm_bf16_sm80_splitk_nt", Blocks: 256, Shared: 65536},
		{DType: record.INT8, Params: "m=129 n=1024 k=4096", Device: h200, Entry: "gemm_int8_sm80_splitk_nn", Blocks: 128, Shared: 65536},
		{DType: record.BF16, Params: "m=129 n=1024 k=4096", Device: h200, Entry: "m=129: more than 128 rows are left to wgmma"},
		{DType: record.BF16, Params: "m=129 n=1024 k=4096", Device: a100, Entry: "gemm_bf16_sm80_splitk_nn", Blocks: 208, Shared: 65536},
		{DType: record.BF16, Params: "m=4096 n=4096 k=4096", Device: a100, Entry: "leave nothing to split"},
		{DType: record.BF16, Params: "m=1 n=128 k=256", Device: h200, Entry: "1 tiles of 8 stages on 132 multiprocessors leave nothing to split"},
		{DType: record.BF16, Params: "m=1 n=128 k=4096 batch=2", Device: h200, Entry: "batch=2: one product"},
		{DType: record.BF16, Params: "m=1 n=128 k=4096 lda=4097", Device: h200, Entry: "rows of a lie 8194 bytes apart"},
		{DType: record.BF16, Params: "m=1 n=128 k=4096", Device: kernel.Device{SMs: 132, SharedMax: 32768}, Entry: "a block takes 40960 bytes"},
	})
}
