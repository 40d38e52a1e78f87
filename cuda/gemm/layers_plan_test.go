package gemm

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

func TestTensorCoresTakeTheLayersTheyCan(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "swiglu", swigluMma("swiglu_bf16_sm80", swigluTiles), []plantest.Case{
		{DType: record.BF16, Params: "m=4096 n=14336 k=4096", Device: h200, Entry: "swiglu_bf16_sm80_wide", Blocks: 3584, Shared: 98304},
		{DType: record.BF16, Params: "m=128 n=2048 k=4096", Device: h200, Entry: "swiglu_bf16_sm80", Blocks: 32, Shared: 65536},
		{DType: record.BF16, Params: "m=128 n=2048 k=4100", Device: h200, Entry: "rows of a lie 8200 bytes apart"},
	})
}

// Few rows: blocks of 16 columns, whatever their number.
func TestGatedProductsOfFewRowsFollowTheShape(t *testing.T) {
	plantest.Launches(t, "swiglu", swigluSkinny("swiglu_bf16_sm80_skinny"), []plantest.Case{
		{DType: record.BF16, Params: "m=1 n=2816 k=1024", Device: testH200, Entry: "swiglu_bf16_sm80_skinny_rows8", Blocks: 176, Shared: 8192},
		{DType: record.BF16, Params: "m=9 n=2817 k=1024", Device: testH200, Entry: "swiglu_bf16_sm80_skinny_rows16", Blocks: 177, Shared: 16384},
		{DType: record.BF16, Params: "m=17 n=2816 k=1024", Device: testH200, Entry: "m=17: at most 16 rows"},
		{DType: record.BF16, Params: "m=1 n=0 k=1024", Device: testH200, Entry: "there is nothing to multiply"},
		{DType: record.BF16, Params: "m=1 n=2816 k=1020", Device: testH200, Entry: "rows of a lie 2040 bytes apart"},
		{DType: record.BF16, Params: "m=1 n=2816 k=4294967296", Device: testH200, Entry: "steps are counted with 32 bits"},
		{DType: record.BF16, Params: "m=9 n=2816 k=1024", Device: kernel.Device{SMs: 132, SharedMax: 8192}, Entry: "a block takes 16384 bytes"},
	})
	plantest.Launches(t, "swiglu", swigluSkinny("swiglu_fp32_sm80_3xtf32_skinny"), []plantest.Case{
		{DType: record.FP32, Params: "m=1 n=2816 k=1024", Device: testH200, Entry: "swiglu_fp32_sm80_3xtf32_skinny_rows8", Blocks: 176, Shared: 8192},
		{DType: record.FP32, Params: "m=16 n=2816 k=1024", Device: testH200, Entry: "swiglu_fp32_sm80_3xtf32_skinny_rows16", Blocks: 176, Shared: 12288},
	})
}

// Up to 128 rows on Hopper: pairs of blocks share k where tiles are few, else X; wide blocks where they are done as soon.
func TestGatedProductsOfUpTo128RowsFollowShapeAndDevice(t *testing.T) {
	plantest.Launches(t, "swiglu", swigluRing, []plantest.Case{
		{DType: record.BF16, Params: "m=64 n=2816 k=1024", Device: testH200, Entry: "swiglu_bf16_sm90_skinny_rows64", Blocks: 88, Shared: 197632, Cluster: 2},
		{DType: record.BF16, Params: "m=17 n=2048 k=1024", Device: testH200, Entry: "swiglu_bf16_sm90_skinny_parts_rows32", Blocks: 128, Shared: 197632, Cluster: 2},
		{DType: record.BF16, Params: "m=128 n=14336 k=4096", Device: testH200, Entry: "swiglu_bf16_sm90_skinny_wide_rows128", Blocks: 224, Shared: 197632, Cluster: 2},
		{DType: record.BF16, Params: "m=64 n=4128 k=1024", Device: testH200, Entry: "swiglu_bf16_sm90_skinny_rows64", Blocks: 130, Shared: 197632, Cluster: 2},
		{DType: record.BF16, Params: "m=16 n=2816 k=1024", Device: testH200, Entry: "sooner done past shared memory"},
		{DType: record.BF16, Params: "m=129 n=2816 k=1024", Device: testH200, Entry: "m=129: at most 128 rows"},
		{DType: record.BF16, Params: "m=64 n=2816 k=1020", Device: testH200, Entry: "rows of a lie 2040 bytes apart"},
		{DType: record.BF16, Params: "m=64 n=2816 k=1024", Device: kernel.Device{Capability: 90, SMs: 1, SharedMax: 232448}, Entry: "clusters of 2 blocks on 1 multiprocessors"},
		{DType: record.BF16, Params: "m=64 n=2816 k=1024", Device: kernel.Device{Capability: 90, SMs: 132, SharedMax: 166912}, Entry: "bytes of shared memory"},
	})
	p := plantest.Plan(t, "swiglu", record.BF16, "m=64 n=14336 k=4096", 4096, swigluRing, testH200)
	args := p.Launches[0].Args
	if keep := args[6].Bits; keep != 2304 || args[0].Map.Box[1] != 32 || args[1].Map.Box[1] != 64 || args[2].Map.Lines != 128 {
		t.Errorf("%d columns kept, boxes of %v and %v, lines of %d bytes, want 2304, 32 and 64 rows, 128", keep, args[0].Map.Box, args[1].Map.Box, args[2].Map.Lines)
	}
}

// Parts of both products fill the device once; what tiles of one launch fill is left to them, but for few rows.
func TestPartsOfGatedProductsFollowShapeAndDevice(t *testing.T) {
	bf16, fp32 := swigluSplitK("swiglu_bf16_sm80_splitk", splitTiles), swigluSplitK("swiglu_fp32_sm80_3xtf32_splitk", splitTiles3xTF32)
	plantest.Launches(t, "swiglu", bf16, []plantest.Case{
		{DType: record.BF16, Params: "m=64 n=2816 k=1024", Device: testA100, Entry: "swiglu_bf16_sm80_splitk_rows64", Blocks: 176, Shared: 49152},
		{DType: record.BF16, Params: "m=128 n=2816 k=1024", Device: testA100, Entry: "swiglu_bf16_sm80_splitk", Blocks: 176, Shared: 65536},
		{DType: record.BF16, Params: "m=128 n=4096 k=4096", Device: testA100, Entry: "64 tiles of 128 stages on 108 multiprocessors leave nothing to split"},
		{DType: record.BF16, Params: "m=33 n=14336 k=4096", Device: testA100, Entry: "swiglu_bf16_sm80_splitk_rows64", Blocks: 224, Shared: 49152},
		{DType: record.BF16, Params: "m=128 n=128 k=256", Device: testA100, Entry: "2 tiles of 8 stages on 108 multiprocessors leave nothing to split"},
		{DType: record.BF16, Params: "m=64 n=2816 k=1020", Device: testA100, Entry: "rows of a lie 2040 bytes apart"},
		{DType: record.BF16, Params: "m=64 n=2816 k=1024", Device: kernel.Device{SMs: 132, SharedMax: 32768}, Entry: "a block takes 49152 bytes"},
	})
	plantest.Launches(t, "swiglu", fp32, []plantest.Case{
		{DType: record.FP32, Params: "m=64 n=2816 k=1024", Device: testH200, Entry: "swiglu_fp32_sm80_3xtf32_splitk_rows64", Blocks: 132, Shared: 49152},
		{DType: record.FP32, Params: "m=32 n=2816 k=1024", Device: testH200, Entry: "swiglu_fp32_sm80_3xtf32_splitk_rows32", Blocks: 264, Shared: 40960},
		{DType: record.FP32, Params: "m=256 n=2816 k=1024", Device: testH200, Entry: "leave nothing to split"},
	})
	p := plantest.Plan(t, "swiglu", record.FP32, "m=64 n=2816 k=1024", 4096, fp32, testH200)
	if sum := p.Launches[1]; p.Launches[0].Args[3].Bits != 352 || p.Workspace != 2*3*64*2816*4 || sum.Args[2].Bits != 3 || sum.Grid != [3]int64{11, 64, 1} {
		t.Errorf("parts of %d k, %d bytes, %d are summed by %v blocks, want 352, %d, 3, [11 64 1]", p.Launches[0].Args[3].Bits, p.Workspace, sum.Args[2].Bits, sum.Grid, 2*3*64*2816*4)
	}
}

// Many rows on Hopper: the tile that is done first, one block a multiprocessor.
func TestGatedProductsOfManyRowsFollowShapeAndDevice(t *testing.T) {
	plantest.Launches(t, "swiglu", swigluWgmma("swiglu_bf16_sm90", swigluWgmmaTiles), []plantest.Case{
		{DType: record.BF16, Params: "m=4096 n=14336 k=4096", Device: testH200, Entry: "swiglu_bf16_sm90", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "m=256 n=2816 k=1024", Device: testH200, Entry: "swiglu_bf16_sm90_narrow", Blocks: 88, Shared: 230400},
		{DType: record.BF16, Params: "m=256 n=2816 k=1020", Device: testH200, Entry: "rows of a lie 2040 bytes apart"},
		{DType: record.BF16, Params: "m=256 n=0 k=1024", Device: testH200, Entry: "an empty matrix has no tensor map"},
		{DType: record.BF16, Params: "m=256 n=2816 k=1024", Device: kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448, TileCols: 192}, Entry: "there is no tile of 192 columns"},
	})
	plantest.Launches(t, "swiglu", swigluWgmma("swiglu_fp32_sm90_3xtf32", swigluWgmmaTiles3xTF32), []plantest.Case{
		{DType: record.FP32, Params: "m=512 n=2816 k=1024", Device: testH200, Entry: "swiglu_fp32_sm90_3xtf32", Blocks: 132, Shared: 230400},
	})
	p := plantest.Plan(t, "swiglu", record.BF16, "m=4096 n=14336 k=4096", 4096, swigluWgmma("swiglu_bf16_sm90", swigluWgmmaTiles), testH200)
	if a := p.Launches[0].Args; a[0].Map.Box[1] != 128 || a[1].Map.Box[1] != 128 || a[2].Map.Box[1] != 128 || a[0].Map.Dims[1] != 4096 || a[2].Map.Dims[1] != 14336 {
		t.Errorf("boxes of %v, %v and %v in %v and %v", a[0].Map.Box, a[1].Map.Box, a[2].Map.Box, a[0].Map.Dims, a[2].Map.Dims)
	}
}
