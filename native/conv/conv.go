//go:build cgo && linux

// Package conv holds the CPU kernels of the op conv2d.
package conv

/*
#cgo CFLAGS: -O3 -Wall -Wno-psabi -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#cgo nomodels CFLAGS: -DRIDGE_WITHOUT_MODELS
#cgo LDFLAGS: -lm
#include "table.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kernel"
)

// Family is the convolution family.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "conv",
		Kernels: Ranked(kernel.Table(unsafe.Pointer(C.ridge_conv_table()), int(C.ridge_conv_table_len())), kernel.Detect()),
		Bind:    Bind,
		Packed:  func(args, at unsafe.Pointer) { (*C.ridge_conv_args)(args).packed = at },
	}
}

// Ranked adapts the ranks of the table to the CPU's features: VDPBF16PS runs twice as fast as fp32 multiply-adds on AMD's Zen 4
// and 5, but slower than those on Intel's cores with AVX512-FP16: there its kernels rank just below the ones that widen to fp32. On all of Intel's cores
// Winograd of step 2 ranks below the indirect kernel but where stepTwoWins, and tiles of 6x64 in fp32 above those of 7x64 where sixWins; without AVX512-FP16 Winograd
// by tiles of 6x64 above that by 8x32 where sixWinsInWinograd.
func Ranked(table []kernel.Kernel, have kernel.Mask) []kernel.Kernel {
	fp16 := have.Has(kernel.Mask(C.RIDGE_ISA_AVX512FP16))
	intel := fp16 || have.Has(kernel.Intel)
	for i, k := range table {
		switch {
		case intel && strings.HasSuffix(k.Name, "_avx512intel_indirect"):
			table[i].RankFor = func(o op.Op, _ int) int {
				if c, ok := o.(*op.Conv); ok && sixWins(c, fp16) {
					return aboveIndirect
				}
				return k.Rank
			}
		case intel && !fp16 && strings.Contains(k.Name, "_avx512intel_winograd") && k.Rank >= 0:
			table[i].RankFor = func(o op.Op, threads int) int {
				if c, ok := o.(*op.Conv); ok && sixWinsInWinograd(c, threads) {
					return aboveWinograd
				}
				return k.Rank
			}
		case fp16 && strings.Contains(k.Name, "_avx512bf16") && k.Rank > belowWide:
			table[i].Rank = belowWide
		case intel && strings.HasSuffix(k.Name, "_avx512_winograd43s2"):
			table[i].RankFor = func(o op.Op, threads int) int {
				if c, ok := o.(*op.Conv); ok && !stepTwoWins(c, threads, fp16) {
					return belowIndirect
				}
				return k.Rank
			}
		}
	}
	return table
}

// Ranks just below the kernels that widen bf16 (30 to 32), just below and above conv2d_*_avx512_indirect (32), and above conv2d_fp32_avx512_winograd* (34).
const belowWide, belowIndirect, aboveIndirect, aboveWinograd = 29, 31, 33, 35

// sixWins is where tiles of 6x64 are ahead of 7x64: windows of one tap; without AVX512-FP16 also others, packed beforehand, of so many outputs that taps
// beyond the image's edge, which 7x64 leaves out, are few. Ice Lake, one thread, of 7x64's speed: one tap 1.15 to 1.5 packed, 1.06 to 1.16 not; 3x3 packed
// of step 1 over 56x56 1.10 to 1.15, 28x28 1.09 to 1.16, 14x14 1.02, in NCHW 1.16 to 1.28, 7x7 0.91 to 0.97, of step 2 to 28x28 1.12, to 14x14 1.13 to 1.17, to
// 7x7 0.94, 5x5 1.05; not packed 0.92 to 0.97. With AVX512-FP16: docs/kernels/conv.md, Emerald Rapids.
func sixWins(c *op.Conv, fp16 bool) bool {
	if c.R*c.S == 1 {
		return true
	}
	return !fp16 && c.Packed && c.Ho*c.Wo >= 14*14
}

// sixWinsInWinograd is where Winograd by tiles of 6x64 is the fastest on Intel's cores without AVX512-FP16 (of which Ice Lake was measured): stems in NHWC, else filters packed beforehand (each kernel's header), of step 2 on one thread where few or where many tiles share them. Ice Lake,
// one thread, packed, of the speed of the indirect kernel by 6x64: 128 channels of 56x56 of step 2 1.05, batch 16 1.12; 256 of 28x28 0.88, batch 4 in NCHW 1.03, 16 1.12; 512 of 14x14 0.48, batch 4 0.87, 16 1.02.
func sixWinsInWinograd(c *op.Conv, threads int) bool {
	switch {
	case c.R == 7:
		return c.NHWC
	case c.Stride == 2:
		tiles := c.N * ((c.Ho + 3) / 4) * ((c.Wo + 3) / 4)
		return c.Packed && threads == 1 && (c.C*c.K <= 1<<14 || c.C*c.K <= 1<<16 && tiles >= 64)
	}
	return c.Packed
}

// stepTwoWins is where Winograd of step 2 by tiles of 8x32 is ahead of the indirect kernel on Intel's cores: of few filters, in fp32 on
// one thread; without AVX512-FP16 in fp32 of filters packed in the call alone: Ice Lake, packed beforehand, has 0.85 to 0.97 of the indirect kernel by 6x64. Emerald Rapids, of the indirect kernel's speed, inputs of 14x14 with 512 channels on both sides, 28x28 with 256, 56x56 with
// 128 (single runs of A B B A):
//
//	fp32, one thread   0.62, 0.98, 1.09 to 1.3; packed beforehand 0.65, 1.18 to 1.2, 1.05 to 1.14
//	fp32, two threads  0.51, 0.69, 0.94 to 0.96; 0.94, 0.9 to 0.93, 0.83 to 0.88
//	bf16, one thread   0.68, 0.94 to 1.13, 1.26; 0.87, 1.27, 1.33
//	bf16, two threads  0.71, 0.75 to 0.92, 0.91; 0.95, 1.09 to 1.1, 1.1
//
// It reads 36 positions of filters for nine taps; that these reads are what holds it back was not measured.
func stepTwoWins(c *op.Conv, threads int, fp16 bool) bool {
	most := int64(1 << 14)
	if c.Packed {
		most = 1 << 16
	}
	return c.C*c.K <= most && (c.D != record.FP32 || threads == 1 && (fp16 || !c.Packed))
}

// Bind makes the C arguments of a convolution.
func Bind(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	c, ok := o.(*op.Conv)
	if !ok {
		return nil, fmt.Errorf("op %s is not a convolution", o.Name())
	}
	p := kernel.Alloc(C.sizeof_ridge_conv_args)
	a := (*C.ridge_conv_args)(p)
	a.N, a.C, a.H, a.W = C.int64_t(c.N), C.int64_t(c.C), C.int64_t(c.H), C.int64_t(c.W)
	a.K, a.R, a.S, a.Ho, a.Wo = C.int64_t(c.K), C.int64_t(c.R), C.int64_t(c.S), C.int64_t(c.Ho), C.int64_t(c.Wo)
	a.stride_h, a.stride_w = C.int64_t(c.Stride), C.int64_t(c.Stride)
	a.pad_h, a.pad_w = C.int64_t(c.Pad), C.int64_t(c.Pad)
	a.dil_h, a.dil_w = C.int64_t(c.Dilation), C.int64_t(c.Dilation)
	a.groups = C.int64_t(c.Groups)
	a.act = C.int32_t(slices.Index(op.Activations, c.Act))
	if c.NHWC {
		a.layout = 1
	}
	if c.Packed {
		a.packing = 1
	}
	for _, b := range bufs {
		switch b.Tensor.Name {
		case "x":
			a.x = b.Ptr
		case "w":
			a.w = b.Ptr
		case "bias":
			a.bias = b.Ptr
		case "residual":
			a.residual = b.Ptr
		case "scale":
			a.scale = (*C.float)(b.Ptr)
		case "y":
			a.y = b.Ptr
		}
	}
	return p, nil
}
