//go:build cgo && linux

// Package elementwise holds the CPU kernels of the ops that treat each element alone:
// arithmetic, activations, and bias, batch norm and requantisation per channel.
package elementwise

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
	"unsafe"

	"ridge/goharness/op"
	"ridge/native/kernel"
)

// Family is the elementwise family.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "elementwise",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_elementwise_table()), int(C.ridge_elementwise_table_len())),
		Bind:    bind,
		Around:  func(args unsafe.Pointer, bytes int64) { (*C.ridge_elementwise_args)(args).around = C.int64_t(bytes) },
	}
}

func bind(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	code := slices.Index(op.ElementwiseOps, o.Name())
	if code < 0 {
		return nil, fmt.Errorf("op %s is not elementwise", o.Name())
	}
	p := kernel.Alloc(C.sizeof_ridge_elementwise_args)
	g := (*C.ridge_elementwise_args)(p)
	g.op = C.int32_t(code)
	var l op.ChannelLayout
	switch e := o.(type) {
	case *op.Elementwise:
		l, g.s = e.Layout(), C.double(e.Factor)
	case *op.PerChannel:
		l, g.s = e.Layout(), C.double(e.Eps)
	case *op.Requantize:
		l, g.s = e.Layout(), -128
		if e.Act == "relu" {
			g.s = 0
		}
	default:
		kernel.Free(p)
		return nil, fmt.Errorf("bind op %s: it is a %T, expected *op.Elementwise, *op.PerChannel or *op.Requantize", o.Name(), o)
	}
	g.outer, g.channels, g.inner = C.int64_t(l.Outer), C.int64_t(l.Channels), C.int64_t(l.Inner)
	g.n = C.int64_t(l.Outer * l.Channels * l.Inner)
	for _, b := range bufs {
		switch b.Tensor.Name {
		case "a":
			g.a = b.Ptr
		case "b":
			g.b = b.Ptr
		case "bias", "gamma", "scale":
			g.p[0] = b.Ptr
		case "beta":
			g.p[1] = b.Ptr
		case "mean":
			g.p[2] = b.Ptr
		case "variance":
			g.p[3] = b.Ptr
		case "y":
			g.y = b.Ptr
		}
	}
	return p, nil
}
