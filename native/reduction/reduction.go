//go:build cgo && linux

// Package reduction holds the CPU kernels of sums, extrema, softmax and norms.
package reduction

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

// Family is the reduction family.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "reduction",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_reduction_table()), int(C.ridge_reduction_table_len())),
		Bind:    bind,
		Around:  func(args unsafe.Pointer, bytes int64) { (*C.ridge_reduction_args)(args).around = C.int64_t(bytes) },
	}
}

func bind(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	code := slices.Index(op.ReductionOps, o.Name())
	if code < 0 {
		return nil, fmt.Errorf("op %s is not a reduction", o.Name())
	}
	p := kernel.Alloc(C.sizeof_ridge_reduction_args)
	g := (*C.ridge_reduction_args)(p)
	g.op = C.int32_t(code)
	switch r := o.(type) {
	case *op.Reduction:
		g.rows, g.cols, g.dim = C.int64_t(r.Rows), C.int64_t(r.Cols), C.int32_t(r.Dim)
	case *op.Argmax:
		g.rows, g.cols, g.dim = C.int64_t(r.Rows), C.int64_t(r.Cols), C.int32_t(r.Dim)
	case *op.Norm:
		g.rows, g.cols, g.dim, g.eps = C.int64_t(r.Rows), C.int64_t(r.Cols), C.int32_t(r.Dim), C.double(r.Eps)
	case *op.AddNorm:
		g.rows, g.cols, g.dim, g.eps = C.int64_t(r.Rows), C.int64_t(r.Cols), 1, C.double(r.Eps)
	default:
		kernel.Free(p)
		return nil, fmt.Errorf("bind op %s: it is a %T, expected *op.Reduction, *op.Argmax, *op.Norm or *op.AddNorm", o.Name(), o)
	}
	for _, b := range bufs {
		switch b.Tensor.Name {
		case "x":
			g.x = b.Ptr
		case "r":
			g.r = b.Ptr
		case "z":
			g.z = b.Ptr
		case "gamma":
			g.gamma = b.Ptr
		case "beta":
			g.beta = b.Ptr
		case "y":
			g.y = b.Ptr
		}
	}
	return p, nil
}
