// Package conv is the CUDA kernels of the op conv2d.
package conv

import (
	"fmt"
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Family lists the kernels, one line each. Bounds as on the CPU (native/conv/kernels.def); int32 sums are exact. The direct kernels
// take small groups alone and come first there. Tensor cores cut fp32 sums off: their bound is that of products (cuda/gemm).
func Family() kernel.Family {
	return kernel.Family{Name: "conv", Kernels: []kernel.Kernel{
		{Name: "conv2d_fp32_simt", Ops: "conv2d", DType: record.FP32, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: implicit},
		{Name: "conv2d_bf16_simt", Ops: "conv2d", DType: record.BF16, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: implicit},
		{Name: "conv2d_int8_simt", Ops: "conv2d", DType: record.INT8, Accumulate: record.INT32, IntExact: true, Plan: implicit},
		{Name: "conv2d_fp32_simt_direct", Rank: 1, Ops: "conv2d", DType: record.FP32, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: direct},
		{Name: "conv2d_bf16_simt_direct", Rank: 1, Ops: "conv2d", DType: record.BF16, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: direct},
		{Name: "conv2d_int8_simt_direct", Rank: 1, Ops: "conv2d", DType: record.INT8, Accumulate: record.INT32, IntExact: true, Plan: direct},
		{Name: "conv2d_bf16_sm80", Rank: 2, Ops: "conv2d", DType: record.BF16, Accumulate: record.FP32, Least: 80, BoundC: 24, IntExact: true, Plan: mma},
		{Name: "conv2d_bf16_sm90", Rank: 3, Ops: "conv2d", DType: record.BF16, Accumulate: record.FP32, Only: 90, BoundC: 24, IntExact: true, Plan: wgmma},
		{Name: "conv2d_int8_sm90", Rank: 3, Ops: "conv2d", DType: record.INT8, Accumulate: record.INT32, Only: 90, IntExact: true, Plan: wgmma},
		{Name: "conv2d_fp32_sm90_3xtf32", Rank: 3, Ops: "conv2d", DType: record.FP32, Accumulate: record.FP32, Only: 90, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: wgmma},
		{Name: "conv2d_bf16_sm90_splitk", Rank: 4, Ops: "conv2d", DType: record.BF16, Accumulate: record.FP32, Only: 90, BoundC: 24, IntExact: true, Plan: wgmmaSplitK},
		{Name: "conv2d_int8_sm90_splitk", Rank: 4, Ops: "conv2d", DType: record.INT8, Accumulate: record.INT32, Only: 90, IntExact: true, Plan: wgmmaSplitK},
		{Name: "conv2d_fp32_sm90_3xtf32_splitk", Rank: 4, Ops: "conv2d", DType: record.FP32, Accumulate: record.FP32, Only: 90, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: wgmmaSplitK},
		{Name: "conv2d_bf16_sm90_pointwise", Rank: 5, Ops: "conv2d", DType: record.BF16, Accumulate: record.FP32, Only: 90, BoundC: 24, IntExact: true, Plan: pointwise},
		{Name: "conv2d_int8_sm90_pointwise", Rank: 5, Ops: "conv2d", DType: record.INT8, Accumulate: record.INT32, Only: 90, IntExact: true, Plan: pointwise},
		{Name: "conv2d_fp32_sm90_3xtf32_pointwise", Rank: 5, Ops: "conv2d", DType: record.FP32, Accumulate: record.FP32, Only: 90, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: pointwise},
		{Name: "conv2d_bf16_sm90_boxes", Rank: -1, Ops: "conv2d", DType: record.BF16, Accumulate: record.FP32, Only: 90, BoundC: 24, IntExact: true, Plan: boxes}, // until both ends are measured
		{Name: "conv2d_int8_sm90_boxes", Rank: -1, Ops: "conv2d", DType: record.INT8, Accumulate: record.INT32, Only: 90, IntExact: true, Plan: boxes},
		{Name: "conv2d_fp32_sm90_3xtf32_boxes", Rank: -1, Ops: "conv2d", DType: record.FP32, Accumulate: record.FP32, Only: 90, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: boxes},
		{Name: "conv2d_int8_sm80", Rank: 2, Ops: "conv2d", DType: record.INT8, Accumulate: record.INT32, Least: 80, IntExact: true, Plan: mma},
		{Name: "conv2d_bf16_sm80_packed", Rank: 2, Ops: "conv2d", DType: record.BF16, Accumulate: record.FP32, Least: 80, BoundC: 24, IntExact: true, Plan: packed},
		{Name: "conv2d_int8_sm80_packed", Rank: 2, Ops: "conv2d", DType: record.INT8, Accumulate: record.INT32, Least: 80, IntExact: true, Plan: packed},
		{Name: "conv2d_fp32_sm80_3xtf32", Rank: 2, Ops: "conv2d", DType: record.FP32, Accumulate: record.FP32, Least: 80, Among: []int{80, 90}, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: mma},
		{Name: "conv2d_fp32_sm80_3xtf32_packed", Rank: 2, Ops: "conv2d", DType: record.FP32, Accumulate: record.FP32, Least: 80, Among: []int{80, 90}, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: packed},
	}}
}

const (
	pixels, channels = 128, 64 // of a tile of conv_simt.cuh
	maxYZ            = 65535   // blocks along y and z of a grid
	maxExtent        = 1 << 29 // of the padded image, whose coordinates are int there
	directChannels   = 16      // from so many output channels of a group on, tiles are better filled than threads alone
)

func implicit(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	c, ok := o.(*op.Conv)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no convolution", o.Name())
	}
	kTiles, pTiles := (c.K/c.Groups+channels-1)/channels, (c.N*c.Ho*c.Wo+pixels-1)/pixels
	switch {
	case max(c.H, c.W)+2*c.Pad >= maxExtent:
		return kernel.Plan{}, kernel.Shape("a padded image of %d x %d: fewer than %d along a side are taken", c.H+2*c.Pad, c.W+2*c.Pad, maxExtent)
	case kTiles > maxYZ || c.Groups > maxYZ || pTiles > kernel.MaxGrid:
		return kernel.Plan{}, kernel.Shape("k=%d groups=%d and %d output pixels: at most %d tiles of %d channels, as many groups and %d tiles of %d pixels are taken",
			c.K, c.Groups, c.N*c.Ho*c.Wo, maxYZ, channels, kernel.MaxGrid, pixels)
	}
	return kernel.Plan{Launches: []kernel.Launch{launch("conv2d_"+string(c.D)+"_simt", c, b, [3]int64{max(1, pTiles), kTiles, c.Groups})}}, nil
}

func direct(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	c, ok := o.(*op.Conv)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no convolution", o.Name())
	}
	if per := c.K / c.Groups; per >= directChannels {
		return kernel.Plan{}, kernel.Shape("%d output channels a group: fewer than %d are taken", per, directChannels)
	}
	grid := [3]int64{kernel.Blocks(c.N*c.K*c.Ho*c.Wo, 256, int64(32*d.SMs)), 1, 1}
	return kernel.Plan{Launches: []kernel.Launch{launch("conv2d_"+string(c.D)+"_simt_direct", c, b, grid)}}, nil
}

// launch of an entry for the op's layout and epilogue, 256 threads a block.
func launch(entry string, c *op.Conv, b []kernel.Buffer, grid [3]int64) kernel.Launch {
	entry += map[bool]string{false: "_nchw", true: "_nhwc"}[c.NHWC]
	ptr := map[string]kernel.Arg{} // a missing one is a null pointer
	for _, x := range b {
		ptr[x.Tensor.Name] = kernel.Ptr(x)
	}
	args := kernel.Ints(c.N, c.C, c.H, c.W, c.K, c.R, c.S, c.Ho, c.Wo, c.Stride, c.Pad, c.Dilation, c.Groups)
	act, added := kernel.Int(int64(slices.Index(op.Activations, c.Act))), ptr["residual"]
	switch {
	case c.Requant:
		entry, added = entry+"_requant", ptr["scale"]
		args = append(args, act)
	case c.D.Float():
		args = append(args, act)
	}
	args = append(args, ptr["x"], ptr["w"], ptr["bias"], added, ptr["y"])
	return kernel.Launch{Entry: entry, Grid: grid, Block: [3]int64{256, 1, 1}, Args: args}
}
