//go:build cgo && linux

package conv_test

import (
	"fmt"
	"testing"
	"unsafe"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/conv"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

// requantised: every kernel's register tiles, tails of channels and of pixels, several slabs, depthwise.
var requantised = []string{
	"n=1 c=1 h=1 w=1 k=1 r=1", "n=0 c=3 h=5 w=5 k=4", "n=2 c=5 h=9 w=7 k=13 stride=2 pad=1 bias=1 act=relu", "n=2 c=17 h=7 w=7 k=33 r=1",
	"n=1 c=3 h=19 w=21 k=10 r=7 stride=2 pad=3 bias=1", "n=1 c=12 h=9 w=9 k=24 groups=4 pad=1 act=relu", "n=1 c=40 h=6 w=6 k=48 pad=1 bias=1",
	"n=1 c=520 h=2 w=2 k=16 pad=1 act=relu", "n=1 c=4700 h=1 w=2 k=17 r=1 bias=1", "n=1 c=2 h=1 w=900 k=17 pad=1", "n=1 c=8 h=6 w=21 k=100 r=1 act=relu",
	"n=2 c=37 h=5 w=16 k=37 groups=37 pad=1 bias=1", "n=1 c=48 h=6 w=19 k=48 groups=48 r=5 pad=2 stride=2 act=relu", "n=1 c=5 h=8 w=19 k=10 groups=5 pad=1",
}

func TestRequantisedConvolutionsMatchTheExpectation(t *testing.T) {
	var list []op.Op
	for _, s := range requantised {
		for _, layout := range []string{"nchw", "nhwc"} {
			list = append(list, kerneltest.Op(t, "conv2d", record.INT8, params(s+" requant=1 layout="+layout)))
		}
	}
	kerneltest.All(t, native.New(), list)
}

// Every sum is 1·1 and a bias, wrapped: each output channel is one corner, for pixels in whole vectors and a tail.
func TestEveryKernelRequantisesCornersAsWritten(t *testing.T) {
	all := kerneltest.Corners(t)
	const width = 37
	shapes := []string{fmt.Sprintf("c=1 k=%d", len(all)), fmt.Sprintf("c=%[1]d k=%[1]d groups=%[1]d", len(all))} // and depthwise
	for _, shape := range shapes {
		for _, layout := range []string{"nchw", "nhwc"} {
			for _, act := range []string{"none", "relu"} {
				text := fmt.Sprintf("n=1 h=1 w=%d r=1 bias=1 requant=1 layout=%s act=%s %s", width, layout, act, shape)
				o := kerneltest.Op(t, "conv2d", record.INT8, params(text))
				ran := 0
				for _, k := range conv.Family().Kernels {
					if !k.Implements("conv2d", record.INT8) || !kernel.Detect().Has(k.ISA) {
						continue
					}
					y, ok := requantise(t, k, o, all)
					if !ok {
						continue
					}
					ran++
					for i, got := range y {
						ch := i / width
						if layout == "nhwc" {
							ch = i % len(all)
						}
						if want := all[ch].Right(act == "relu"); got != want {
							t.Errorf("%s %s: %s: sum %d, scale %g: %d, want %d", k.Name, text, all[ch].Why, all[ch].Sum, all[ch].Scale, got, want)
							break
						}
					}
				}
				if ran < 2 {
					t.Errorf("%s: %d kernels ran", text, ran)
				}
			}
		}
	}
}

// requantise runs a kernel with one input and one filter of 1 per channel; false where it does not support the shape.
func requantise(t *testing.T, k kernel.Kernel, o op.Op, all []kerneltest.Corner) ([]int8, bool) {
	t.Helper()
	y, ok := onChosen(t, k, o, func(name string, p unsafe.Pointer, n int64) {
		switch name {
		case "x", "w":
			for i, b := 0, unsafe.Slice((*int8)(p), n); i < len(b); i++ {
				b[i] = 1
			}
		case "bias":
			for i, c := range all {
				unsafe.Slice((*int32)(p), n)[i] = c.Sum - 1 // wraps
			}
		case "scale":
			for i, c := range all {
				unsafe.Slice((*float32)(p), n)[i] = c.Scale
			}
		}
	})
	out := make([]int8, len(y))
	for i, b := range y {
		out[i] = int8(b)
	}
	return out, ok
}
