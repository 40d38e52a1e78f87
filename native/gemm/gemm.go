//go:build cgo && linux

// Package gemm holds the CPU kernels of the ops gemm, linear and gemv.
package gemm

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=e863b37b1754
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

// Family is the gemm family.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "gemm",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_gemm_table()), int(C.ridge_gemm_table_len())),
		Bind:    bind,
	}
}

func bind(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	if v, ok := o.(*op.Gemv); ok {
		return bindGemv(v, bufs), nil
	}
	g, ok := o.(*op.Gemm)
	if !ok {
		return nil, fmt.Errorf("op %s is neither a GEMM nor a GEMV", o.Name())
	}
	p := kernel.Alloc(C.sizeof_ridge_gemm_args)
	a := (*C.ridge_gemm_args)(p)
	a.M, a.N, a.K = C.int64_t(g.M), C.int64_t(g.N), C.int64_t(g.K)
	a.alpha, a.beta = C.double(g.Alpha), C.double(g.Beta)
	a.act = C.int32_t(slices.Index(op.Activations, g.Act))
	if g.TransB {
		a.trans_b = 1
	}
	for _, b := range bufs {
		ld := C.int64_t(b.Tensor.LD())
		switch b.Tensor.Name {
		case "a":
			a.A, a.lda = b.Ptr, ld
		case "b":
			a.B, a.ldb = b.Ptr, ld
		case "c":
			a.C, a.ldc = b.Ptr, ld
		case "d":
			a.D, a.ldd = b.Ptr, ld
		case "bias":
			a.bias = b.Ptr
		}
	}
	return p, nil
}

// bindGemv sees y = A·x as the one row yᵀ = xᵀ·Aᵀ of a GEMM with transposed B.
func bindGemv(v *op.Gemv, bufs []kernel.Buffer) unsafe.Pointer {
	p := kernel.Alloc(C.sizeof_ridge_gemm_args)
	a := (*C.ridge_gemm_args)(p)
	a.M, a.N, a.K = 1, C.int64_t(v.M), C.int64_t(v.N)
	a.alpha, a.trans_b = 1, 1
	for _, b := range bufs {
		switch b.Tensor.Name {
		case "x":
			a.A, a.lda = b.Ptr, C.int64_t(v.N)
		case "a":
			a.B, a.ldb = b.Ptr, C.int64_t(b.Tensor.LD())
		case "y":
			a.C, a.ldc = b.Ptr, C.int64_t(v.M)
		}
	}
	return p
}
