//go:build cgo && linux

// Package conv holds the CPU kernels of the op conv2d.
package conv

/*
#cgo CFLAGS: -O3 -Wall -Wno-psabi -I${SRCDIR}/../include -DRIDGE_STAMP=57c159f8bf6f
#cgo LDFLAGS: -lm
#include "table.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"ridge/goharness/op"
	"ridge/native/kernel"
)

// Family is the convolution family.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "conv",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_conv_table()), int(C.ridge_conv_table_len())),
		Bind:    Bind,
	}
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
