package gemm

import (
	"reflect"
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// Wide tiles where they are done sooner, one block a multiprocessor at most, and what the tier below takes.
func TestHopperTilesFollowShapeAndDevice(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "gemm", wgmma, []plantest.Case{
		{DType: record.BF16, Params: "m=4096 n=4096 k=64", Device: h200, Entry: "gemm_bf16_sm90_nn", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "m=4096 n=4096 k=64 tb=1", Device: h200, Entry: "gemm_bf16_sm90_nt", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "m=128 n=4096 k=64", Device: h200, Entry: "gemm_bf16_sm90_nn_slim", Blocks: 64, Shared: 230400},
		{DType: record.BF16, Params: "m=512 n=1024 k=1024 tb=1", Device: h200, Entry: "gemm_bf16_sm90_nt_slim", Blocks: 64, Shared: 230400},
		{DType: record.BF16, Params: "m=1024 n=1024 k=64", Device: h200, Entry: "gemm_bf16_sm90_nn_narrow", Blocks: 64, Shared: 230400}, // 128 tiles of 64 columns ask too much of L2
		{DType: record.BF16, Params: "m=512 n=2176 k=64", Device: h200, Entry: "gemm_bf16_sm90_nn_narrow", Blocks: 68, Shared: 230400},  // 136
		{DType: record.BF16, Params: "m=1 n=8 k=8 batch=200", Device: h200, Entry: "gemm_bf16_sm90_nn_narrow", Blocks: 132, Shared: 230400},
		{DType: record.FP16, Params: "m=4096 n=4096 k=64", Device: h200, Entry: "gemm_fp16_sm90_nn", Blocks: 132, Shared: 230400},
		{DType: record.INT8, Params: "m=4096 n=4096 k=64 tb=1", Device: h200, Entry: "gemm_int8_sm90_nt", Blocks: 132, Shared: 230400},
		{DType: record.U8S8, Params: "m=64 n=64 k=64 tb=1", Device: h200, Entry: "gemm_u8s8_sm90_nt_narrow", Blocks: 1, Shared: 230400},
		{DType: record.TF32, Params: "m=4096 n=4096 k=64 tb=1", Device: h200, Entry: "gemm_tf32_sm90_nt", Blocks: 132, Shared: 230400},
		{DType: record.FP8E4M3, Params: "m=4096 n=4096 k=64 tb=1", Device: h200, Entry: "gemm_fp8_e4m3_sm90_nt", Blocks: 132, Shared: 230400},
		{DType: record.FP8E4M3, Params: "m=64 n=64 k=64 tb=1", Device: h200, Entry: "gemm_fp8_e4m3_sm90_nt_narrow", Blocks: 1, Shared: 230400},
		{DType: record.FP8E4M3, Params: "m=64 n=64 k=64", Device: h200, Entry: "wgmma takes bytes along k alone"},
		{DType: record.TF32, Params: "m=64 n=64 k=64", Device: h200, Entry: "wgmma takes words along k alone"},
		{DType: record.INT8, Params: "m=64 n=64 k=64", Device: h200, Entry: "wgmma takes bytes along k alone"},
		{DType: record.BF16, Params: "m=0 n=8 k=8", Device: h200, Entry: "an empty matrix has no tensor map"},
		{DType: record.BF16, Params: "m=8 n=8 k=0", Device: h200, Entry: "an empty matrix has no tensor map"},
		{DType: record.BF16, Params: "m=8 n=8 k=4294967296", Device: h200, Entry: "tiles have 32-bit coordinates"},
		{DType: record.BF16, Params: "m=1048576 n=1048576 k=8 batch=64", Device: h200, Entry: "tiles are counted in 31 bits"},
		{DType: record.BF16, Params: "m=1048576 n=8 k=1048576", Device: h200, Entry: "tensor maps take strides below 2^40 bytes"},
		{DType: record.BF16, Params: "m=256 n=256 k=64", Device: kernel.Device{SMs: 132, SharedMax: 166912}, Entry: "a block takes 230528 bytes"},
		{DType: record.BF16, Params: "m=256 n=256 k=64", Device: h200, Shift: 2, Entry: "rows of a lie 128 bytes apart from address 0x2"},
		{DType: record.BF16, Params: "m=256 n=252 k=64", Device: h200, Entry: "rows of b lie 504 bytes apart"},
	})
}

// Clusters where several rounds of deep tiles have neighbours below each other, and where a search asks for them; no launch has more than there are pairs of multiprocessors.
func TestHopperTilesLieInClustersWhereTheySpareTheCache(t *testing.T) {
	on := func(sms int, cols, cluster int64) kernel.Device {
		return kernel.Device{Capability: 90, SMs: sms, SharedMax: 232448, TileCols: cols, Cluster: cluster}
	}
	h200 := on(132, 0, 0)
	plantest.Launches(t, "gemm", wgmma, []plantest.Case{
		{DType: record.BF16, Params: "m=4096 n=4096 k=4096", Device: h200, Entry: "gemm_bf16_sm90_nn_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.BF16, Params: "m=8192 n=8192 k=512 tb=1", Device: h200, Entry: "gemm_bf16_sm90_nt_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.FP16, Params: "m=4096 n=4096 k=4096", Device: h200, Entry: "gemm_fp16_sm90_nn_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.TF32, Params: "m=4096 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_tf32_sm90_nt_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.INT8, Params: "m=4096 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_int8_sm90_nt_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.U8S8, Params: "m=4096 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_u8s8_sm90_nt_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.FP8E4M3, Params: "m=4096 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_fp8_e4m3_sm90_nt_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.BF16, Params: "m=256 n=256 k=1024 batch=200", Device: h200, Entry: "gemm_bf16_sm90_nn_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.BF16, Params: "m=3968 n=4096 k=4096", Device: h200, Entry: "gemm_bf16_sm90_nn_cluster", Blocks: 132, Shared: 230400, Cluster: 2}, // 31 rows of tiles, no round more
		{DType: record.BF16, Params: "m=384 n=22528 k=4096", Device: h200, Entry: "gemm_bf16_sm90_nn", Blocks: 132, Shared: 230400},                     // 3 rows: a round more
		{DType: record.BF16, Params: "m=1024 n=4096 k=4096", Device: h200, Entry: "gemm_bf16_sm90_nn", Blocks: 128, Shared: 230400},                     // one round
		{DType: record.BF16, Params: "m=4096 n=4096 k=448", Device: h200, Entry: "gemm_bf16_sm90_nn", Blocks: 132, Shared: 230400},                      // seven stages
		{DType: record.BF16, Params: "m=128 n=131072 k=4096", Device: h200, Entry: "gemm_bf16_sm90_nn", Blocks: 132, Shared: 230400},                    // one row
		{DType: record.BF16, Params: "m=4096 n=4096 k=4096", Device: on(133, 0, 0), Entry: "gemm_bf16_sm90_nn_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.BF16, Params: "m=4096 n=4096 k=4096", Device: on(132, 256, 1), Entry: "gemm_bf16_sm90_nn", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "m=200 n=104 k=64", Device: on(132, 256, 2), Entry: "gemm_bf16_sm90_nn_cluster", Blocks: 2, Shared: 230400, Cluster: 2},
		{DType: record.BF16, Params: "m=128 n=4096 k=64", Device: on(132, 256, 2), Entry: "there is no tile of 256 columns in clusters of 2"},
		{DType: record.BF16, Params: "m=256 n=4096 k=64", Device: on(132, 128, 2), Entry: "there is no tile of 128 columns in clusters of 2"},
		{DType: record.BF16, Params: "m=256 n=4096 k=64", Device: on(1, 256, 2), Entry: "there is no tile of 256 columns in clusters of 2 for m=256 on 1 multiprocessors"},
		{DType: record.BF16, Params: "m=100 n=4096 k=64", Device: on(132, 0, 2), Entry: "there is no tile in clusters of 2 for m=100"},
	})
	plantest.Launches(t, "gemm", wgmma3xTF32, []plantest.Case{
		{DType: record.FP32, Params: "m=4096 n=4096 k=4096 tb=1", Device: h200, Entry: "gemm_fp32_sm90_3xtf32_nt", Blocks: 132, Shared: 230400},
	})
	for params, box := range map[string][]uint32{"m=4096 n=4096 k=4096 tb=1": {64, 128, 1}, "m=4096 n=4096 k=4096": {64, 64, 1}} { // half of B's tile a copy; panels of 64 columns
		p := plantest.Plan(t, "gemm", record.BF16, params, 4096, wgmma, h200)
		if got := p.Launches[0].Args[1].Map.Box; !reflect.DeepEqual(got, box) {
			t.Errorf("%s: B comes in boxes of %v, want %v", params, got, box)
		}
	}
}

func TestThreeProductsOfTF32OnHopperHaveOneTile(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "gemm", wgmma3xTF32, []plantest.Case{
		{DType: record.FP32, Params: "m=4096 n=4096 k=64 tb=1", Device: h200, Entry: "gemm_fp32_sm90_3xtf32_nt", Blocks: 132, Shared: 230400},
		{DType: record.FP32, Params: "m=64 n=64 k=64", Device: h200, Entry: "wgmma takes words along k alone"},
		{DType: record.FP32, Params: "m=64 n=64 k=62 tb=1", Device: h200, Entry: "rows of a lie 248 bytes apart"},
		{DType: record.FP32, Params: "m=64 n=64 k=64 tb=1", Device: kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448, TileCols: 256}, Entry: "there is no tile of 256 columns"},
	})
	p := plantest.Plan(t, "gemm", record.FP32, "m=4096 n=4096 k=64 tb=1", 4096, wgmma3xTF32, h200)
	for i := range 2 {
		if m := p.Launches[0].Args[i].Map; m.DType != record.FP32 || !reflect.DeepEqual(m.Box, []uint32{32, 128, 1}) {
			t.Errorf("operand %d has %+v, want fp32 as it is in boxes of 32 x 128", i, m)
		}
	}
}

// C's map stands behind the operands', in boxes of a warp's rows; a C that no map describes is left to the other end.
func TestHopperProductsStoredByTMAHaveAMapOfC(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "gemm", wgmmaStored, []plantest.Case{
		{DType: record.BF16, Params: "m=4096 n=4096 k=4096", Device: h200, Entry: "gemm_bf16_sm90_tma_nn_cluster", Blocks: 132, Shared: 230400, Cluster: 2},
		{DType: record.FP16, Params: "m=512 n=1024 k=64 tb=1", Device: h200, Entry: "gemm_fp16_sm90_tma_nt_slim", Blocks: 64, Shared: 230400},
		{DType: record.BF16, Params: "m=64 n=60 k=64 tb=1", Device: h200, Entry: "rows of c lie 120 bytes apart"},
	})
	p := plantest.Plan(t, "gemm", record.BF16, "m=100 n=200 k=72 ldc=208 batch=3 tb=1", 4096, wgmmaStored, h200)
	want := kernel.TensorMap{DType: record.BF16, Address: 4096, Dims: []uint64{200, 100, 3}, Strides: []uint64{416, 41600}, Box: []uint32{64, 16, 1}}
	if got := p.Launches[0].Args[2].Map; got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("C has %+v, want %+v", got, want)
	}
}

// Boxes and strides of both operands, B along k and along its columns.
func TestHopperOperandsAreMappedInTiles(t *testing.T) {
	for params, want := range map[string][2]kernel.TensorMap{
		"m=100 n=200 k=72 lda=80 tb=1 batch=3": {
			{DType: record.BF16, Address: 4096, Dims: []uint64{72, 100, 3}, Strides: []uint64{160, 16000}, Box: []uint32{64, 128, 1}},
			{DType: record.BF16, Address: 4096, Dims: []uint64{72, 200, 3}, Strides: []uint64{144, 28800}, Box: []uint32{64, 64, 1}}},
		"m=100 n=4096 k=72": {
			{DType: record.BF16, Address: 4096, Dims: []uint64{72, 100, 1}, Strides: []uint64{144, 14400}, Box: []uint32{64, 128, 1}},
			{DType: record.BF16, Address: 4096, Dims: []uint64{4096, 72, 1}, Strides: []uint64{8192, 589824}, Box: []uint32{64, 64, 1}}},
	} {
		p := plantest.Plan(t, "gemm", record.BF16, params, 4096, wgmma, kernel.Device{SMs: 132, SharedMax: 232448})
		for i, w := range want {
			if got := p.Launches[0].Args[i].Map; got == nil || !reflect.DeepEqual(*got, w) {
				t.Errorf("%s: operand %d has %+v, want %+v", params, i, got, w)
			}
		}
	}
}
