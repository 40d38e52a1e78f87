//go:build cuda && linux && cgo

package conv_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Boxes of pixels whose y leaves by TMA, in tiles of each width: boxes that fill a tile and that do not, of several images, with tails of every side; windows with padding, dilation and stride 2; one tap of
// stride 2; output channels that end within a panel and a tile; one tile a block and several (2 multiprocessors), so that panels are used again, with a residual and without; every epilogue.
func TestConvolutionsInBoxesMatchTheExpectation(t *testing.T) {
	with := func(d record.DType, kernel string, cols int64, shapes ...string) {
		t.Helper()
		var ops []op.Op
		for _, s := range shapes {
			ops = append(ops, cudatest.Op(t, "conv2d", d, s+",layout=nhwc"))
		}
		params := map[string]int64{} // there is one tile
		if cols > 0 {
			params["tile"] = cols
		}
		cudatest.With(t, cuda.New(), kernel, params, ops)
	}
	t.Setenv("RIDGE_FAKE_SMS", "2")
	const bf16, bytes = "conv2d_bf16_sm90_boxes", "conv2d_int8_sm90_boxes"
	with(record.BF16, bf16, 64, "n=1,c=40,h=9,w=7,k=72,pad=1,residual=1", "n=3,c=64,h=13,w=14,k=64,r=2,residual=1,bias=1,act=relu", "n=2,c=32,h=25,w=31,k=136,r=1,stride=2", "n=3,c=32,h=2,w=2,k=72,pad=3,stride=2")
	with(record.BF16, bf16, 128, "n=1,c=48,h=11,w=11,k=104,dilation=3,pad=3,bias=1", "n=3,c=32,h=19,w=21,k=264,r=1,stride=2", "n=9,c=32,h=3,w=3,k=128,pad=1,residual=1,act=gelu", "n=2,c=72,h=12,w=11,k=264,r=1,stride=2,bias=1,residual=1,act=silu")
	with(record.BF16, bf16, 256, "n=2,c=40,h=9,w=8,k=136,pad=1,stride=2,act=relu", "n=3,c=32,h=8,w=9,k=264,r=2,s=1,bias=1", "n=3,c=32,h=8,w=9,k=264,r=2,s=1,residual=1,bias=1,act=gelu_tanh")
	with(record.INT8, bytes, 64, "n=1,c=80,h=9,w=7,k=68,pad=1", "n=3,c=64,h=11,w=13,k=132,r=2,residual=1,bias=1")
	with(record.INT8, bytes, 128, "n=3,c=80,h=19,w=16,k=132,pad=1,stride=2,bias=1", "n=3,c=144,h=12,w=11,k=260,r=1,stride=2,residual=1")
	with(record.INT8, bytes, 128, "n=2,c=80,h=9,w=8,k=144,pad=1,stride=2,requant=1,bias=1,act=relu")
	with(record.INT8, bytes, 256, "n=3,c=64,h=9,w=8,k=272,r=2,requant=1,bias=1")
	with(record.FP32, "conv2d_fp32_sm90_3xtf32_boxes", 0, "n=1,c=16,h=9,w=7,k=72,pad=1,bias=1,residual=1,act=relu", "n=2,c=20,h=24,w=11,k=132,pad=1,stride=2", "n=3,c=36,h=9,w=8,k=140,r=1,stride=2,residual=1,act=gelu")
}
