package gemm

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

func TestTensorCoresTakeTheLayersTheyCan(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "swiglu", mmaSwiglu, []plantest.Case{
		{DType: record.BF16, Params: "m=4096 n=14336 k=4096", Device: h200, Entry: "swiglu_bf16_sm80_wide", Blocks: 3584, Shared: 98304},
		{DType: record.BF16, Params: "m=128 n=2048 k=4096", Device: h200, Entry: "swiglu_bf16_sm80", Blocks: 32, Shared: 65536},
		{DType: record.BF16, Params: "m=128 n=2048 k=4100", Device: h200, Entry: "rows of a lie 8200 bytes apart"},
	})
}
