package conv

import (
	"reflect"
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

var h200 = kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}

// Wide tiles where they are done sooner, one block a multiprocessor at most, and what the tier below takes.
func TestHopperTakesTheConvolutionsItCan(t *testing.T) {
	plantest.Launches(t, "conv2d", wgmma, []plantest.Case{
		{DType: record.BF16, Params: "n=32 c=256 h=14 w=14 k=2048 r=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_nhwc", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "n=32 c=128 h=28 w=28 k=128 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_nhwc_narrow", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "n=1 c=512 h=7 w=7 k=512 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_nhwc_slim", Blocks: 8, Shared: 230400},
		{DType: record.BF16, Params: "n=2 c=256 h=56 w=56 k=512 r=1 stride=2 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_nhwc_slim", Blocks: 112, Shared: 230400},
		{DType: record.BF16, Params: "n=32 c=64 h=56 w=56 k=64 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_nhwc_slim", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "n=32 c=128 h=56 w=56 k=128 pad=1 stride=2 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_nhwc_narrow", Blocks: 132, Shared: 230400},
		{DType: record.INT8, Params: "n=32 c=256 h=14 w=14 k=2048 r=1 layout=nhwc", Device: h200, Entry: "conv2d_int8_sm90_nhwc", Blocks: 132, Shared: 230400},
		{DType: record.INT8, Params: "n=32 c=128 h=28 w=28 k=128 pad=1 layout=nhwc requant=1", Device: h200, Entry: "conv2d_int8_sm90_nhwc_requant_narrow", Blocks: 132, Shared: 230400},
		{DType: record.INT8, Params: "n=1 c=512 h=7 w=7 k=512 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_int8_sm90_nhwc_narrow", Blocks: 4, Shared: 230400},
		{DType: record.INT8, Params: "n=1 c=48 h=8 w=8 k=128 layout=nhwc", Device: h200, Entry: "c=48: 64 and more"},
		{DType: record.INT8, Params: "n=1 c=72 h=8 w=8 k=128 layout=nhwc", Device: h200, Entry: "c=72: 64 and more are taken, in multiples of 16 bytes"},
		{DType: record.INT8, Params: "n=1 c=64 h=8 w=8 k=64 layout=nhwc", Device: h200, Entry: "k=64: 65 and more"},
		{DType: record.BF16, Params: "n=1 c=128 h=56 w=56 k=128 pad=1 stride=3 layout=nhwc", Device: h200, Entry: "stride=3 with a window of 3 x 3"},
		{DType: record.BF16, Params: "n=1 c=128 h=56 w=1 k=128 pad=1 stride=2 layout=nhwc", Device: h200, Entry: "an image of 56 x 1: there are no odd pixels"},
		{DType: record.BF16, Params: "n=1 c=128 h=8 w=8 k=128", Device: h200, Entry: "layout=nchw"},
		{DType: record.BF16, Params: "n=1 c=128 h=8 w=8 k=128 groups=2 layout=nhwc", Device: h200, Entry: "groups=2"},
		{DType: record.BF16, Params: "n=0 c=128 h=8 w=8 k=128 layout=nhwc", Device: h200, Entry: "n=0"},
		{DType: record.BF16, Params: "n=1 c=24 h=8 w=8 k=128 layout=nhwc", Device: h200, Entry: "c=24: 32 and more"},
		{DType: record.BF16, Params: "n=1 c=36 h=8 w=8 k=128 layout=nhwc", Device: h200, Entry: "c=36: 32 and more"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=32 layout=nhwc", Device: h200, Entry: "k=32: 33 and more"},
		{DType: record.BF16, Params: "n=1 c=128 h=8 w=8 k=128 layout=nhwc", Device: h200, Shift: 8, Entry: "x lies at address 0x8"},
		{DType: record.BF16, Params: "n=1 c=128 h=8 w=8 k=128 layout=nhwc", Device: kernel.Device{SharedMax: 166912}, Entry: "a block takes 230528 bytes"},
		{DType: record.BF16, Params: "n=1048576 c=32 h=256 w=64 k=128 layout=nhwc", Device: h200, Entry: "fewer than 2^38 are taken"},
		{DType: record.BF16, Params: "n=65536 c=32 h=190 w=180 k=128 pad=1 layout=nhwc", Device: h200, Entry: "tiles have 32-bit coordinates"},
	})
}

// Windows are shared where few tiles would leave multiprocessors idle, by as many blocks as are done first; whole ones are left to the other kernel.
func TestHopperSharesTheWindowsOfFewTiles(t *testing.T) {
	few := kernel.Device{Capability: 90, SMs: 7, SharedMax: 232448}
	plantest.Launches(t, "conv2d", wgmmaSplitK, []plantest.Case{
		{DType: record.BF16, Params: "n=32 c=512 h=7 w=7 k=512 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_splitk_nhwc_4", Blocks: 112, Shared: 230400, Cluster: 4},
		{DType: record.BF16, Params: "n=1 c=512 h=7 w=7 k=512 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_splitk_nhwc_slim_8", Blocks: 64, Shared: 230400, Cluster: 8},
		{DType: record.BF16, Params: "n=1 c=512 h=7 w=7 k=128 pad=1 layout=nhwc", Device: few, Entry: "conv2d_bf16_sm90_splitk_nhwc_slim_4", Blocks: 8, Shared: 230400, Cluster: 4},
		{DType: record.INT8, Params: "n=1 c=512 h=7 w=7 k=512 pad=1 layout=nhwc requant=1", Device: h200, Entry: "conv2d_int8_sm90_splitk_nhwc_requant_narrow_8", Blocks: 32, Shared: 230400, Cluster: 8},
		{DType: record.FP32, Params: "n=1 c=256 h=14 w=14 k=256 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_fp32_sm90_3xtf32_splitk_nhwc_8", Blocks: 32, Shared: 230400, Cluster: 8},
		{DType: record.BF16, Params: "n=32 c=256 h=14 w=14 k=256 pad=1 layout=nhwc", Device: h200, Entry: "whole windows are summed sooner"},
		{DType: record.BF16, Params: "n=1 c=64 h=56 w=56 k=64 r=1 layout=nhwc", Device: h200, Entry: "there is no tile of 0 columns for 25 tiles of pixels of 1 stages"},
	})
}

// Boxes of pixels as they lie; one tap without a stride is a matrix, with one a view of every other pixel.
func TestHopperMapsImagesInBoxes(t *testing.T) {
	for params, want := range map[string]kernel.TensorMap{
		"n=2 c=64 h=28 w=20 k=128 pad=1 layout=nhwc": {DType: record.BF16, Address: 4096, Dims: []uint64{64, 20, 28, 2}, Strides: []uint64{128, 2560, 71680}, Box: []uint32{64, 20, 6, 1}},
		"n=3 c=72 h=5 w=9 k=128 r=1 layout=nhwc":     {DType: record.BF16, Address: 4096, Dims: []uint64{72, 135, 1, 1}, Strides: []uint64{144, 19440, 19440}, Box: []uint32{64, 128, 1, 1}},
		"n=3 c=72 h=5 w=9 k=128 r=1 stride=2 layout=nhwc": {DType: record.BF16, Address: 4096, Dims: []uint64{72, 5, 3, 3}, Strides: []uint64{288, 2592, 6480},
			Box: []uint32{64, 5, 3, 3}},
	} {
		p := plantest.Plan(t, "conv2d", record.BF16, params, 4096, wgmma, h200)
		if got := p.Launches[0].Args[0].Map; got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: x has %+v, want %+v", params, got, want)
		}
	}
}

// Bytes come 128 channels at a time, of x and of the filters.
func TestHopperMapsBytesInBoxesOfTwiceTheChannels(t *testing.T) {
	args := plantest.Plan(t, "conv2d", record.INT8, "n=2 c=160 h=28 w=20 k=128 pad=1 layout=nhwc", 4096, wgmma, h200).Launches[0].Args
	x := kernel.TensorMap{DType: record.INT8, Address: 4096, Dims: []uint64{160, 20, 28, 2}, Strides: []uint64{160, 3200, 89600}, Box: []uint32{128, 20, 6, 1}}
	w := kernel.TensorMap{DType: record.INT8, Address: 4096, Dims: []uint64{160, 9, 128}, Strides: []uint64{160, 1440}, Box: []uint32{128, 1, 128}}
	if !reflect.DeepEqual(*args[0].Map, x) || !reflect.DeepEqual(*args[4].Map, w) {
		t.Errorf("x has %+v and the filters %+v, want %+v and %+v", args[0].Map, args[4].Map, x, w)
	}
}

// At stride 2 a view of every other pixel from each of the first four on, none of which reaches beyond the image.
func TestHopperMapsEveryOtherPixelFourTimes(t *testing.T) {
	p := plantest.Plan(t, "conv2d", record.BF16, "n=3 c=72 h=5 w=8 k=128 pad=1 stride=2 layout=nhwc", 4096, wgmma, h200)
	for i, want := range []struct{ address, w, h uint64 }{{4096, 4, 3}, {4096 + 144, 4, 3}, {4096 + 1152, 4, 2}, {4096 + 1296, 4, 2}} {
		m := p.Launches[0].Args[i].Map
		if m.Address != want.address || !reflect.DeepEqual(m.Dims, []uint64{72, want.w, want.h, 3}) || !reflect.DeepEqual(m.Strides, []uint64{288, 2304, 5760}) {
			t.Errorf("view %d has %+v, want %+v", i, m, want)
		}
	}
	same := plantest.Plan(t, "conv2d", record.BF16, "n=3 c=72 h=5 w=8 k=128 pad=1 layout=nhwc", 4096, wgmma, h200).Launches[0].Args
	for i := 1; i < 4; i++ {
		if !reflect.DeepEqual(same[i], same[0]) {
			t.Errorf("stride 1: view %d has %+v, want %+v", i, same[i].Map, same[0].Map)
		}
	}
}

func TestTheFewestBoxesCoverTheImages(t *testing.T) {
	for _, tc := range []struct{ n, h, w, bn, bh, bw, count int64 }{
		{1, 1, 1, 1, 1, 1, 1}, {1, 1, 300, 1, 1, 128, 3}, {1, 56, 56, 1, 2, 56, 28}, {32, 7, 7, 18, 1, 7, 14}, {1, 14, 14, 1, 9, 14, 2}, {2, 7, 7, 2, 7, 7, 1},
	} {
		bn, bh, bw, count := box(tc.n, tc.h, tc.w)
		if bn != tc.bn || bh != tc.bh || bw != tc.bw || count != tc.count {
			t.Errorf("%d images of %d x %d: %d boxes of %d x %d x %d, want %+v", tc.n, tc.h, tc.w, count, bn, bh, bw, tc)
		}
	}
}
