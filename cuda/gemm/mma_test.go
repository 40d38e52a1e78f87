package gemm

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// Tiles by shape and device: wide ones where they are done sooner, none that the shared memory does not hold, no operand off 16 bytes.
func TestTensorTilesFollowShapeAndDevice(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "gemm", mma, []plantest.Case{
		{DType: record.BF16, Params: "m=4096 n=4096 k=64", Device: h200, Entry: "gemm_bf16_sm80_nn_wide", Blocks: 512, Shared: 98304},
		{DType: record.BF16, Params: "m=4096 n=4096 k=64 tb=1", Device: h200, Entry: "gemm_bf16_sm80_nt_wide", Blocks: 512, Shared: 98304},
		{DType: record.BF16, Params: "m=128 n=4096 k=64", Device: h200, Entry: "gemm_bf16_sm80_nn", Blocks: 32, Shared: 65536},
		{DType: record.BF16, Params: "m=4096 n=4096 k=64", Device: kernel.Device{SMs: 132, SharedMax: 65536}, Entry: "gemm_bf16_sm80_nn", Blocks: 1024, Shared: 65536},
		{DType: record.BF16, Params: "m=4096 n=4096 k=64", Device: kernel.Device{SMs: 132, SharedMax: 49152}, Entry: "a block takes 65536 bytes"},
		{DType: record.FP64, Params: "m=256 n=256 k=64", Device: h200, Entry: "gemm_fp64_sm80_nn", Blocks: 8, Shared: 49152},
		{DType: record.INT8, Params: "m=256 n=256 k=64 batch=3", Device: h200, Entry: "gemm_int8_sm80_nn", Blocks: 12, Shared: 65536},
		{DType: record.TF32, Params: "m=256 n=256 k=64 tb=1", Device: h200, Entry: "gemm_tf32_sm80_nt", Blocks: 4, Shared: 65536},
		{DType: record.BF16, Params: "m=256 n=256 k=64", Device: h200, Shift: 2, Entry: "rows of a lie 128 bytes apart from address 0x2"},
		{DType: record.BF16, Params: "m=256 n=252 k=64", Device: h200, Entry: "rows of b lie 504 bytes apart"},
		{DType: record.INT8, Params: "m=256 n=256 k=40 tb=1", Device: h200, Entry: "rows of a lie 40 bytes apart"},
	})
}

// fp32 by three products of tf32 where the rates say so, on smaller tiles where there are few.
func TestThreeProductsOfTF32FollowTheDevice(t *testing.T) {
	on := func(capability int) kernel.Device {
		return kernel.Device{Capability: capability, SMs: 132, SharedMax: 101376}
	}
	plantest.Launches(t, "gemm", mma3xTF32, []plantest.Case{
		{DType: record.FP32, Params: "m=4096 n=4096 k=64", Device: on(90), Entry: "gemm_fp32_sm80_3xtf32_nn", Blocks: 1024, Shared: 65536},
		{DType: record.FP32, Params: "m=4096 n=4096 k=64 tb=1", Device: on(80), Entry: "gemm_fp32_sm80_3xtf32_nt", Blocks: 1024, Shared: 65536},
		{DType: record.FP32, Params: "m=256 n=2048 k=64", Device: on(80), Entry: "gemm_fp32_sm80_3xtf32_nn_small", Blocks: 64, Shared: 49152},
		{DType: record.FP32, Params: "m=256 n=255 k=64", Device: on(80), Entry: "rows of b lie 1020 bytes apart"},
	})
}
