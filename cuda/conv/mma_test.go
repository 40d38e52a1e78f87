package conv

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// Tiles by shape and device, and what goes to the portable tier: the stem of three channels, nchw, small groups, operands off 16 bytes, sizes beyond 32 bits.
func TestTensorCoresTakeTheConvolutionsTheyCan(t *testing.T) {
	plantest.Launches(t, "conv2d", mma, []plantest.Case{
		{DType: record.BF16, Params: "n=32 c=256 h=14 w=14 k=1024 r=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm80_nhwc", Blocks: 392, Shared: 65536},
		{DType: record.BF16, Params: "n=32 c=64 h=56 w=56 k=64 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm80_nhwc_slim", Blocks: 784, Shared: 49152},
		{DType: record.BF16, Params: "n=1 c=512 h=7 w=7 k=512 pad=1 layout=nhwc", Device: h200, Entry: "conv2d_bf16_sm80_nhwc_slim", Blocks: 8, Shared: 49152},
		{DType: record.INT8, Params: "n=4 c=64 h=8 w=8 k=512 r=1 groups=2 layout=nhwc requant=1", Device: kernel.Device{SMs: 4, SharedMax: 232448}, Entry: "conv2d_int8_sm80_nhwc_requant", Blocks: 8, Shared: 65536},
		{DType: record.INT8, Params: "n=4 c=64 h=8 w=8 k=512 r=1 layout=nhwc", Device: kernel.Device{SMs: 4, SharedMax: 49152}, Entry: "conv2d_int8_sm80_nhwc_slim", Blocks: 16, Shared: 49152},
		{DType: record.BF16, Params: "n=1 c=8 h=8 w=8 k=16 layout=nhwc", Device: kernel.Device{SMs: 4, SharedMax: 32768}, Entry: "a block takes 65536 bytes"},
		{DType: record.BF16, Params: "n=1 c=3 h=224 w=224 k=64 r=7 stride=2 pad=3 layout=nhwc", Device: h200, Entry: "6 bytes of channels a group"},
		{DType: record.INT8, Params: "n=1 c=8 h=8 w=8 k=16 layout=nhwc", Device: h200, Entry: "8 bytes of channels a group"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 layout=nchw", Device: h200, Entry: "layout=nchw"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 groups=8 layout=nhwc", Device: h200, Entry: "8 output channels a group"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 layout=nhwc", Device: h200, Shift: 8, Entry: "x lies at address 0x8"},
		{DType: record.BF16, Params: "n=1 c=8 h=32766 w=8 k=16 pad=1 layout=nhwc", Device: h200, Entry: "a padded image of 32768 x 10"},
		{DType: record.BF16, Params: "n=1 c=8 h=8 w=8 k=16 r=1 dilation=32768 layout=nhwc", Device: h200, Entry: "1 x 1 taps 32768 apart"},
		{DType: record.BF16, Params: "n=1 c=8 h=16400 w=8 k=16 r=2 s=1 dilation=16384 layout=nhwc", Device: h200, Entry: "2 x 1 taps 16384 apart"},
		{DType: record.BF16, Params: "n=65536 c=8 h=256 w=256 k=16 r=2 pad=1 layout=nhwc", Device: h200, Entry: "65536 images of 256 x 256"},
		{DType: record.BF16, Params: "n=1 c=8 h=8 w=8 k=2147483648 r=1 layout=nhwc", Device: h200, Entry: "2147483648 output channels a group"},
		{DType: record.BF16, Params: "n=1 c=524288 h=8 w=8 k=1048576 r=1 groups=65536 layout=nhwc", Device: h200, Entry: "groups=65536"},
	})
}
