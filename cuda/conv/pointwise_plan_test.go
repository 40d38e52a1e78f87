package conv

import (
	"reflect"
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// The layers of ResNet-50 for 32 images: the tile that is done first, one block a multiprocessor at most; and what other kernels take.
func TestPointwiseConvolutionsArePlainProducts(t *testing.T) {
	few := kernel.Device{Capability: 90, SMs: 132, SharedMax: 166912}
	plantest.Launches(t, "conv2d", pointwise, []plantest.Case{
		{DType: record.BF16, Params: "n=32 c=64 h=56 w=56 k=256 r=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_pointwise", Blocks: 132, Shared: 214016},
		{DType: record.BF16, Params: "n=32 c=64 h=56 w=56 k=256 r=1 layout=nhwc residual=1 act=relu", Device: h200, Entry: "conv2d_bf16_sm90_pointwise_narrow", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "n=32 c=256 h=56 w=56 k=64 r=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_pointwise_slim", Blocks: 132, Shared: 214016},
		{DType: record.BF16, Params: "n=32 c=256 h=14 w=14 k=1024 r=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_pointwise_narrow", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "n=32 c=1024 h=14 w=14 k=256 r=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_pointwise_narrow", Blocks: 98, Shared: 230400},
		{DType: record.BF16, Params: "n=32 c=2048 h=7 w=7 k=512 r=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_pointwise_slim", Blocks: 104, Shared: 214016},
		{DType: record.BF16, Params: "n=32 c=512 h=28 w=28 k=128 r=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_pointwise_narrow", Blocks: 132, Shared: 230400},
		{DType: record.INT8, Params: "n=32 c=256 h=14 w=14 k=1024 r=1 layout=nhwc", Device: h200, Entry: "conv2d_int8_sm90_pointwise_narrow", Blocks: 132, Shared: 230400},
		{DType: record.INT8, Params: "n=32 c=64 h=56 w=56 k=256 r=1 layout=nhwc requant=1", Device: h200, Entry: "conv2d_int8_sm90_pointwise_requant", Blocks: 132, Shared: 214016},
		{DType: record.INT8, Params: "n=1 c=64 h=8 w=8 k=64 r=1 layout=nhwc", Device: h200, Entry: "conv2d_int8_sm90_pointwise_slim", Blocks: 1, Shared: 214016},
		{DType: record.FP32, Params: "n=32 c=64 h=56 w=56 k=256 r=1 layout=nhwc", Device: h200, Entry: "conv2d_fp32_sm90_3xtf32_pointwise", Blocks: 132, Shared: 214016},
		{DType: record.BF16, Params: "n=1 c=2048 h=7 w=7 k=512 r=1 layout=nhwc", Device: h200, Entry: "8 parts of tiles of 64 channels are done sooner"},
		{DType: record.INT8, Params: "n=1 c=64 h=8 w=8 k=64 r=1 layout=nhwc requant=1", Device: h200, Entry: "k=64: 65 and more are taken"},
		{DType: record.INT8, Params: "n=1 c=64 h=8 w=8 k=72 r=1 layout=nhwc requant=1", Device: h200, Entry: "k=72: 65 and more are taken, in multiples of 16 bytes of y"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=33 r=1 layout=nhwc", Device: h200, Entry: "k=33: 33 and more are taken, in multiples of 16 bytes of y"},
		{DType: record.BF16, Params: "n=1 c=36 h=8 w=8 k=64 r=1 layout=nhwc", Device: h200, Entry: "c=36: 32 and more"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 r=1 layout=nhwc", Device: h200, Shift: 8, Entry: "x lies at address 0x8"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 r=1", Device: h200, Entry: "layout=nchw"},
		{DType: record.BF16, Params: "n=0 c=64 h=8 w=8 k=64 r=1 layout=nhwc", Device: h200, Entry: "n=0"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=128 groups=2 r=1 layout=nhwc", Device: h200, Entry: "groups=2"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 layout=nhwc", Device: h200, Entry: "a window of 3 x 3"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 r=1 stride=2 layout=nhwc", Device: h200, Entry: "stride=2"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 r=1 pad=1 layout=nhwc", Device: h200, Entry: "pad=1"},
		{DType: record.BF16, Params: "n=1048576 c=32 h=256 w=64 k=128 r=1 layout=nhwc", Device: h200, Entry: "tiles have 32-bit numbers"},
		{DType: record.BF16, Params: "n=8192 c=4096 h=128 w=128 k=128 r=1 layout=nhwc", Device: h200, Entry: "matrices of 2^40 bytes"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 r=1 layout=nhwc", Device: few, Entry: "a block takes 214400 bytes of shared memory"},
	})
}

// y leaves in panels of 128 bytes of 16 rows, which is how a residual comes; without one y's map stands in for it.
func TestPointwiseMapsAreOfRows(t *testing.T) {
	p := plantest.Plan(t, "conv2d", record.BF16, "n=3 c=72 h=5 w=8 k=264 r=1 layout=nhwc residual=1 bias=1", 4096, pointwise, h200)
	for i, want := range []kernel.TensorMap{
		{DType: record.BF16, Address: 4096, Dims: []uint64{72, 120, 1}, Strides: []uint64{144, 17280}, Box: []uint32{64, 128, 1}},
		{DType: record.BF16, Address: 4096, Dims: []uint64{72, 264, 1}, Strides: []uint64{144, 38016}, Box: []uint32{64, 64, 1}},
		{DType: record.BF16, Address: 4096, Dims: []uint64{264, 120, 1}, Strides: []uint64{528, 63360}, Box: []uint32{64, 16, 1}},
		{DType: record.BF16, Address: 4096, Dims: []uint64{264, 120, 1}, Strides: []uint64{528, 63360}, Box: []uint32{64, 16, 1}},
	} {
		if got := p.Launches[0].Args[i].Map; !reflect.DeepEqual(*got, want) {
			t.Errorf("map %d is %+v, want %+v", i, *got, want)
		}
	}
	q := plantest.Plan(t, "conv2d", record.INT8, "n=3 c=64 h=5 w=8 k=256 r=1 layout=nhwc requant=1", 4096, pointwise, h200)
	if got := q.Launches[0].Args[2].Map; got.DType != record.INT8 || got.Box[0] != 128 {
		t.Errorf("requantised bytes leave as %+v, want panels of 128 of int8", *got)
	}
}

// A search may choose each width that there is.
func TestPointwiseTilesCanBeChosen(t *testing.T) {
	for cols, suffix := range map[int64]string{64: "_slim", 128: "_narrow", 256: ""} {
		d := h200
		d.TileCols = cols
		plantest.Launches(t, "conv2d", pointwise, []plantest.Case{{DType: record.BF16, Params: "n=1 c=64 h=7 w=7 k=64 r=1 layout=nhwc", Device: d,
			Entry: "conv2d_bf16_sm90_pointwise" + suffix, Blocks: 1, Shared: leavingShared(wgmmaTile{cols: cols}, 1)}})
	}
	d := h200
	d.TileCols = 96
	plantest.Launches(t, "conv2d", pointwise, []plantest.Case{{DType: record.BF16, Params: "n=1 c=64 h=7 w=7 k=64 r=1 layout=nhwc", Device: d, Entry: "no tile of 96 columns"}})
}
