package gemm

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// Rows that begin anywhere have an entry of their own.
func TestTilesOfTheFP32UnitsFollowShapeAndAlignment(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "gemm", simtFP32, []plantest.Case{
		{DType: record.FP32, Params: "m=4096 n=4096 k=64", Device: h200, Entry: "gemm_fp32_simt_nn", Blocks: 2048, Shared: 43008},
		{DType: record.FP32, Params: "m=4096 n=4096 k=64 tb=1", Device: h200, Entry: "gemm_fp32_simt_nt", Blocks: 2048, Shared: 46080},
		{DType: record.FP32, Params: "m=9 n=8 k=8 tb=1 batch=3", Device: h200, Entry: "gemm_fp32_simt_nt", Blocks: 3, Shared: 46080},
		{DType: record.FP32, Params: "m=4096 n=4095 k=64", Device: h200, Entry: "gemm_fp32_simt", Blocks: 1024},
		{DType: record.FP32, Params: "m=4096 n=4096 k=64", Device: h200, Shift: 4, Entry: "gemm_fp32_simt", Blocks: 1024},
		{DType: record.FP32, Params: "m=8 n=8 k=8 batch=65536", Device: h200, Entry: "at most 65535 products are taken"},
	})
}
