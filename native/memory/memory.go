//go:build cgo && linux

// Package memory holds the CPU kernels that move data: copies, transposes, fills, the STREAM
// kernels, dot and axpy, layout conversions, the pointer chase and the bandwidth probe.
package memory

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#cgo nomodels CFLAGS: -DRIDGE_WITHOUT_MODELS
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

// Family is the memory family.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "memory",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_memory_table()), int(C.ridge_memory_table_len())),
		Bind:    bind,
		Around:  func(args unsafe.Pointer, bytes int64) { (*C.ridge_memory_args)(args).around = C.int64_t(bytes) },
	}
}

func bind(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	p := kernel.Alloc(C.sizeof_ridge_memory_args)
	a := (*C.ridge_memory_args)(p)
	a.s, a.rows = op.StreamScalar, 1
	switch m := o.(type) {
	case *op.Stream:
		a.n = C.int64_t(m.N)
	case *op.Transpose:
		a.n, a.rows, a.cols, a.images = C.int64_t(m.Items()), C.int64_t(m.Rows), C.int64_t(m.Cols), 1
	case *op.Layout:
		rows, cols := m.Matrix()
		a.n, a.rows, a.cols, a.images = C.int64_t(m.Items()), C.int64_t(rows), C.int64_t(cols), C.int64_t(m.N)
	case *op.Dot:
		a.n = C.int64_t(m.N)
	case *op.Chase:
		a.n, a.steps = C.int64_t(m.Lines*op.ChaseStride), C.int64_t(m.Steps)
	case *op.Bandwidth:
		a.n, a.steps, a.access = C.int64_t(m.N), C.int64_t(m.Passes), C.int32_t(slices.Index(op.Accesses, m.Access))
	default:
		kernel.Free(p)
		return nil, fmt.Errorf("op %s is not of the memory family", o.Name())
	}
	if a.cols == 0 && a.rows == 1 {
		a.cols = a.n
	}
	for _, b := range bufs {
		a.working_set += C.int64_t(b.Tensor.StorageBytes())
		switch b.Tensor.Name {
		case "a":
			a.a = b.Ptr
		case "b":
			a.b = b.Ptr
		case "y":
			a.y = b.Ptr
		}
	}
	return p, nil
}
