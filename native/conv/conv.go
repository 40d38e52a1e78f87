//go:build cgo && linux

// Package conv holds the CPU kernels of the op conv2d.
package conv

/*
#cgo CFLAGS: -O3 -Wall -Wno-psabi -I${SRCDIR}/../include -DRIDGE_STAMP=2acfc3a0d6c2
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
// and 5, but slower than those on Intel's cores with AVX512-FP16. There its kernels rank just below the ones that widen to fp32, and
// Winograd of step 2 in fp32 below the indirect kernel, which reaches 0.95 of the multiply-adds' peak on them (Emerald Rapids, with
// filters as stored and packed beforehand: one thread 0.6 and 0.63 of it at 512 channels, 0.98 and 1.2 at 256, 1.3 and 1.05 at 128;
// two threads 0.51 and 0.83, 0.69 and 0.9, 0.95 and 0.87: what two cores read of the filters' positions from L3 bounds it).
func Ranked(table []kernel.Kernel, have kernel.Mask) []kernel.Kernel {
	if !have.Has(kernel.Mask(C.RIDGE_ISA_AVX512FP16)) {
		return table
	}
	for i, k := range table {
		switch {
		case strings.Contains(k.Name, "_avx512bf16") && k.Rank > 29:
			table[i].Rank = 29
		case strings.HasSuffix(k.Name, "_fp32_avx512_winograd43s2"):
			table[i].Rank = 31
		}
	}
	return table
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
