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
