//go:build cgo && linux

package conv_test

import (
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kerneltest"
)

// gathered: groups of one and two whole vectors of outputs of all widths, whose pixels are copied side by side: of whole vectors of inputs and not, several images,
// blocks of pixels and chunks, a row in pieces, steps, dilation, wide padding, all epilogues; and outputs of whole eights, which fill half of a last vector of 16.
var gathered = []string{
	"n=2 c=48 h=7 w=7 k=48 groups=3 pad=1 bias=1 act=relu", "n=1 c=96 h=9 w=8 k=96 groups=3 pad=1 residual=1", "n=1 c=32 h=21 w=23 k=32 groups=2 pad=1 stride=2 bias=1",
	"n=3 c=64 h=21 w=20 k=32 groups=2 pad=1", "n=1 c=32 h=9 w=11 k=32 groups=2 pad=2 dilation=2 bias=1 act=relu residual=1", "n=1 c=40 h=6 w=9 k=32 groups=2 r=5 pad=4 act=gelu",
	"n=1 c=32 h=3 w=405 k=32 groups=2 pad=1", "n=1 c=24 h=8 w=8 k=24 groups=3 pad=1 bias=1", "n=2 c=34 h=5 w=6 k=64 groups=2 r=1 s=3 stride=3",
	"n=1 c=27 h=9 w=8 k=72 groups=3 pad=1 bias=1", "n=2 c=80 h=7 w=7 k=112 groups=2 pad=1 stride=2 residual=1", "n=1 c=37 h=6 w=8 k=40 pad=1 bias=1 act=relu", "n=1 c=44 h=6 w=8 k=8 r=1",
}

func TestGroupsCopiedSideBySideMatchTheExpectation(t *testing.T) {
	var list []op.Op
	for j, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
		for i, s := range gathered {
			for l, layout := range []string{"nchw", "nhwc"} {
				if kerneltest.Sparse() && (i+j+l)%2 == 1 {
					continue
				}
				o := ended(d, s) + " layout=" + layout
				if (i+l)%2 == 0 {
					o += " packed=1"
				}
				list = append(list, kerneltest.Op(t, "conv2d", d, params(o)))
				if !d.Float() && !strings.Contains(s, "residual") {
					list = append(list, kerneltest.Op(t, "conv2d", d, params(o+" requant=1"+[]string{"", " act=relu"}[l])))
				}
			}
		}
	}
	onKernels(t, "indirect", list)
}
