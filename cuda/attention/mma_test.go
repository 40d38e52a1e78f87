package attention

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

func TestTensorCoresTakeTheAttentionTheyCan(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "attention", mma, []plantest.Case{
		{DType: record.BF16, Params: "b=2 heads=3 sq=129 d=64", Device: h200, Entry: "attention_bf16_sm80_d64", Blocks: 12, Shared: 32768},
		{DType: record.BF16, Params: "b=1 heads=4 sq=1024 d=128 causal=1", Device: h200, Entry: "attention_bf16_sm80_d128", Blocks: 32, Shared: 65536},
		{DType: record.BF16, Params: "b=1 heads=1 sq=0 d=64", Device: h200, Entry: "attention_bf16_sm80_d64", Blocks: 1, Shared: 32768},
		{DType: record.BF16, Params: "b=1 heads=1 sq=129 d=80", Device: h200, Entry: "attention_bf16_sm80_d80", Blocks: 2, Shared: 65536},
		{DType: record.BF16, Params: "b=1 heads=1 sq=129 d=96", Device: h200, Entry: "attention_bf16_sm80_d96", Blocks: 2, Shared: 65536},
		{DType: record.BF16, Params: "b=1 heads=1 sq=129 d=256", Device: h200, Entry: "attention_bf16_sm80_d256", Blocks: 3, Shared: 98304},
		{DType: record.BF16, Params: "b=1 heads=1 sq=9 d=72", Device: h200, Entry: "d=72: 64, 80, 96, 128 and 256 are taken"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=9 d=64", Device: h200, Shift: 2, Entry: "q lies at address 0x2"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=9 d=128", Device: kernel.Device{SharedMax: 49152}, Entry: "a block takes 65536 bytes"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=9 skv=536870913 d=64", Device: h200, Entry: "536870913 keys"},
		{DType: record.BF16, Params: "b=1 heads=2147483648 sq=9 d=64", Device: h200, Entry: "at most 2147483647 tiles"},
	})
}

func TestTensorCoresTakeTheAttentionOfFP32TheyCan(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "attention", wide, []plantest.Case{
		{DType: record.FP32, Params: "b=8 heads=1 sq=512 d=64", Device: h200, Entry: "attention_fp32_sm80_3xtf32_d64", Blocks: 128, Shared: 78336},
		{DType: record.FP32, Params: "b=1 heads=4 sq=1025 d=128 causal=1", Device: h200, Entry: "attention_fp32_sm80_3xtf32_d128", Blocks: 132, Shared: 152064},
		{DType: record.FP32, Params: "b=1 heads=1 sq=0 d=64", Device: h200, Entry: "attention_fp32_sm80_3xtf32_d64", Blocks: 1, Shared: 78336},
		{DType: record.FP32, Params: "b=1 heads=1 sq=9 d=80", Device: h200, Entry: "d=80: 64 and 128 are taken"},
		{DType: record.FP32, Params: "b=1 heads=1 sq=9 d=128", Device: kernel.Device{Capability: 80, SharedMax: 101376}, Entry: "a block takes 153088 bytes"},
		{DType: record.FP32, Params: "b=1 heads=1 sq=9 d=64", Device: h200, Shift: 4, Entry: "q lies at address 0x4"},
		{DType: record.FP32, Params: "b=1 heads=1 sq=9 skv=536870913 d=64", Device: h200, Entry: "536870913 keys"},
		{DType: record.FP32, Params: "b=1 heads=2147483648 sq=9 d=64", Device: h200, Entry: "at most 2147483647 tiles"},
	})
}
