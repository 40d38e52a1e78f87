package gemm

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// B stored [K,N] is transposed to the workspace, whose rows begin at multiples of 16 bytes, and multiplied by the kernel for B stored [N,K].
func TestTransposedOperandsFollowShapeAndDevice(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "gemm", across, []plantest.Case{
		{DType: record.TF32, Params: "m=4096 n=4096 k=4096", Device: h200, Entry: "gemm_tf32_sm90_across", Blocks: 128 * 128},
		{DType: record.INT8, Params: "m=4096 n=4096 k=4096", Device: h200, Entry: "gemm_int8_sm90_across", Blocks: 32 * 32},
		{DType: record.U8S8, Params: "m=768 n=144 k=144", Device: h200, Entry: "gemm_u8s8_sm90_across", Blocks: 4},
		{DType: record.FP8E4M3, Params: "m=8 n=16 k=16 batch=3", Device: h200, Entry: "gemm_fp8_e4m3_sm90_across", Blocks: 3},
		{DType: record.TF32, Params: "m=4096 n=4096 k=4096 tb=1", Device: h200, Entry: "B is stored [N,K]"},
		{DType: record.TF32, Params: "m=255 n=4096 k=4096", Device: h200, Entry: "transposing B does not pay below 256 rows"},
		{DType: record.INT8, Params: "m=767 n=4096 k=4096", Device: h200, Entry: "transposing B does not pay below 768 rows"},
		{DType: record.TF32, Params: "m=4096 n=4094 k=4096", Device: h200, Entry: "rows of b lie 16376 bytes apart"},
		{DType: record.TF32, Params: "m=4096 n=4096 k=4095", Device: h200, Entry: "rows of a lie 16380 bytes apart"},
		{DType: record.TF32, Params: "m=4096 n=0 k=4096", Device: h200, Entry: "an empty matrix has no tensor map"},
		{DType: record.FP8E4M3, Params: "m=4096 n=16 k=16 batch=65536", Device: h200, Entry: "at most 65535 products are taken"},
	})
	plantest.Launches(t, "gemm", across3xTF32, []plantest.Case{
		{DType: record.FP32, Params: "m=4096 n=4096 k=4096", Device: h200, Entry: "gemm_fp32_sm90_3xtf32_across", Blocks: 128 * 128},
	})
	for _, x := range []struct {
		d             record.DType
		params, entry string
		plan          plantest.Planner
		row, bytes    int64 // of the workspace
	}{
		{record.TF32, "m=4096 n=4096 k=4096", "gemm_tf32_sm90_nt_cluster", across, 16384, 16384 * 4096},
		{record.FP32, "m=512 n=64 k=30 lda=32 ldb=72 batch=2", "gemm_fp32_sm90_3xtf32_nt", across3xTF32, 128, 2 * 64 * 128},
		{record.INT8, "m=768 n=64 k=33 lda=48 ldb=80", "gemm_int8_sm90_nt_narrow", across, 48, 64 * 48},
	} {
		p := plantest.Plan(t, "gemm", x.d, x.params, 4096, x.plan, h200)
		second := p.Launches[1]
		a, b := second.Args[0], second.Args[1]
		if second.Entry != x.entry || second.Image == "" || p.Workspace != x.bytes {
			t.Errorf("%s %s: %s of %q, %d bytes, want %s and %d", x.d, x.params, second.Entry, second.Image, p.Workspace, x.entry, x.bytes)
		}
		if a.Work || !b.Work || b.Map.Address != 0 || b.Map.Strides[0] != uint64(x.row) {
			t.Errorf("%s %s: A %+v, B %+v in rows of %v", x.d, x.params, a, b, b.Map.Strides)
		}
	}
}
