//go:build cgo && linux

package conv_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/conv"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

// params parses "n=1 c=3 ...".
func params(text string) map[string]string {
	p := map[string]string{}
	for _, f := range strings.Fields(text) {
		k, v, _ := strings.Cut(f, "=")
		p[k] = v
	}
	return p
}

// ended is a shape with the end that a precision has: sums of integers have no activation.
func ended(d record.DType, shape string) string {
	if d.Float() {
		return shape
	}
	return strings.NewReplacer(" act=relu", "", " act=gelu", "").Replace(shape)
}

// shapes covers strides, padding, dilation, groups, kernel sizes and channel counts around
// every tile edge (6, 8, 16, 48), in images smaller and larger than a vector.
var shapes = []string{
	"n=1 c=1 h=1 w=1 k=1 r=1", "n=0 c=3 h=5 w=5 k=4", "n=1 c=3 h=11 w=13 k=7 pad=1", "n=2 c=5 h=9 w=7 k=13 stride=2 pad=1",
	"n=1 c=4 h=12 w=12 k=9 r=1", "n=2 c=17 h=7 w=7 k=33 r=1", "n=2 c=8 h=14 w=14 k=6 r=1 stride=2", "n=1 c=6 h=10 w=23 k=8 r=5 pad=2",
	"n=1 c=3 h=19 w=21 k=10 r=7 stride=2 pad=3", "n=1 c=4 h=13 w=11 k=5 dilation=2 pad=2", "n=2 c=6 h=8 w=9 k=4 groups=2 pad=1",
	"n=1 c=12 h=9 w=9 k=24 groups=4 pad=1 stride=2", "n=1 c=3 h=6 w=17 k=14 r=1 s=5", "n=1 c=40 h=6 w=6 k=19 pad=1",
	"n=3 c=2 h=3 w=3 k=17 pad=1", "n=1 c=2 h=4 w=4 k=3 r=3 pad=3", "n=1 c=300 h=3 w=5 k=7 r=1", "n=1 c=33 h=4 w=9 k=50 pad=1",
	"n=1 c=300 h=7 w=7 k=19 r=1 bias=1", // one last pixel on every width of vector, two blocks of the reduction
	"n=1 c=2 h=9 w=40 k=3 r=2 s=3 stride=3 pad=1", "n=1 c=1 h=20 w=33 k=2 r=3 pad=1",
	// Full panels: more blocks of pixels than threads, incomplete units of channels, few taps, padded pixels, long filters.
	"n=1 c=36 h=21 w=20 k=64 pad=1", "n=1 c=36 h=21 w=20 k=64 pad=1 residual=1", "n=1 c=35 h=10 w=9 k=64 r=2 pad=1", "n=1 c=35 h=10 w=9 k=64 r=2",
	"n=1 c=3 h=45 w=47 k=70 r=7 stride=2 pad=3", "n=1 c=3 h=45 w=47 k=70 r=7 stride=2 pad=3 bias=1", "n=1 c=30 h=9 w=7 k=33 pad=1", "n=1 c=72 h=9 w=7 k=48 pad=1",
	// Stems: tiles within a row, across rows and images, at every edge; rows shorter than a window, a step wider than the window, wide padding.
	"n=2 c=3 h=29 w=30 k=64 r=7 stride=2 pad=3 bias=1", "n=2 c=1 h=9 w=17 k=64 r=3 pad=1", "n=1 c=5 h=23 w=31 k=65 r=2 s=3 stride=4", "n=2 c=3 h=40 w=33 k=17 r=5 pad=4",
	"n=1 c=3 h=3 w=2 k=16 r=5 pad=4", "n=1 c=4 h=9 w=41 k=64 r=4 s=2 stride=3 pad=1",
}

// tiles: shapes of the matrix tiles' kernels (NHWC, whole units of 32 and 64 channels and parts of them): 1x1 in place, of a group, with padding, with a
// step; fewer pixels than a tile and than two; groups of one, two and three tiles; windows of several images whose tiles go over a row's end and whose do not,
// several windows, steps, dilation, groups; stems; panels of several chunks.
var tiles = []string{
	"n=1 c=64 h=7 w=9 k=64 r=1 bias=1 act=relu", "n=1 c=64 h=3 w=5 k=40 r=1", "n=2 c=128 h=5 w=5 k=96 groups=2 r=1 residual=1", "n=1 c=64 h=6 w=8 k=33 r=1 pad=1 bias=1",
	"n=1 c=96 h=9 w=14 k=64 r=1 stride=2", "n=1 c=64 h=1 w=17 k=32 r=1", "n=1 c=72 h=7 w=16 k=48 r=1 residual=1 bias=1 act=relu",
	"n=3 c=64 h=7 w=7 k=32 pad=1 bias=1", "n=2 c=64 h=6 w=33 k=48 pad=1", "n=1 c=512 h=27 w=20 k=32 pad=1", "n=2 c=64 h=9 w=14 k=32 pad=1 stride=2 bias=1 act=relu",
	"n=1 c=64 h=13 w=9 k=32 dilation=2 pad=2", "n=1 c=128 h=6 w=7 k=64 groups=2 pad=1 act=relu", "n=2 c=3 h=21 w=33 k=64 r=7 stride=2 pad=3 bias=1 act=relu",
	"n=1 c=64 h=9 w=10 k=32 stride=4 pad=1", "n=1 c=512 h=4 w=5 k=1400 r=1 bias=1 act=gelu", "n=2 c=640 h=3 w=3 k=160 pad=1",
}

func TestTilesMatchTheExpectation(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("matrix tiles are x86-64's")
	}
	var list []op.Op
	for _, d := range []record.DType{record.BF16, record.INT8} {
		for i, s := range tiles {
			s = ended(d, s) + " layout=nhwc"
			list = append(list, kerneltest.Op(t, "conv2d", d, params(s)))
			if i%2 == 0 {
				list = append(list, kerneltest.Op(t, "conv2d", d, params(s+" packed=1")))
			}
			if !d.Float() && !strings.Contains(s, "residual") {
				list = append(list, kerneltest.Op(t, "conv2d", d, params(s+" requant=1"+[]string{"", " act=relu"}[i%2])))
			}
		}
	}
	b := kerneltest.Only(native.New(), "amx")
	if len(kerneltest.Names(b, list[0])) == 0 {
		b = kerneltest.Only(native.New(), "indirect") // a machine without tiles has one of these to run
	}
	kerneltest.All(t, b, list)
}

// depthwise: groups = c, with one and with two outputs per channel.
var depthwise = []string{
	"n=1 c=3 h=9 w=21 k=3 groups=3 pad=1", "n=2 c=17 h=7 w=7 k=17 groups=17 pad=1 stride=2", "n=1 c=8 h=12 w=31 k=8 groups=8 r=5 pad=2",
	"n=1 c=5 h=8 w=19 k=10 groups=5 pad=1", "n=1 c=33 h=10 w=10 k=33 groups=33 dilation=2 pad=2", "n=1 c=4 h=5 w=40 k=4 groups=4 r=1",
	// NCHW: rows in place between the first and the last plane, a vector that sees padding before the last one, blocks of 4, 2 and 1 rows; phases of steps.
	"n=1 c=5 h=7 w=31 k=5 groups=5 pad=2 bias=1", "n=2 c=3 h=8 w=18 k=6 groups=3", "n=1 c=4 h=11 w=34 k=4 groups=4 r=5 pad=2 stride=2 bias=1",
	"n=1 c=4 h=1 w=33 k=4 groups=4 pad=1 stride=2 residual=1", "n=1 c=3 h=11 w=17 k=3 groups=3 r=4 s=2 pad=2 stride=3", "n=1 c=5 h=9 w=16 k=5 groups=5 pad=1 residual=1",
}

// channelwise: depthwise in both layouts with more channels than a cache line and remainders of channels and outputs,
// steps, dilation, large kernels, rows shorter than a block, several images, all epilogues.
var channelwise = []string{
	"n=2 c=37 h=5 w=16 k=37 groups=37 pad=1", "n=1 c=48 h=6 w=37 k=48 groups=48 r=5 pad=2 stride=2", "n=1 c=32 h=9 w=22 k=32 groups=32 r=7 pad=3",
	"n=1 c=40 h=9 w=8 k=40 groups=40 dilation=2 pad=2 bias=1 act=relu residual=1", "n=1 c=19 h=7 w=30 k=19 groups=19 stride=3 bias=1",
	"n=1 c=5 h=7 w=31 k=5 groups=5 pad=2 bias=1 act=relu",
}

// blocks: the depthwise blocks, which are NHWC's alone: chunks of channels with remainders, pairs of rows and single ones, no edge,
// one, two, fewer outputs than a block, 2 KiB of channels, steps, dilation, large kernels, wide padding, several images, all epilogues.
var blocks = []string{
	"n=2 c=33 h=5 w=29 k=33 groups=33 pad=1 bias=1 act=relu residual=1", "n=1 c=512 h=3 w=17 k=512 groups=512 pad=1 bias=1", "n=1 c=33 h=6 w=31 k=33 groups=33 r=5 pad=2",
	"n=1 c=35 h=7 w=33 k=35 groups=35 pad=1 stride=2 residual=1", "n=1 c=9 h=4 w=3 k=9 groups=9 pad=3", "n=1 c=7 h=5 w=6 k=7 groups=7 pad=2", "n=1 c=1 h=6 w=11 k=1 groups=1 r=5 pad=2",
	"n=1 c=8 h=2 w=15 k=8 groups=8 pad=0 r=2 s=3", "n=1 c=9 h=9 w=12 k=9 groups=9 stride=2 dilation=2 r=2 s=5 pad=1",
}

// long: reductions of several slabs (in taps, in channels), rows longer than a block of pixels.
var long = []string{
	"n=1 c=300 h=2 w=3 k=17 pad=1", "n=1 c=4700 h=1 w=2 k=17 r=1 bias=1", "n=1 c=520 h=2 w=2 k=16 pad=1",
	"n=1 c=2 h=1 w=900 k=17 pad=1", "n=1 c=3 h=2 w=801 k=16 r=2 s=7 pad=1 stride=2",
}

var epilogues = []string{
	"n=1 c=5 h=9 w=9 k=11 pad=1 bias=1", "n=2 c=3 h=7 w=10 k=8 r=1 residual=1", "n=1 c=4 h=6 w=20 k=7 pad=1 bias=1 residual=1",
	"n=1 c=9 h=8 w=8 k=9 groups=9 pad=1 bias=1 residual=1",
}

// ops makes every shape in alternating layouts, the even ones in NCHW for fp32 and int8 and in
// NHWC for bf16: each shape meets both layouts, in precisions that share their code.
func ops(t *testing.T, d record.DType, lists ...[]string) []op.Op {
	var out []op.Op
	for i, s := range slices.Concat(lists...) {
		layout := "nchw"
		if (i%2 == 0) == (d == record.BF16) {
			layout = "nhwc"
		}
		out = append(out, kerneltest.Op(t, "conv2d", d, params(s+" layout="+layout)))
	}
	return out
}

func TestConvKernelsMatchTheExpectation(t *testing.T) {
	for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
		list := ops(t, d, shapes, depthwise, epilogues)
		if d.Float() {
			for _, act := range op.Activations[1:] {
				list = append(list, ops(t, d, []string{"n=1 c=4 h=7 w=9 k=10 pad=1 bias=1 residual=1 act=" + act,
					"n=1 c=9 h=7 w=9 k=9 groups=9 pad=1 bias=1 act=" + act})...)
			}
		}
		kerneltest.All(t, native.New(), list)
	}
}

func TestConvKernelsMatchInBothLayouts(t *testing.T) {
	var list []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
		for _, s := range slices.Concat(channelwise, long) {
			for _, layout := range []string{"nchw", "nhwc"} {
				list = append(list, kerneltest.Op(t, "conv2d", d, params(ended(d, s)+" layout="+layout)))
			}
		}
		for _, s := range blocks {
			list = append(list, kerneltest.Op(t, "conv2d", d, params(ended(d, s)+" layout=nhwc")))
		}
	}
	kerneltest.All(t, native.New(), list)
}

// A reduction longer than one block and more channels than one block of rows.
func TestConvKernelsSplitLongReductionsAndManyChannels(t *testing.T) {
	var list []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
		list = append(list, ops(t, d, []string{"n=1 c=131 h=3 w=4 k=27 pad=1 bias=1", "n=1 c=2 h=3 w=8 k=601 pad=1"})...)
	}
	kerneltest.All(t, native.New(), list)
}

// Where VDPBF16PS is slow (cores with AVX512-FP16) the kernels that widen to fp32 come first.
func TestBF16DotProductsRankByTheCoresThatRunThemWell(t *testing.T) {
	kerneltest.NeedModels(t) // on arm64 only the model has the name
	slow := kerneltest.Feature(t, "avx512fp16")
	dots := 0
	for _, c := range []struct {
		name  string
		have  kernel.Mask
		above bool
	}{{"Zen 4", 0, true}, {"Sapphire Rapids", slow, false}} {
		table := []kernel.Kernel{{Name: "conv2d_bf16_avx512_indirect", Rank: 32}, {Name: "conv2d_bf16_avx512", Rank: 30},
			{Name: "conv2d_bf16_avx512bf16_indirect", Rank: 34}, {Name: "conv2d_bf16_avx512bf16_indirect_model", Rank: -1}}
		got := conv.Ranked(table, c.have)
		if above := got[2].Rank > got[0].Rank; above != c.above || above != (got[2].Rank > got[1].Rank) || got[3].Rank != -1 {
			t.Errorf("%s: ranks %d, %d, %d, %d", c.name, got[0].Rank, got[1].Rank, got[2].Rank, got[3].Rank)
		}
	}
	for _, k := range conv.Family().Kernels { // or the rank would silently stay
		if strings.HasPrefix(k.Name, "conv2d_bf16_avx512bf16_indirect") {
			dots++
		}
	}
	if dots == 0 {
		t.Error("no kernel has the name")
	}
}

// Tiles of 6x64 in fp32 come before those of 7x64 on Intel's cores: for one tap, and without AVX512-FP16 for larger windows packed beforehand, of many outputs.
func TestTilesOfSixPixelsRankByCoreAndWindow(t *testing.T) {
	table := func() []kernel.Kernel {
		return []kernel.Kernel{{Name: "conv2d_fp32_avx512intel_indirect", Rank: 31}, {Name: "conv2d_fp32_avx512intel_indirect_model", Rank: -1}}
	}
	fp16 := kernel.Intel | kerneltest.Feature(t, "avx512fp16")
	for _, c := range []struct {
		core  string
		have  kernel.Mask
		shape string
		want  int
	}{
		{"Zen 4", 0, "n=1 c=64 h=14 w=14 k=64 r=1 s=1 packed=1 layout=nhwc", 31},
		{"Ice Lake", kernel.Intel, "n=1 c=64 h=14 w=14 k=64 r=1 s=1 layout=nhwc", 33},
		{"Ice Lake", kernel.Intel, "n=1 c=64 h=14 w=14 k=64 pad=1 packed=1 layout=nhwc", 33},
		{"Ice Lake", kernel.Intel, "n=1 c=64 h=14 w=14 k=64 pad=1 layout=nhwc", 31},
		{"Ice Lake", kernel.Intel, "n=1 c=64 h=13 w=14 k=64 pad=1 packed=1 layout=nhwc", 31},
		{"Sapphire Rapids", fp16, "n=1 c=64 h=14 w=14 k=64 r=1 s=1 layout=nhwc", 33},
		{"Sapphire Rapids", fp16, "n=1 c=64 h=14 w=14 k=64 pad=1 packed=1 layout=nhwc", 31},
	} {
		o := kerneltest.Op(t, "conv2d", record.FP32, params(c.shape))
		got := conv.Ranked(table(), c.have)
		if got[0].RankOn(o, 1) != c.want || got[1].RankOn(o, 1) != -1 {
			t.Errorf("%s, %s: rank %d, of the model %d; want %d, -1", c.core, c.shape, got[0].RankOn(o, 1), got[1].RankOn(o, 1), c.want)
		}
	}
}

// packed=1: every kernel that packs filters beforehand gives what the definition gives, in both layouts; those that do not say so.
func TestFiltersPackedBeforehandMatchTheExpectation(t *testing.T) {
	var list []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
		for i, s := range slices.Concat(shapes, epilogues, long, given) {
			for l, layout := range []string{"nchw", "nhwc"} {
				if l == i%2 || l == 1 { // NHWC, whose loops differ, always
					list = append(list, kerneltest.Op(t, "conv2d", d, params(ended(d, s)+" packed=1 layout="+layout)))
				}
			}
		}
	}
	kerneltest.All(t, native.New(), list)
}

// given: panels of more than one group that stays in the cache, incomplete panels, groups of channels (of 3x3 and, panel by panel over all pixels, of 1x1), a step, all epilogues; tiles of six pixels at even distances, of rows of taps and of every second pixel; whole tiles of seven pixels
// whose end goes pixel by pixel, of one slab of elements and of several.
var given = []string{
	"n=1 c=640 h=3 w=5 k=247 r=1 bias=1 act=relu residual=1", "n=2 c=24 h=5 w=7 k=70 r=1 stride=2 bias=1 act=gelu",
	"n=1 c=32 h=5 w=5 k=96 groups=2 pad=1 bias=1 act=relu", "n=1 c=1100 h=2 w=3 k=96 r=1",
	"n=2 c=24 h=5 w=7 k=64 groups=2 r=1 bias=1", "n=1 c=3 h=9 w=40 k=32 r=7 stride=2 pad=3 bias=1 act=relu", "n=1 c=9 h=3 w=24 k=48 r=1 stride=2 residual=1", "n=1 c=64 h=2 w=7 k=128 r=1 bias=1 act=relu", "n=1 c=64 h=2 w=7 k=64 r=1 residual=1", "n=1 c=2400 h=1 w=14 k=64 r=1 bias=1 act=relu residual=1",
	"n=1 c=6 h=3 w=14 k=64 r=1 bias=1 act=relu", "n=1 c=2 h=3 w=7 k=64 r=3 pad=1 bias=1 act=gelu",
	// Tiles of five and six pixels one after another: panels that stay in L1 and larger ones, of three and four vectors and both, a last incomplete one, parts of
	// four elements, pixels two apart in one row and in two, the next tile's pixels asked for and the next panels, all epilogues.
	"n=1 c=33 h=7 w=7 k=128 r=1 bias=1 act=relu residual=1", "n=1 c=90 h=5 w=7 k=192 r=1 bias=1 residual=1", "n=1 c=90 h=5 w=7 k=96 r=1 act=relu", "n=2 c=87 h=3 w=8 k=240 r=1",
	"n=1 c=200 h=5 w=6 k=340 r=1 bias=1", "n=1 c=200 h=9 w=13 k=224 r=1 stride=2 bias=1 act=relu residual=1", "n=1 c=640 h=21 w=20 k=128 r=1 bias=1", "n=1 c=3 h=5 w=5 k=64 r=1", "n=1 c=1200 h=5 w=5 k=256 r=1 bias=1 act=relu",
}

// kernelsTake asks the kernels that have name in theirs whether they take a shape of one image, unless it says how many, and holds it against want.
func kernelsTake(t *testing.T, name, shape string, want func(kernel string) bool) {
	t.Helper()
	asked := 0
	for _, k := range conv.Family().Kernels {
		if !strings.Contains(k.Name, name) {
			continue
		}
		asked++
		d := record.FP32
		if strings.Contains(k.Name, "bf16") {
			d = record.BF16
		}
		args, err := conv.Bind(kerneltest.Op(t, "conv2d", d, params("n=1 "+shape)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Supports(args); got != want(k.Name) {
			t.Errorf("%s takes %s: %v, want %v", k.Name, shape, got, want(k.Name))
		}
		kernel.Free(args)
	}
	if asked < 2 {
		t.Fatalf("%d kernels have %s in their names", asked, name)
	}
}

// onKernels runs ops that are there for the kernels with that word in their names: one that these refuse, as shapes below what wins are, would prove nothing.
func onKernels(t *testing.T, word string, list []op.Op) {
	t.Helper()
	for _, o := range list {
		args, err := conv.Bind(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(conv.Family().Kernels, func(k kernel.Kernel) bool {
			return strings.Contains(k.Name, word) && k.Implements(o.Name(), o.DType()) && k.Supports(args)
		}) {
			t.Errorf("no %s kernel takes %v in %s", word, o.Params(), o.DType())
		}
		kernel.Free(args)
	}
	kerneltest.All(t, kerneltest.Only(native.New(), word), list)
}
