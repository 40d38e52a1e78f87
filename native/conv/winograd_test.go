//go:build cgo && linux

package conv_test

import (
	"fmt"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/conv"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

// shapes of the Winograd kernels (multiples of 16 and 32 channels), in both layouts: whole and cut tiles, paddings of 0 and
// 1, more tiles than a block, enough of them that threads share none, a remainder of rows in the register tile, all epilogues.
var winograd = []string{
	"n=1 c=64 h=12 w=13 k=32 pad=1", "n=3 c=80 h=8 w=9 k=32 pad=0", "n=1 c=320 h=27 w=39 k=32 pad=1",
	"n=1 c=64 h=11 w=21 k=32 pad=1 bias=1 act=relu residual=1", "n=4 c=64 h=25 w=27 k=32 pad=1", "n=1 c=64 h=15 w=12 k=96 pad=1 bias=1 act=gelu",
	"n=1 c=80 h=7 w=7 k=64 pad=1 bias=1 act=relu",
	"n=1 c=64 h=32 w=23 k=32 stride=2 pad=1", "n=3 c=80 h=17 w=20 k=32 stride=2 pad=0", "n=1 c=320 h=53 w=77 k=32 stride=2 pad=1",
	"n=1 c=64 h=29 w=43 k=96 stride=2 pad=1 bias=1 act=relu residual=1", "n=8 c=64 h=55 w=58 k=32 stride=2 pad=1", "n=3 c=80 h=14 w=14 k=64 stride=2 pad=1 bias=1 act=gelu",
	// panels of 64 filters, two of them, and more tiles than a block of theirs
	"n=4 c=64 h=25 w=27 k=64 pad=1 bias=1 act=relu residual=1", "n=1 c=208 h=29 w=41 k=128 pad=1", "n=1 c=112 h=53 w=77 k=64 stride=2 pad=1 bias=1 act=relu residual=1", "n=2 c=64 h=25 w=21 k=128 stride=2 pad=0",
}

// Every end of the Winograd kernels in both layouts, at every number of columns and rows in the last tile: one tile across, a last row shorter
// than a vector, rows longer than a stretch of tiles, sub-blocks that end within a row.
func TestWinogradEndsMatchTheExpectation(t *testing.T) {
	ends := []string{"", "bias=1", "act=relu", "bias=1 act=relu", "residual=1", "bias=1 residual=1", "act=relu residual=1", "bias=1 residual=1 act=relu",
		"act=silu", "bias=1 residual=1 act=gelu"}
	sizes := []string{"n=12 h=4 w=4", "n=6 h=5 w=4", "n=2 h=14 w=14", "n=2 h=13 w=13", "n=2 h=15 w=15", "n=2 h=16 w=16", "n=1 h=5 w=71", "n=1 h=6 w=66 pad=0",
		"n=1 h=16 w=64", "n=1 h=4 w=231", "n=1 h=97 w=4", "n=1 h=7 w=7 packed=1", "n=1 h=8 w=11", "n=2 h=5 w=9",
		"n=3 h=7 w=6", "n=1 h=23 w=7",
		"n=12 h=8 w=7 stride=2", "n=3 h=10 w=16 stride=2", "n=2 h=28 w=28 stride=2", "n=3 h=13 w=14 stride=2", "n=1 h=31 w=30 stride=2 pad=0", "n=1 h=11 w=131 stride=2",
		"n=1 h=7 w=301 stride=2", "n=1 h=190 w=8 stride=2", "n=3 h=13 w=12 stride=2 pad=0", "n=1 h=18 w=25 stride=2", "n=4 h=6 w=22 stride=2", "n=12 h=5 w=5 stride=2"}
	var list []op.Op
	for i, size := range sizes {
		if !strings.Contains(size, "pad") {
			size += " pad=1"
		}
		for j, end := range ends {
			for l, layout := range []string{"nchw", "nhwc"} {
				if l == 0 && (i+j)%3 == 0 || l == 1 && (i+j)%6 == 1 { // a sample: each end meets several sizes, and each size several ends
					list = append(list, kerneltest.Op(t, "conv2d", []record.DType{record.FP32, record.BF16}[(i+j/2)%2], params(fmt.Sprintf("c=64 k=%d ", 32+32*(i%2))+size+" "+end+" layout="+layout)))
				}
			}
		}
	}
	onKernels(t, "winograd", list)
}

func TestWinogradMatchesTheExpectation(t *testing.T) {
	var list []op.Op
	for i, s := range winograd {
		for l, layout := range []string{"nchw", "nhwc"} {
			for j, d := range []record.DType{record.FP32, record.BF16} {
				if kerneltest.Sparse() && (i+l+j)%2 == 1 {
					continue // the longest list: each shape in one precision a layout
				}
				if layout == "nchw" || !strings.Contains(s, "h=7 w=7") { // which NHWC leaves to direct kernels where filters are not packed beforehand
					list = append(list, kerneltest.Op(t, "conv2d", d, params(s+" layout="+layout)))
				}
				if layout == "nhwc" || strings.Contains(s, "bias") { // filters come to both layouts by code of their own
					list = append(list, kerneltest.Op(t, "conv2d", d, params(s+" packed=1 layout="+layout)))
				}
			}
		}
	}
	onKernels(t, "winograd", list)
}

// The stem: sides that are no multiples of a tile's three outputs, paddings that part a pair of columns, three and four channels, blocks of tiles that a thread
// has beside another, and all ends. Of several images also those that a batch norm leaves, which is in the filters and the bias by then: alone, before a ReLU, and before
// an addition and a ReLU.
func TestWinogradsStemMatchesTheExpectation(t *testing.T) {
	var list []op.Op
	for i, s := range []string{"n=1 c=3 h=224 w=224 k=64 pad=3 bias=1 act=relu", "n=12 c=3 h=8 w=8 k=32 pad=3 residual=1", "n=2 c=3 h=27 w=29 k=32 pad=3 act=silu", "n=1 c=4 h=37 w=31 k=96 pad=2 bias=1",
		"n=1 c=4 h=30 w=61 k=32 pad=1 residual=1 act=relu", "n=1 c=3 h=33 w=34 k=32 pad=0 bias=1", "n=3 c=3 h=16 w=23 k=32 pad=2 bias=1 residual=1 act=gelu", "n=1 c=3 h=8 w=150 k=64 pad=3",
		"n=1 c=3 h=150 w=7 k=32 pad=3 bias=1", "n=1 c=3 h=19 w=260 k=32 pad=1 bias=1 residual=1",
		"n=3 c=3 h=21 w=26 k=64 pad=3 bias=1", "n=3 c=3 h=21 w=26 k=64 pad=3 bias=1 act=relu", "n=3 c=4 h=22 w=25 k=32 pad=3 bias=1 residual=1 act=relu"} {
		for l, layout := range []string{"nchw", "nhwc"} {
			for j, d := range []record.DType{record.FP32, record.BF16} {
				o := s + " r=7 s=7 stride=2 layout=" + layout
				if (i+l+j)%2 == 0 {
					o += " packed=1"
				}
				list = append(list, kerneltest.Op(t, "conv2d", d, params(o)))
			}
		}
	}
	onKernels(t, "winograd", list)
}

// A stem of one or two channels has few products at a corner beside a whole tile's error; few tiles do not pay for their filters.
func TestTheStemsWinogradTakesWhatItsBoundHoldsForAndPays(t *testing.T) {
	for _, c := range []struct {
		shape      string
		wins, dots bool // beside VDPBF16PS
	}{
		{"c=3 h=224 w=224 k=64 pad=3", true, true},
		{"n=2 c=3 h=224 w=224 k=64 pad=3 layout=nhwc packed=1", true, true},
		{"n=4 c=3 h=224 w=224 k=64 pad=3 layout=nhwc packed=1", true, false}, // outputs beyond 4 MiB
		{"c=4 h=224 w=224 k=32 pad=0 layout=nhwc packed=1", true, true},
		{"c=2 h=224 w=224 k=64 pad=3", false, false},
		{"c=1 h=224 w=224 k=64 pad=3", false, false},
		{"c=5 h=224 w=224 k=64 pad=3", false, false},
		{"c=3 h=224 w=224 k=48 pad=3", false, false},
		{"c=3 h=224 w=224 k=64 pad=4", false, false},
		{"c=3 h=17 w=24 k=64 pad=3", true, true}, // 9x12 outputs: 3x4 tiles
		{"c=3 h=17 w=17 k=64 pad=3", false, false},
		{"n=12 c=3 h=3 w=224 k=64 pad=3", false, false},
	} {
		kernelsTake(t, "winograd37s2", "r=7 s=7 stride=2 "+c.shape, func(kernel string) bool {
			if strings.Contains(kernel, "avx512bf16") {
				return c.dots
			}
			return c.wins && !(strings.Contains(kernel, "avx512intel") && strings.Contains(c.shape, "k=32"))
		})
	}
}

// Winograd is left to the direct kernels where its tiles waste too much or are too few, beside those of VDPBF16PS sooner; step 2 has kernels of its own.
func TestWinogradIsChosenWhereItsTilesWasteLittle(t *testing.T) {
	for _, c := range []struct {
		shape             string
		wins, dots, step2 bool
	}{
		{"c=64 h=56 w=56 k=64 pad=1 layout=nhwc", true, true, false},
		{"c=256 h=14 w=14 k=256 pad=1 layout=nhwc packed=1", true, true, false},
		{"c=256 h=14 w=14 k=256 pad=1 layout=nhwc", true, false, false},
		{"c=256 h=14 w=14 k=256 pad=1 layout=nchw", true, true, false},
		{"n=16 c=512 h=7 w=7 k=512 pad=1 layout=nhwc packed=1", true, true, false},
		{"n=16 c=256 h=5 w=5 k=256 pad=1 layout=nhwc packed=1", true, false, false},
		{"c=512 h=7 w=7 k=512 pad=1 layout=nhwc packed=1", true, false, false}, // tiles of 2x2
		{"c=512 h=7 w=7 k=512 pad=1 layout=nhwc", false, false, false},
		{"c=512 h=6 w=6 k=512 pad=1 layout=nhwc packed=1", false, false, false}, // nine of them
		{"c=72 h=56 w=56 k=64 pad=1 layout=nhwc", false, false, false},
		{"c=64 h=56 w=56 k=64 pad=1 stride=2 layout=nhwc", false, false, true},
		{"c=256 h=28 w=28 k=256 pad=1 stride=2 layout=nchw", false, false, true},
		{"c=128 h=17 w=17 k=128 pad=1 stride=2 layout=nhwc packed=1", false, false, false}, // nine tiles
		{"n=2 c=128 h=17 w=17 k=128 pad=1 stride=2 layout=nhwc packed=1", false, false, true},
		{"n=16 c=128 h=9 w=9 k=128 pad=1 stride=2 layout=nhwc packed=1", false, false, false}, // 5x5 outputs: 196 products for 225
		{"c=512 h=14 w=14 k=512 pad=1 stride=2 layout=nhwc packed=1", false, false, false},
		{"n=4 c=512 h=14 w=14 k=512 pad=1 stride=2 layout=nhwc packed=1", false, false, true},
		{"c=72 h=56 w=56 k=64 pad=1 stride=2 layout=nhwc", false, false, false},
	} {
		kernelsTake(t, "winograd43", c.shape, func(kernel string) bool {
			switch {
			case strings.Contains(kernel, "avx512bf16"):
				return c.dots
			case strings.Contains(kernel, "winograd43s2"):
				return c.step2
			}
			return c.wins
		})
	}
}

// On Intel's cores Winograd of step 2 comes before the indirect kernel where filters are few, in fp32 on one thread, without AVX512-FP16 not packed beforehand; elsewhere always.
func TestStepTwoOfWinogradRanksByChannelsAndThreads(t *testing.T) {
	table := func() []kernel.Kernel {
		return []kernel.Kernel{{Name: "conv2d_fp32_avx512_winograd43s2", Rank: 34}, {Name: "conv2d_bf16_avx512_winograd43s2", Rank: 33},
			{Name: "conv2d_fp32_avx512_winograd43", Rank: 34}, {Name: "conv2d_fp32_avx512_winograd43s2_model", Rank: -1}}
	}
	here, slow, icelake := conv.Ranked(table(), 0), conv.Ranked(table(), kerneltest.Feature(t, "avx512fp16")), conv.Ranked(table(), kernel.Intel)
	for _, c := range []struct {
		shape                string
		fp32, fp32Two, wide2 int // on one thread, on two; bf16 on two
	}{
		{"n=16 c=512 h=14 w=14 k=512 pad=1 stride=2 packed=1 layout=nhwc", 31, 31, 31},
		{"n=1 c=256 h=28 w=28 k=256 pad=1 stride=2 packed=1 layout=nhwc", 34, 31, 33},
		{"n=1 c=256 h=28 w=28 k=256 pad=1 stride=2 layout=nhwc", 31, 31, 31},
		{"n=1 c=128 h=56 w=56 k=128 pad=1 stride=2 layout=nchw", 34, 31, 33},
	} {
		o, wide := kerneltest.Op(t, "conv2d", record.FP32, params(c.shape)), kerneltest.Op(t, "conv2d", record.BF16, params(c.shape))
		got := [3]int{slow[0].RankOn(o, 1), slow[0].RankOn(o, 2), slow[1].RankOn(wide, 2)}
		if want := [3]int{c.fp32, c.fp32Two, c.wide2}; got != want {
			t.Errorf("%s: ranks %v, want %v", c.shape, got, want)
		}
		bare := c.fp32
		if strings.Contains(c.shape, "packed=1") {
			bare = 31
		}
		if a, b := icelake[0].RankOn(o, 1), icelake[1].RankOn(wide, 2); a != bare || b != c.wide2 {
			t.Errorf("%s: ranks %d and %d without AVX512-FP16, want %d and %d", c.shape, a, b, bare, c.wide2)
		}
		if here[0].RankOn(o, 2) != 34 || here[1].RankOn(wide, 2) != 33 || slow[2].RankOn(o, 2) != 34 || slow[3].RankOn(o, 2) != -1 {
			t.Errorf("%s: ranks of other cores, of step 1 or of the model changed", c.shape)
		}
	}
}

// On Intel's cores without AVX512-FP16 Winograd by tiles of 6x64 comes before that by 8x32 where it is faster: stems in NHWC, filters packed beforehand, of step 2 few of them or
// many tiles on one thread. Elsewhere it comes behind all.
func TestWinogradByFourVectorsRanksWhereItIsFaster(t *testing.T) {
	table := func() []kernel.Kernel {
		return []kernel.Kernel{{Name: "conv2d_fp32_avx512intel_winograd43", Rank: 31}, {Name: "conv2d_fp32_avx512intel_winograd43_model", Rank: -1}}
	}
	icelake, fp16, other := conv.Ranked(table(), kernel.Intel), conv.Ranked(table(), kernel.Intel|kerneltest.Feature(t, "avx512fp16")), conv.Ranked(table(), 0)
	for _, c := range []struct {
		shape    string
		one, two int
	}{
		{"n=1 c=256 h=14 w=14 k=256 pad=1 packed=1 layout=nchw", 35, 35},
		{"n=1 c=64 h=56 w=56 k=64 pad=1 layout=nhwc", 31, 31},
		{"n=1 c=3 h=224 w=224 k=64 r=7 s=7 stride=2 pad=3 layout=nhwc", 35, 35},
		{"n=1 c=3 h=224 w=224 k=64 r=7 s=7 stride=2 pad=3 packed=1 layout=nchw", 31, 31},
		{"n=1 c=128 h=56 w=56 k=128 pad=1 stride=2 packed=1 layout=nhwc", 35, 31},
		{"n=1 c=128 h=56 w=56 k=128 pad=1 stride=2 layout=nhwc", 31, 31},
		{"n=3 c=256 h=28 w=28 k=256 pad=1 stride=2 packed=1 layout=nhwc", 31, 31},
		{"n=4 c=256 h=28 w=28 k=256 pad=1 stride=2 packed=1 layout=nhwc", 35, 31},
		{"n=16 c=512 h=14 w=14 k=512 pad=1 stride=2 packed=1 layout=nhwc", 31, 31},
	} {
		o := kerneltest.Op(t, "conv2d", record.FP32, params(c.shape))
		if one, two := icelake[0].RankOn(o, 1), icelake[0].RankOn(o, 2); one != c.one || two != c.two {
			t.Errorf("%s: ranks %d and %d on one and two threads, want %d and %d", c.shape, one, two, c.one, c.two)
		}
		if icelake[1].RankOn(o, 1) != -1 || fp16[0].RankOn(o, 1) != 31 || other[0].RankOn(o, 1) != 31 {
			t.Errorf("%s: ranks of a model or on other cores changed", c.shape)
		}
	}
}
