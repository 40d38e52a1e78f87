//go:build cgo && linux

package conv_test

import (
	"fmt"
	"math"
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

// planes: NCHW depthwise that reads rows where they lie: rows shorter and longer than the groups of columns of all vector widths, a last group that
// overlaps, one that begins in padding, rows beyond the ends of x, blocks of 4, 2 and 1 rows, bands of a plane, two outputs per channel, all epilogues.
var planes = []string{
	"n=2 c=3 h=7 w=7 k=3 pad=1 bias=1 act=relu residual=1", "n=1 c=5 h=14 w=14 k=5 pad=1 residual=1", "n=1 c=3 h=6 w=35 k=6 pad=1 bias=1 act=gelu",
	"n=1 c=2 h=1 w=1 k=2 pad=1", "n=1 c=4 h=2 w=3 k=4 pad=2 bias=1", "n=1 c=2 h=9 w=18 k=2", "n=1 c=1 h=19 w=33 k=1 pad=1 act=relu", "n=1 c=7 h=3 w=70 k=7 pad=3",
	"n=1 c=3 h=15 w=15 k=3 stride=2 pad=1 bias=1 act=relu", "n=1 c=4 h=14 w=14 k=4 stride=2", "n=1 c=2 h=33 w=67 k=2 stride=2 pad=1 residual=1", "n=1 c=5 h=7 w=8 k=5 stride=2 pad=2",
	"n=1 c=3 h=7 w=7 k=3 r=5 pad=2", "n=1 c=4 h=14 w=14 k=4 r=5 pad=2 bias=1 act=relu residual=1", "n=1 c=2 h=9 w=40 k=2 r=5 pad=1", "n=1 c=2 h=3 w=2 k=2 r=5 pad=4",
	"n=1 c=3 h=14 w=14 k=3 r=5 stride=2 pad=2 bias=1", "n=1 c=2 h=11 w=37 k=2 r=5 stride=2 pad=2 residual=1 act=silu", "n=3 c=2 h=5 w=5 k=2 r=5 stride=2",
}

func depthwiseOp(t *testing.T, d record.DType, text string) op.Op {
	p := params(text)
	p["groups"] = p["c"]
	if !d.Float() && p["requant"] == "" {
		delete(p, "act")
	}
	return kerneltest.Op(t, "conv2d", d, p)
}

func TestDepthwisePlanesMatchTheExpectation(t *testing.T) {
	var list []op.Op
	for _, text := range planes {
		for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
			list = append(list, depthwiseOp(t, d, text))
		}
		if !strings.Contains(text, "residual") && !strings.Contains(text, "gelu") {
			list = append(list, depthwiseOp(t, record.INT8, text+" requant=1"))
		}
	}
	kerneltest.All(t, native.New(), list)
}

// window calls f with every pixel of the window of output (ho, wo).
func window(c *op.Conv, ho, wo int64, f func(h, w int64)) {
	for r := range c.R {
		for s := range c.S {
			h, w := ho*c.Stride-c.Pad+r, wo*c.Stride-c.Pad+s
			if h >= 0 && h < c.H && w >= 0 && w < c.W {
				f(h, w)
			}
		}
	}
}

// onDepthwise runs every kernel that takes the shape and hands each output of NCHW or NHWC to check.
func onDepthwise(t *testing.T, d record.DType, text string, set func(c *op.Conv, name string, p unsafe.Pointer, n int64), check func(c *op.Conv, k, ho, wo int64, got []byte) string) {
	t.Helper()
	for _, layout := range []string{"nchw", "nhwc"} {
		c := depthwiseOp(t, d, text+" layout="+layout).(*op.Conv)
		size := int(c.Tensors()[2].DType.Size())
		ran := 0
		for _, kern := range conv.Family().Kernels {
			if !kern.Implements("conv2d", d) || !kernel.Detect().Has(kern.ISA) {
				continue
			}
			y, ok := onChosen(t, kern, c, func(name string, p unsafe.Pointer, n int64) { set(c, name, p, n) })
			if !ok {
				continue
			}
			ran++
			for i := range int64(len(y) / size) {
				k, pixel := i/(c.Ho*c.Wo), i%(c.Ho*c.Wo)
				if c.NHWC {
					k, pixel = i%c.K, i/c.K
				}
				if why := check(c, k, pixel/c.Wo, pixel%c.Wo, y[int(i)*size:int(i+1)*size]); why != "" {
					t.Errorf("%s %s %s layout=%s: channel %d, row %d, column %d: %s", kern.Name, d, text, layout, k, pixel/c.Wo, pixel%c.Wo, why)
					break
				}
			}
		}
		if ran < 2 {
			t.Errorf("%s layout=%s: %d kernels ran", text, layout, ran)
		}
	}
}

// One pixel of the middle channel is not a number (with each payload that rounding could carry away) or infinite: so are the outputs that see it, and no other, be
// it the neighbour of an edge in memory.
func TestDepthwiseHandsOnWhatIsNoNumberToTheOutputsThatSeeIt(t *testing.T) {
	const channel = 1
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, shape := range []string{"r=3 h=6 w=9", "r=3 h=4 w=37", "r=3 stride=2 h=7 w=21", "r=5 h=5 w=7", "r=5 stride=2 h=7 w=40"} {
			for i, bits := range []uint32{0x7fc00000, 0x7f810000, 0x7fff0000, 0xff810000, 0xffff0000, 0x7f800000, 0xff800000} {
				for _, at := range []int{i % 4, (i + 2) % 4} { // a corner, and another or the middle
					pixel := func(c *op.Conv) (h, w int64) {
						return []int64{0, c.H - 1, c.H / 2, 0}[at], []int64{0, c.W - 1, c.W / 2, c.W - 1}[at]
					}
					set := func(c *op.Conv, name string, p unsafe.Pointer, n int64) {
						for i := range n {
							op.Encode(d, unsafe.Slice((*byte)(p), n*d.Size())[i*d.Size():], 1)
						}
						if name != "x" {
							return
						}
						h, w := pixel(c)
						i := (channel*c.H+h)*c.W + w
						if c.NHWC {
							i = (h*c.W+w)*c.C + channel
						}
						if d == record.FP32 {
							unsafe.Slice((*uint32)(p), n)[i] = bits
						} else {
							unsafe.Slice((*uint16)(p), n)[i] = uint16(bits >> 16)
						}
					}
					check := func(c *op.Conv, k, ho, wo int64, got []byte) string {
						h, w := pixel(c)
						want := 0.0
						window(c, ho, wo, func(i, j int64) {
							if k == channel && i == h && j == w {
								want += float64(math.Float32frombits(bits))
							} else {
								want++
							}
						})
						if v := op.Decode(d, got); v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
							return fmt.Sprintf("%g where x holds %#x at (%d, %d), want %g", v, bits, h, w, want)
						}
						return ""
					}
					onDepthwise(t, d, shape+" n=1 c=3 k=3 pad=1", set, check)
				}
			}
		}
	}
}

// Bytes at the ends of their range: no pair of products leaves the 16 or 32 bits that a kernel adds in.
func TestDepthwiseAddsTheLargestBytesExactly(t *testing.T) {
	for _, shape := range []string{"r=3 h=6 w=37", "r=3 stride=2 h=7 w=21", "r=5 h=5 w=18", "r=5 stride=2 h=9 w=40"} {
		for _, values := range [][2]int8{{-128, -128}, {127, -128}, {-128, 127}, {127, 127}} {
			set := func(_ *op.Conv, name string, p unsafe.Pointer, n int64) {
				v, ok := map[string]int8{"x": values[0], "w": values[1]}[name]
				for i := range n {
					if ok {
						unsafe.Slice((*int8)(p), n)[i] = v
					}
				}
			}
			check := func(c *op.Conv, _, ho, wo int64, got []byte) string {
				want := int32(0)
				window(c, ho, wo, func(_, _ int64) { want += int32(values[0]) * int32(values[1]) })
				if v := int32(op.Decode(record.INT32, got)); v != want {
					return fmt.Sprintf("%d, want %d", v, want)
				}
				return ""
			}
			onDepthwise(t, record.INT8, shape+" n=1 c=3 k=3 pad=1", set, check)
		}
	}
}
