//go:build cgo && linux

package conv_test

import (
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kerneltest"
)

// alongPlanes: groups that join in NHWC and that do not, incomplete units of channels, tiles of one to four outputs and one to six vectors, steps with as many
// phases, rows that share their padding and that cannot, taps of one column beside wide padding, planes read in place, several bands, planes smaller than a vector, all epilogues.
var alongPlanes = []string{
	"n=2 c=12 h=9 w=9 k=12 groups=3 pad=1", "n=1 c=20 h=11 w=37 k=24 groups=4 r=5 s=3 pad=2 bias=1 act=relu residual=1", "n=1 c=6 h=10 w=9 k=22 groups=2 pad=2 dilation=2 bias=1",
	"n=2 c=8 h=19 w=21 k=8 groups=2 r=4 s=2 stride=3 pad=2 bias=1", "n=1 c=9 h=23 w=25 k=15 groups=3 r=7 stride=2 pad=3 residual=1", "n=2 c=24 h=9 w=14 k=36 groups=3 r=1 bias=1 act=relu",
	"n=1 c=10 h=8 w=9 k=4 groups=2 residual=1", "n=1 c=3 h=13 w=15 k=13 pad=2 dilation=2 bias=1 act=gelu", "n=1 c=8 h=16 w=16 k=7 r=1 bias=1 act=silu residual=1", "n=3 c=4 h=6 w=14 k=6 groups=2 r=3 s=1 pad=2",
	"n=1 c=8 h=100 w=100 k=3 pad=1", "n=1 c=34 h=7 w=7 k=34 groups=2 pad=1 bias=1 act=relu", "n=1 c=16 h=4 w=4 k=32 groups=8 r=1", "n=1 c=8 h=5 w=33 k=4 groups=4 r=2 s=5 stride=4 pad=1",
	// A step of two: rows of less, as many and more than two vectors, even and odd padding, columns of one remainder alone, rows beyond the image, bands.
	"n=2 c=9 h=8 w=16 k=6 groups=3 stride=2", "n=1 c=10 h=7 w=33 k=6 groups=2 r=5 stride=2 pad=2 bias=1", "n=1 c=6 h=11 w=65 k=6 groups=2 stride=2 pad=1", "n=1 c=4 h=15 w=1 k=4 groups=2 r=4 stride=2 pad=3",
	"n=1 c=48 h=61 w=62 k=16 groups=2 stride=2 pad=1 bias=1",
	"n=1 c=40 h=12 w=11 k=40 groups=4 r=1 stride=2", "n=2 c=7 h=12 w=29 k=1 r=5 pad=2 bias=1", "n=1 c=8 h=7 w=6 k=9 pad=2 residual=1", "n=2 c=1 h=9 w=12 k=10 pad=1 bias=1",
}

func TestPlanesMatchTheExpectation(t *testing.T) {
	var list []op.Op
	for j, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
		for i, s := range alongPlanes {
			for l, layout := range []string{"nchw", "nhwc"} {
				if kerneltest.Sparse() && (i+j+l)%2 == 1 {
					continue
				}
				o := strings.ReplaceAll(ended(d, s), " act=silu", "") + " layout=" + layout
				if d.Float() {
					o = s + " layout=" + layout
				}
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
	onKernels(t, "planes", list)
}

// Planes are left to the kernels with vectors of outputs where these are full and pixels lie in their layout.
func TestPlanesAreChosenWhereVectorsOfOutputsAreNotFull(t *testing.T) {
	for _, c := range []struct {
		shape string
		wins  bool
		wide  bool // not with vectors of 8
	}{
		{"c=128 h=56 w=56 k=128 groups=32 pad=1 layout=nchw", true, false},
		{"c=128 h=56 w=56 k=128 groups=32 pad=1 layout=nhwc packed=1", true, false},
		{"c=1024 h=7 w=7 k=1024 groups=32 pad=1 layout=nhwc packed=1", false, false}, // 32 outputs of a group
		{"c=1024 h=7 w=7 k=1024 groups=32 pad=1 layout=nchw", false, false},
		{"c=128 h=8 w=8 k=128 groups=4 r=1 layout=nchw", true, true},
		{"c=64 h=8 w=8 k=64 groups=4 pad=1 layout=nchw", true, true},
		{"c=64 h=16 w=16 k=64 groups=4 pad=1 stride=2 layout=nchw", false, false},
		{"c=16 h=16 w=16 k=64 groups=4 pad=1 stride=2 layout=nchw", true, true}, // few inputs
		{"c=1024 h=14 w=14 k=1024 groups=32 pad=1 stride=2 layout=nchw", false, false},
		{"c=64 h=8 w=8 k=64 groups=4 pad=1 layout=nhwc", false, false}, // whole vectors
		{"c=64 h=8 w=8 k=96 groups=4 pad=1 layout=nhwc", true, true},
		{"c=64 h=8 w=8 k=64 groups=4 r=1 layout=nhwc", false, false}, // one tap
		{"c=80 h=16 w=16 k=48 groups=4 pad=1 layout=nhwc", true, false},
		{"c=32 h=3 w=3 k=32 groups=4 pad=1 layout=nhwc", false, false}, // nine pixels
		{"c=3 h=64 w=64 k=80 pad=1 layout=nchw", true, true},
		{"c=3 h=64 w=64 k=80 pad=1 layout=nhwc packed=1", false, false},
		{"c=3 h=64 w=64 k=8 pad=1 layout=nhwc packed=1", true, false},
		{"c=64 h=28 w=28 k=8 pad=1 layout=nchw", true, false},
		{"c=64 h=28 w=28 k=64 pad=1 layout=nchw", false, false},
		{"c=64 h=28 w=28 k=8 pad=1 stride=2 layout=nchw", false, false},
		{"c=64 h=7 w=7 k=8 pad=1 layout=nchw", false, false},
		{"c=32 h=28 w=28 k=32 groups=32 pad=1 layout=nchw", false, false}, // depthwise
		{"c=1 h=32 w=32 k=40 r=7 pad=3 layout=nchw", true, false},
		{"c=1 h=64 w=64 k=8 pad=1 layout=nchw", false, false},
		{"c=1 h=7 w=7 k=32 pad=1 layout=nchw", false, false},
		{"c=8 h=28 w=28 k=8 groups=2 r=1 stride=5 layout=nchw", false, false},
	} {
		kernelsTake(t, "planes", c.shape, func(kernel string) bool { return c.wins && !(c.wide && strings.Contains(kernel, "avx2")) })
	}
}
