//go:build cuda && linux && cgo

package conv_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// One tap as a plain product, in tiles of each width: pixels that fill tiles and that do not, channels that fill less than a stage, one, and more than there is room for, output channels that end within a panel,
// a tile and at its end, one tile a block and several (2 multiprocessors), so that panels are used again; every epilogue.
func TestPointwiseConvolutionsMatchTheExpectation(t *testing.T) {
	with := func(d record.DType, kernel string, cols int64, shapes ...string) {
		t.Helper()
		var ops []op.Op
		for _, s := range shapes {
			ops = append(ops, cudatest.Op(t, "conv2d", d, s+",r=1,layout=nhwc"))
		}
		params := map[string]int64{} // there is one tile
		if cols > 0 {
			params["tile"] = cols
		}
		cudatest.With(t, cuda.New(), kernel, params, ops)
	}
	t.Setenv("RIDGE_FAKE_SMS", "2")
	const bf16, bytes = "conv2d_bf16_sm90_pointwise", "conv2d_int8_sm90_pointwise"
	with(record.BF16, bf16, 64, "n=1,c=32,h=1,w=1,k=40", "n=3,c=72,h=13,w=11,k=72,bias=1,act=relu", "n=3,c=64,h=16,w=20,k=64,residual=1", "n=3,c=520,h=8,w=9,k=136,bias=1,residual=1,act=relu")
	with(record.BF16, bf16, 128, "n=1,c=40,h=9,w=7,k=72", "n=3,c=72,h=13,w=11,k=264,bias=1", "n=3,c=64,h=8,w=16,k=256,bias=1,residual=1,act=gelu", "n=3,c=456,h=11,w=13,k=104,residual=1,act=silu")
	with(record.BF16, bf16, 256, "n=1,c=48,h=9,w=7,k=136", "n=3,c=72,h=13,w=11,k=264,bias=1,act=gelu_tanh", "n=3,c=64,h=8,w=16,k=256,bias=1,residual=1", "n=3,c=264,h=11,w=13,k=520,residual=1,act=relu")
	with(record.INT8, bytes, 64, "n=1,c=64,h=9,w=7,k=36", "n=3,c=144,h=13,w=11,k=68,bias=1", "n=3,c=1040,h=8,w=9,k=132,residual=1,bias=1")
	with(record.INT8, bytes, 128, "n=1,c=80,h=9,w=7,k=72", "n=3,c=144,h=13,w=11,k=260,residual=1", "n=3,c=128,h=16,w=8,k=128,residual=1,bias=1")
	with(record.INT8, bytes, 128, "n=1,c=80,h=9,w=7,k=80,requant=1", "n=3,c=144,h=13,w=11,k=272,requant=1,bias=1,act=relu", "n=3,c=128,h=16,w=8,k=128,requant=1,bias=1")
	with(record.INT8, bytes, 256, "n=1,c=80,h=9,w=7,k=144,requant=1,bias=1", "n=3,c=144,h=13,w=11,k=272,requant=1,act=relu", "n=3,c=528,h=16,w=8,k=512,requant=1,bias=1")
	with(record.FP32, "conv2d_fp32_sm90_3xtf32_pointwise", 0, "n=1,c=16,h=9,w=7,k=68", "n=3,c=36,h=13,w=11,k=132,bias=1,act=gelu", "n=3,c=32,h=8,w=16,k=128,residual=1,bias=1,act=relu", "n=3,c=132,h=5,w=9,k=260,residual=1")
}

// What the kernel itself chooses with four multiprocessors, at addresses that are aligned and that are not.
func TestPointwiseConvolutionsAreTakenByThemselves(t *testing.T) {
	var ops []op.Op
	for _, s := range []string{"n=3,c=64,h=9,w=11,k=256,bias=1,residual=1,act=relu", "n=2,c=256,h=14,w=14,k=72"} {
		ops = append(ops, cudatest.Op(t, "conv2d", record.BF16, s+",r=1,layout=nhwc"))
	}
	cudatest.Taken(t, cuda.New(), "pointwise", ops)
}
