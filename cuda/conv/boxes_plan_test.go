package conv

import (
	"reflect"
	"testing"

	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// Whole windows whose y leaves by TMA: what the kernel of boxes that stores by threads takes, where y's pixels are multiples of 16 bytes at such addresses.
func TestBoxesLeaveByTMAWherePixelsAreAligned(t *testing.T) {
	plantest.Launches(t, "conv2d", boxes, []plantest.Case{
		{DType: record.BF16, Params: "n=32 c=128 h=28 w=28 k=128 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_boxes_narrow", Blocks: 132, Shared: 230400},
		{DType: record.BF16, Params: "n=32 c=64 h=56 w=56 k=64 pad=1 layout=nhwc residual=1", Device: h200, Entry: "conv2d_bf16_sm90_boxes_slim", Blocks: 132, Shared: 214016},
		{DType: record.BF16, Params: "n=32 c=256 h=56 w=56 k=512 r=1 stride=2 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm90_boxes", Blocks: 132, Shared: 214016},
		{DType: record.INT8, Params: "n=32 c=128 h=28 w=28 k=128 pad=1 layout=nhwc requant=1", Device: h200, Entry: "conv2d_int8_sm90_boxes_requant_narrow", Blocks: 132, Shared: 230400},
		{DType: record.INT8, Params: "n=1 c=64 h=8 w=8 k=64 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_int8_sm90_boxes_slim", Blocks: 1, Shared: 214016},
		{DType: record.FP32, Params: "n=32 c=64 h=56 w=56 k=64 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_fp32_sm90_3xtf32_boxes", Blocks: 132, Shared: 214016},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=65 pad=1 layout=nhwc", Device: h200, Entry: "k=65: 33 and more are taken, in multiples of 16 bytes of y"},
		{DType: record.INT8, Params: "n=1 c=64 h=8 w=8 k=72 pad=1 layout=nhwc requant=1", Device: h200, Entry: "k=72: 65 and more are taken, in multiples of 16 bytes of y"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 pad=1", Device: h200, Entry: "layout=nchw"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 pad=1 stride=3 layout=nhwc", Device: h200, Entry: "stride=3"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 pad=1 layout=nhwc", Device: h200, Shift: 8, Entry: "x lies at address 0x8"},
	})
}

// y's map has the boxes of x's, of panels of 128 bytes; it lies behind the five maps of x and the filters, before the residual's.
func TestBoxesOfYAreThoseOfX(t *testing.T) {
	p := plantest.Plan(t, "conv2d", record.BF16, "n=3 c=72 h=8 w=9 k=264 pad=1 layout=nhwc residual=1", 4096, boxes, h200)
	x, y, residual := p.Launches[0].Args[0].Map, p.Launches[0].Args[5].Map, p.Launches[0].Args[6].Map
	if !reflect.DeepEqual(y.Dims, []uint64{264, 9, 8, 3}) || !reflect.DeepEqual(y.Strides, []uint64{528, 4752, 38016}) || !reflect.DeepEqual(y.Box[1:], x.Box[1:]) || y.Box[0] != 64 {
		t.Errorf("y leaves as %+v, x comes as %+v", *y, *x)
	}
	if !reflect.DeepEqual(residual, y) {
		t.Errorf("a residual comes as %+v, y leaves as %+v", *residual, *y)
	}
}
