package gemm

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// The widest copies that both operands allow.
func TestCopiesOfUnalignedRowsAreAsWideAsTheyCan(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "gemm", unaligned, []plantest.Case{
		{DType: record.BF16, Params: "m=256 n=252 k=64", Device: h200, Entry: "gemm_bf16_sm80_unaligned_nn_by8", Blocks: 4, Shared: 65536},
		{DType: record.BF16, Params: "m=256 n=256 k=64", Device: h200, Shift: 4, Entry: "gemm_bf16_sm80_unaligned_nn_by4", Blocks: 4, Shared: 65536},
		{DType: record.BF16, Params: "m=256 n=254 k=64", Device: h200, Entry: "gemm_bf16_sm80_unaligned_nn_by4", Blocks: 4, Shared: 65536},
		{DType: record.FP16, Params: "m=256 n=256 k=61 tb=1", Device: h200, Entry: "gemm_fp16_sm80_unaligned_nt_by2", Blocks: 4, Shared: 65536},
		{DType: record.INT8, Params: "m=256 n=256 k=62 tb=1", Device: h200, Entry: "gemm_int8_sm80_unaligned_nt_by1", Blocks: 4, Shared: 65536},
		{DType: record.U8S8, Params: "m=256 n=252 k=64", Device: h200, Entry: "gemm_u8s8_sm80_unaligned_nn_by4", Blocks: 4, Shared: 65536},
		{DType: record.FP64, Params: "m=256 n=255 k=63", Device: h200, Entry: "gemm_fp64_sm80_unaligned_nn_by8", Blocks: 8, Shared: 49152},
	})
}
