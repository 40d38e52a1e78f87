//go:build cgo && linux

// Package gemm holds the CPU kernels of the ops gemm and linear.
package gemm

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=f0ad99fa670b
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
	g, ok := o.(*op.Gemm)
	if !ok {
		return nil, fmt.Errorf("op %s is not a GEMM", o.Name())
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
