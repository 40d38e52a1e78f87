//go:build cuda && linux && cgo

package conv_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestMain(m *testing.M) { cudatest.Main(m) }

// Empty batches, windows of one tap and larger ones with every step, padding and dilation, images smaller than the window, tails of
// pixels (128), channels (64) and the sum (8, of bytes 32), groups of one channel and of several, below and above 16 outputs.
var shapes = []string{
	"n=0,c=3,h=4,w=4,k=2", "n=1,c=1,h=1,w=1,k=1,r=1", "n=1,c=3,h=9,w=7,k=5,pad=1", "n=2,c=5,h=8,w=9,k=70,r=1",
	"n=1,c=4,h=13,w=12,k=17,r=2,s=3,stride=2,pad=2", "n=1,c=8,h=11,w=11,k=20,dilation=3,pad=3", "n=2,c=3,h=2,w=2,k=3,pad=2",
	"n=1,c=6,h=7,w=7,k=6,groups=6,pad=1", "n=1,c=8,h=6,w=5,k=40,groups=2,pad=1,stride=2", "n=1,c=8,h=12,w=12,k=66,r=1,stride=2",
}

func TestConvolutionsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
		for _, layout := range []string{",layout=nchw", ",layout=nhwc"} {
			for _, shape := range shapes {
				ops = append(ops, cudatest.Op(t, "conv2d", d, shape+layout))
			}
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

func TestEpiloguesOfConvolutionsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, layout := range []string{",layout=nchw", ",layout=nhwc"} {
		for _, shape := range []string{"n=2,c=4,h=6,w=7,k=18,pad=1", "n=2,c=4,h=6,w=7,k=4,groups=4,pad=1"} {
			for _, d := range []record.DType{record.FP32, record.BF16} {
				for _, act := range op.Activations {
					ops = append(ops, cudatest.Op(t, "conv2d", d, shape+layout+",bias=1,residual=1,act="+act))
				}
				ops = append(ops, cudatest.Op(t, "conv2d", d, shape+layout+",residual=1"))
			}
			for _, e := range []string{",bias=1", ",residual=1,bias=1", ",requant=1", ",requant=1,bias=1,act=relu"} {
				ops = append(ops, cudatest.Op(t, "conv2d", record.INT8, shape+layout+e))
			}
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

// On tensor cores, whose tiles are 128 pixels by 128 or 64 channels and whose stages are 32 channels of bf16 or 64 of int8: windows of one tap and of several with
// every step, padding and dilation, channels that fill less than a stage, one, and a stage and a part, so that a stage holds several taps or ends in one; tails of
// pixels and channels, no image, groups, images smaller than the window.
func TestConvolutionsOnTensorCoresMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for d, shapes := range map[record.DType][]string{
		record.BF16: {
			"n=0,c=8,h=4,w=4,k=16", "n=1,c=8,h=1,w=1,k=16,r=1", "n=1,c=8,h=9,w=7,k=17,pad=1", "n=2,c=40,h=8,w=9,k=70,r=1", "n=1,c=16,h=13,w=12,k=19,r=2,s=3,stride=2,pad=2",
			"n=1,c=24,h=11,w=11,k=20,dilation=3,pad=3", "n=2,c=8,h=2,w=2,k=33,pad=2", "n=1,c=32,h=6,w=5,k=40,groups=2,pad=1,stride=2", "n=1,c=64,h=4,w=5,k=136,r=1,stride=2",
			"n=5,c=72,h=3,w=3,k=130", "n=3,c=8,h=7,w=9,k=640,r=1", "n=1,c=8,h=5,w=5,k=16,r=1,dilation=32767",
		},
		record.INT8: {
			"n=0,c=16,h=4,w=4,k=16", "n=1,c=16,h=1,w=1,k=16,r=1", "n=1,c=16,h=9,w=7,k=17,pad=1", "n=2,c=80,h=8,w=9,k=70,r=1", "n=1,c=32,h=13,w=12,k=19,r=2,s=3,stride=2,pad=2",
			"n=1,c=48,h=11,w=11,k=20,dilation=3,pad=3", "n=1,c=64,h=6,w=5,k=40,groups=2,pad=1,stride=2", "n=3,c=16,h=7,w=9,k=640,r=1",
		},
	} {
		for _, shape := range shapes {
			ops = append(ops, cudatest.Op(t, "conv2d", d, shape+",layout=nhwc"))
		}
	}
	const small, large = "n=2,c=16,h=6,w=7,k=18,pad=1,layout=nhwc", "n=3,c=16,h=7,w=9,k=647,r=1,layout=nhwc"
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "conv2d", record.BF16, small+",bias=1,residual=1,act="+act))
	}
	for _, shape := range []string{small, large, "n=1,c=32,h=6,w=5,k=34,groups=2,layout=nhwc"} {
		ops = append(ops, cudatest.Op(t, "conv2d", record.BF16, shape+",residual=1"))
		for _, e := range []string{",bias=1", ",residual=1,bias=1", ",requant=1", ",requant=1,bias=1,act=relu"} {
			ops = append(ops, cudatest.Op(t, "conv2d", record.INT8, shape+e))
		}
	}
	t.Setenv("RIDGE_FAKE_CAPABILITY", "8.0") // 9.0 has kernels of its own
	cudatest.Taken(t, cuda.New(), "sm80", ops)
}

// As above for wgmma, whose tiles are boxes of 128 pixels by 64, 128 or 256 channels and whose stages are 64 channels of a tap: boxes that fill a tile and that do not, of
// several images, tails of every side; windows with padding and dilation; more tiles than multiprocessors (4); more stages than there is room for.
func TestConvolutionsOnHopperMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{
		"n=1,c=32,h=1,w=1,k=72,r=1", "n=1,c=40,h=9,w=7,k=70,pad=1", "n=3,c=64,h=5,w=6,k=130,pad=1", "n=2,c=72,h=8,w=9,k=300,r=1", "n=2,c=32,h=11,w=13,k=80,r=1,stride=2", "n=1,c=48,h=11,w=11,k=67,dilation=3,pad=3",
		"n=1,c=32,h=13,w=12,k=66,r=2,s=3,pad=2", "n=9,c=32,h=3,w=3,k=128,pad=1", "n=1,c=136,h=30,w=20,k=256,r=3,pad=1", "n=5,c=32,h=12,w=12,k=65,r=1", "n=1,c=136,h=13,w=14,k=64,pad=1", "n=9,c=64,h=9,w=11,k=640,r=1", "n=1,c=32,h=4,w=5,k=80,r=1,pad=1",
		"n=2,c=40,h=9,w=8,k=70,pad=1,stride=2", "n=1,c=32,h=13,w=12,k=66,r=2,s=3,stride=2,pad=2", "n=1,c=72,h=12,w=11,k=67,dilation=3,pad=3,stride=2", "n=3,c=32,h=2,w=2,k=65,pad=3,stride=2",
		"n=2,c=64,h=14,w=14,k=300,pad=1,stride=2", "n=1,c=32,h=6,w=7,k=64,r=1,pad=1,stride=2",
	} {
		ops = append(ops, cudatest.Op(t, "conv2d", record.BF16, shape+",layout=nhwc"))
	}
	for _, act := range op.Activations {
		ops = append(ops, cudatest.Op(t, "conv2d", record.BF16, "n=2,c=32,h=6,w=7,k=75,pad=1,layout=nhwc,bias=1,residual=1,act="+act))
	}
	for _, e := range []string{"residual=1", "bias=1,act=relu", "act=silu"} {
		ops = append(ops, cudatest.Op(t, "conv2d", record.BF16, "n=2,c=32,h=6,w=7,k=80,pad=1,layout=nhwc,"+e))
	}
	cudatest.Taken(t, cuda.New(), "sm90", ops)
}

// The same of bytes, whose stages are 128 channels of a tap and whose tiles have 128 or 256 channels.
func TestConvolutionsOfBytesOnHopperMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{
		"n=1,c=64,h=1,w=1,k=72,r=1", "n=1,c=80,h=9,w=7,k=70,pad=1", "n=2,c=144,h=8,w=9,k=300,r=1", "n=2,c=64,h=11,w=13,k=80,r=1,stride=2", "n=1,c=96,h=11,w=11,k=67,dilation=3,pad=3",
		"n=1,c=272,h=13,w=14,k=129,r=2", "n=9,c=64,h=9,w=11,k=640,r=1", "n=2,c=80,h=9,w=8,k=70,pad=1,stride=2",
	} {
		ops = append(ops, cudatest.Op(t, "conv2d", record.INT8, shape+",layout=nhwc"))
	}
	for _, e := range []string{"bias=1", "residual=1", "residual=1,bias=1", "requant=1", "requant=1,bias=1,act=relu"} {
		ops = append(ops, cudatest.Op(t, "conv2d", record.INT8, "n=2,c=64,h=6,w=7,k=75,layout=nhwc,"+e), cudatest.Op(t, "conv2d", record.INT8, "n=2,c=64,h=6,w=7,k=80,r=1,layout=nhwc,"+e))
	}
	cudatest.Taken(t, cuda.New(), "sm90", ops)
}

// Blocks of a cluster that share a window: tails of pixels and channels, stages that parts do not share evenly, all epilogues. Seven multiprocessors have no room for eight parts.
func TestConvolutionsInPartsMatchTheExpectation(t *testing.T) {
	with := func(d record.DType, kernel, sms string, tile int64, shapes ...string) {
		t.Setenv("RIDGE_FAKE_SMS", sms)
		var ops []op.Op
		for _, s := range shapes {
			ops = append(ops, cudatest.Op(t, "conv2d", d, s+",layout=nhwc"))
		}
		params := map[string]int64{}
		if tile > 0 {
			params["tile"] = tile
		}
		cudatest.With(t, cuda.New(), kernel, params, ops)
	}
	with(record.BF16, "conv2d_bf16_sm90_splitk", "8", 64, "n=1,c=72,h=7,w=6,k=70,pad=1,bias=1,residual=1,act=gelu", "n=2,c=72,h=9,w=9,k=72,pad=1,stride=2,bias=1,act=relu")
	with(record.BF16, "conv2d_bf16_sm90_splitk", "7", 64, "n=2,c=32,h=9,w=9,k=65,pad=1,stride=2")
	with(record.BF16, "conv2d_bf16_sm90_splitk", "4", 256, "n=1,c=264,h=5,w=6,k=270,r=1", "n=2,c=264,h=8,w=9,k=272,r=1")
	with(record.INT8, "conv2d_int8_sm90_splitk", "7", 128, "n=1,c=80,h=7,w=6,k=75,pad=1,residual=1,bias=1", "n=1,c=80,h=7,w=6,k=80,pad=1,requant=1,act=relu")
	with(record.INT8, "conv2d_int8_sm90_splitk", "8", 128, "n=2,c=80,h=7,w=6,k=76,pad=1,bias=1")
	with(record.FP32, "conv2d_fp32_sm90_3xtf32_splitk", "8", 0, "n=1,c=36,h=5,w=6,k=72,pad=1")
	with(record.FP32, "conv2d_fp32_sm90_3xtf32_splitk", "7", 0, "n=1,c=20,h=7,w=6,k=70,pad=1,bias=1,residual=1,act=relu")
}

// fp32 as three products of tf32, of 32 channels a stage.
func TestConvolutionsOfThreeProductsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{"n=1,c=16,h=9,w=7,k=70,pad=1", "n=2,c=36,h=8,w=9,k=130,r=1", "n=1,c=20,h=12,w=11,k=67,pad=1,stride=2", "n=2,c=16,h=6,w=7,k=75,pad=1,bias=1,residual=1,act=relu"} {
		ops = append(ops, cudatest.Op(t, "conv2d", record.FP32, shape+",layout=nhwc"))
	}
	cudatest.Taken(t, cuda.New(), "sm90", ops)
}

// What is packed first: nchw, three channels, channels off 16 bytes; tails of pixels and channels, several taps in a stage, windows in parts (4 multiprocessors) and whole.
func TestPackedConvolutionsMatchTheExpectation(t *testing.T) {
	const stem, tails, many = "n=1,c=3,h=15,w=14,k=17,r=7,stride=2,pad=3", "n=2,c=13,h=7,w=6,k=35,pad=1,dilation=2", "n=3,c=20,h=20,w=21,k=70,r=1"
	var ops []op.Op
	for _, layout := range []string{"", ",layout=nhwc"} {
		for _, d := range []record.DType{record.BF16, record.FP32} {
			for _, s := range []string{stem, tails, many, tails + ",bias=1,residual=1,act=relu"} {
				if d == record.FP32 && s == many && layout != "" {
					continue // lies as tensor cores want it
				}
				ops = append(ops, cudatest.Op(t, "conv2d", d, s+layout))
			}
		}
		for _, s := range []string{stem, tails + ",residual=1,bias=1", many, tails + ",requant=1,bias=1,act=relu", many + ",requant=1"} {
			ops = append(ops, cudatest.Op(t, "conv2d", record.INT8, s+layout))
		}
	}
	cudatest.Taken(t, cuda.New(), "packed", ops)
}
