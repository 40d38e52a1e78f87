package attention

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// Few queries: blocks of 16; many: rows of warps that read the same keys together, or scores calculated twice for more queries.
func TestTensorCoresTakeTheWeightsTheyCan(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	const bf16, fp32 = "attention_bf16_sm80_parts_", "attention_fp32_sm80_3xtf32_parts_"
	plantest.Launches(t, "qk_softmax", parts, []plantest.Case{
		{DType: record.BF16, Params: "b=1 s=128 d=64", Device: h200, Entry: bf16 + "qk_16x32_d64", Blocks: 8},
		{DType: record.BF16, Params: "b=4 s=256 d=64", Device: h200, Entry: bf16 + "qk_16x32_d64", Blocks: 64},
		{DType: record.BF16, Params: "b=12 s=512 d=64", Device: h200, Entry: bf16 + "qk_16x64_d64", Blocks: 384},
		{DType: record.BF16, Params: "b=192 s=128 d=80", Device: h200, Entry: bf16 + "qk_16x32_d80", Blocks: 384},
		{DType: record.BF16, Params: "b=16 s=2048 d=64", Device: h200, Entry: bf16 + "qk_twice_64x32_d64", Blocks: 512},
		{DType: record.BF16, Params: "b=1 s=1024 d=96", Device: h200, Entry: bf16 + "qk_twice_16x64_d96", Blocks: 64},
		{DType: record.BF16, Params: "b=1 s=2000 d=128", Device: h200, Entry: bf16 + "qk_twice_16x64_d128", Blocks: 125},
		{DType: record.BF16, Params: "b=0 s=16 d=64", Device: h200, Entry: bf16 + "qk_16x32_d64", Blocks: 1},
		{DType: record.BF16, Params: "b=2 s=0 d=64", Device: h200, Entry: bf16 + "qk_16x32_d64", Blocks: 1},
		{DType: record.FP32, Params: "b=1 s=128 d=64", Device: h200, Entry: fp32 + "qk_16x32_d64", Blocks: 8},
		{DType: record.FP32, Params: "b=12 s=512 d=64", Device: h200, Entry: fp32 + "qk_16x64_d64", Blocks: 384},
		{DType: record.FP32, Params: "b=16 s=2048 d=64", Device: h200, Entry: fp32 + "qk_twice_32x32_d64", Blocks: 1024},
		{DType: record.BF16, Params: "b=1 s=16 d=72", Device: h200, Entry: "d=72: 64, 80, 96 and 128 are taken"},
		{DType: record.BF16, Params: "b=1 s=12 d=64", Device: h200, Entry: "12 keys: multiples of 8 are taken"},
		{DType: record.FP32, Params: "b=1 s=10 d=64", Device: h200, Entry: "10 keys: multiples of 4 are taken"},
		{DType: record.BF16, Params: "b=1 s=32776 d=64", Device: h200, Entry: "32776 keys: at most 32768 are taken"},
		{DType: record.BF16, Params: "b=1 s=16 d=64", Device: h200, Shift: 2, Entry: "q lies at address 0x2"},
		{DType: record.BF16, Params: "b=2147483648 s=16 d=64", Device: h200, Entry: "at most 2147483647 tiles"},
	})
}

func TestTensorCoresTakeTheWeightedSumsTheyCan(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	const bf16, fp32 = "attention_bf16_sm80_parts_", "attention_fp32_sm80_3xtf32_parts_"
	plantest.Launches(t, "softmax_v", parts, []plantest.Case{
		{DType: record.BF16, Params: "b=1 s=128 d=64", Device: h200, Entry: bf16 + "sv_16_d64", Blocks: 8, Shared: 4 * 16 * 4 * 68},
		{DType: record.BF16, Params: "b=4 s=256 d=64", Device: h200, Entry: bf16 + "sv_16_d64", Blocks: 64, Shared: 8 * 16 * 4 * 68},
		{DType: record.BF16, Params: "b=12 s=512 d=64", Device: h200, Entry: bf16 + "sv_16_d64", Blocks: 384, Shared: 8 * 16 * 4 * 68},
		{DType: record.BF16, Params: "b=16 s=2048 d=64", Device: h200, Entry: bf16 + "sv_32_d64", Blocks: 512, Shared: 8 * 32 * 4 * 68},
		{DType: record.BF16, Params: "b=16 s=2048 d=128", Device: h200, Entry: bf16 + "sv_16_d128", Blocks: 512, Shared: 8 * 16 * 4 * 132},
		{DType: record.FP32, Params: "b=1 s=128 d=64", Device: h200, Entry: fp32 + "sv_16_d64", Blocks: 8, Shared: 8 * 16 * 4 * 68},
		{DType: record.FP32, Params: "b=16 s=2048 d=64", Device: h200, Entry: fp32 + "sv_16_d64", Blocks: 512, Shared: 8 * 16 * 4 * 68},
		{DType: record.BF16, Params: "b=2 s=0 d=64", Device: h200, Entry: bf16 + "sv_16_d64", Blocks: 1, Shared: 16 * 4 * 68},
		{DType: record.BF16, Params: "b=1 s=16 d=72", Device: h200, Entry: "d=72: 64, 80, 96 and 128 are taken"},
		{DType: record.BF16, Params: "b=1 s=12 d=64", Device: h200, Entry: "12 keys: multiples of 8 are taken"},
		{DType: record.BF16, Params: "b=1 s=16 d=64", Device: h200, Shift: 2, Entry: "s lies at address 0x2"},
		{DType: record.BF16, Params: "b=1 s=256 d=128", Device: kernel.Device{SharedMax: 49152}, Entry: "a block takes 68608 bytes"},
	})
}
