//go:build cgo && linux

package conv_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/conv"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

// few: up to eight output channels, each number of them: whole vectors of a tap's channels and parts of one, steps, taps outside the image for all of a tile's
// pixels and for some, fewer pixels than a tile, 1x1 in place, rows of taps that lie together, all epilogues.
var few = []string{
	"n=1 c=16 h=5 w=5 k=1 pad=1 bias=1", "n=2 c=33 h=4 w=7 k=2 pad=1 act=relu residual=1", "n=1 c=40 h=6 w=13 k=3 r=5 pad=2 stride=2 bias=1", "n=1 c=48 h=3 w=3 k=4 pad=2 bias=1 act=gelu",
	"n=1 c=80 h=7 w=9 k=5 r=1 residual=1", "n=1 c=64 h=5 w=6 k=6 r=1 stride=2 bias=1", "n=1 c=101 h=4 w=5 k=7 pad=1", "n=1 c=130 h=5 w=7 k=8 pad=1 bias=1 residual=1 act=relu",
	"n=1 c=7 h=9 w=11 k=2 r=7 pad=3 bias=1", "n=1 c=64 h=1 w=1 k=1 r=1", "n=3 c=32 h=1 w=3 k=3 r=3 pad=1", "n=1 c=64 h=9 w=8 k=4 r=1 bias=1 act=relu", "n=1 c=6 h=8 w=9 k=4 r=5 stride=2 pad=4",
	"n=1 c=18 h=6 w=9 k=1 dilation=2 pad=2 residual=1",
}

// wide: one and two vectors of output channels, whose tiles have up to twelve pixels: each number of them from eight on, taps outside the image for all of a
// tile's, several slabs, stems; three and four vectors in panels of one layer.
var wide = []string{
	"n=1 c=24 h=1 w=8 k=16 r=1 bias=1", "n=1 c=24 h=1 w=9 k=31 r=1 act=relu", "n=1 c=24 h=1 w=10 k=32 r=1 residual=1", "n=1 c=24 h=1 w=11 k=16 r=1 bias=1 act=gelu", "n=1 c=24 h=1 w=12 k=32 r=1",
	"n=1 c=9 h=1 w=10 k=12 r=1", "n=1 c=9 h=1 w=23 k=15 r=1 bias=1", "n=1 c=20 h=7 w=12 k=16 pad=1 bias=1 act=relu", "n=2 c=17 h=5 w=6 k=29 pad=2 residual=1", "n=1 c=33 h=6 w=8 k=11 r=3 stride=2 pad=1 bias=1",
	"n=1 c=12 h=9 w=20 k=16 r=7 pad=3", "n=1 c=5000 h=1 w=11 k=9 r=1 bias=1 act=relu residual=1", "n=1 c=530 h=3 w=4 k=20 pad=1", "n=1 c=1300 h=2 w=5 k=112 r=1 bias=1 act=relu", "n=1 c=20 h=5 w=9 k=100 pad=1",
}

// runs: rows of taps in one run though a tap alone has a vector of channels and more, in copies and (rows of 112 and more) in the image with strips at its edges; one, two
// and four vectors of outputs; runs that end within four elements and within a unit; groups, several images, steps of copies, windows too large for it, dilation.
var runs = []string{
	"n=2 c=16 h=6 w=7 k=64 pad=1 bias=1 act=relu", "n=1 c=24 h=5 w=8 k=80", "n=1 c=33 h=7 w=13 k=16 pad=1 residual=1", "n=1 c=47 h=5 w=9 k=30 r=2 s=3 pad=1 bias=1 act=gelu", "n=2 c=40 h=6 w=6 k=32 groups=2 pad=1 bias=1",
	"n=1 c=17 h=3 w=115 k=12 pad=1 residual=1 act=relu", "n=1 c=16 h=2 w=120 k=64 pad=1 bias=1", "n=1 c=5 h=6 w=230 k=20 r=5 stride=2 pad=2", "n=1 c=30 h=9 w=10 k=17 r=7 pad=3", "n=1 c=61 h=8 w=7 k=33 stride=2 pad=1 residual=1",
	"n=1 c=24 h=33 w=34 k=72 pad=1", "n=1 c=64 h=6 w=9 k=24 r=1 s=3 dilation=2", "n=1 c=15 h=7 w=7 k=24 r=9 pad=4",
}

func TestConvolutionsOfFewOutputChannelsMatchTheExpectation(t *testing.T) {
	var list []op.Op
	for i, s := range slices.Concat(few, wide, runs) {
		for j, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
			if kerneltest.Sparse() && (i+j)%2 == 1 {
				continue
			}
			for l, layout := range []string{"nchw", "nhwc"} {
				if l == 1 || (i+j)%2 == 0 {
					list = append(list, kerneltest.Op(t, "conv2d", d, params(ended(d, s)+" layout="+layout)))
				}
				if l == 1 || (i+j)%2 == 1 {
					list = append(list, kerneltest.Op(t, "conv2d", d, params(ended(d, s)+" packed=1 layout="+layout)))
				}
			}
			if d == record.INT8 && !strings.Contains(s, "residual") {
				list = append(list, kerneltest.Op(t, "conv2d", d, params(ended(d, s)+" packed=1 layout=nhwc requant=1"+[]string{"", " act=relu"}[i%2])))
			}
		}
	}
	kerneltest.All(t, kerneltest.Only(native.New(), "indirect"), list)
}

// A pixel that is infinite reaches the outputs whose window holds it and no other: lanes behind a tap's last channel are not multiplied.
func TestInfinitePixelsStayInTheirWindows(t *testing.T) {
	for _, shape := range []string{"c=19 h=5 w=9 k=3", "c=17 h=5 w=9 k=12", "c=5 h=5 w=9 k=2", "c=24 h=5 w=9 k=20", "c=16 h=5 w=9 k=64", "c=48 h=5 w=9 k=12"} {
		for _, d := range []record.DType{record.FP32, record.BF16} {
			for _, layout := range []string{"nchw", "nhwc"} {
				text := fmt.Sprintf("n=1 r=3 pad=1 layout=%s %s", layout, shape)
				o := kerneltest.Op(t, "conv2d", d, params(text)).(*op.Conv)
				size, chan0, pixel := o.D.Size(), o.C, int64(2*9+4) // channel 0 of row 2, column 4
				if o.NHWC {
					pixel *= chan0
				}
				for _, k := range conv.Family().Kernels {
					if !k.Implements("conv2d", d) || !kernel.Detect().Has(k.ISA) || strings.Contains(k.Name, "winograd") {
						continue
					}
					y, ok := onChosen(t, k, o, func(name string, p unsafe.Pointer, n int64) {
						b := unsafe.Slice((*byte)(p), n*int64(size))
						for i := range n {
							v := 1.0
							if name == "x" && i == pixel {
								v = math.Inf(1)
							}
							op.Encode(d, b[i*int64(size):], v)
						}
					})
					for i := 0; ok && i < len(y)/int(size); i++ {
						at := i / int(o.K)
						if !o.NHWC {
							at = i % int(o.Ho*o.Wo)
						}
						row, col := at/9, at%9
						near := row >= 1 && row <= 3 && col >= 3 && col <= 5
						if got := op.Decode(d, y[i*int(size):]); math.IsInf(got, 1) != near || math.IsNaN(got) {
							t.Errorf("%s %s %s: output %d is %g", k.Name, d, text, i, got)
							break
						}
					}
				}
			}
		}
	}
}
