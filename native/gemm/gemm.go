//go:build cgo && linux

// Package gemm holds the CPU kernels of the ops gemm, linear, gemv, swiglu and mlp.
package gemm

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
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

var isaFP16 = kernel.Mask(C.RIDGE_ISA_AVX512FP16)

// Family is the gemm family.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "gemm",
		Kernels: Ranked(kernel.Table(unsafe.Pointer(C.ridge_gemm_table()), int(C.ridge_gemm_table_len())), kernel.Detect()),
		Bind:    bind,
		Packed:  func(args, at unsafe.Pointer) { (*C.ridge_gemm_args)(args).packed = at },
		Tuning:  &kernel.Tuning{Class: Class, Space: space, Set: setBlocks},
		Alone:   Alone,
	}
}

// Ranked adapts the ranks of the table to the CPU's features. VDPBF16PS is twice as fast as
// fp32 multiply-adds on AMD's Zen 4 and 5, but runs at half their rate on Intel's Sapphire
// Rapids and later, which AVX512-FP16 tells apart: there its kernels rank just below the one
// that widens to fp32. The kernels for Intel's cores without AVX512-FP16 rank above the other 512-bit ones there.
func Ranked(table []kernel.Kernel, have kernel.Mask) []kernel.Kernel {
	for i, k := range table {
		switch {
		case strings.HasSuffix(k.Name, "_bf16_avx512bf16_14x32") && have.Has(isaFP16):
			table[i].Rank = 29
		case k.Rank < 0: // models
		case have.Has(kernel.Intel) && strings.Contains(k.Name, "_avx512intel_14x"):
			table[i].Rank = intelRank
		case have.Has(kernel.Intel) && strings.Contains(k.Name, "_avx512intel_6x"):
			table[i].RankFor = func(o op.Op, _ int) int {
				if rows(o) >= manyRows {
					return intelRank + 1
				}
				return k.Rank
			}
		}
	}
	return table
}

// rows of C, of a product or of a fused layer.
func rows(o op.Op) int64 {
	switch l := o.(type) {
	case *op.Gemm:
		return l.M
	case *op.SwiGLU:
		return l.M
	case *op.MLP:
		return l.M
	}
	return 0
}

// Above the 512-bit kernels (30) and below those that AVX512-FP16 tells (35); and the rows from which A is not packed: Ice Lake, 6x64 of 14x32's
// rate: 16 rows 0.94 to 1.03, packed 0.92 to 1.02, 64 rows 1.00, packed 0.93, 128 rows 1.01 to 1.03; 96 lies between. Skylake and Cascade Lake, not
// measured, are taken for its like.
const intelRank, manyRows = 33, 96

func bind(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	if v, ok := o.(*op.Gemv); ok {
		return bindGemv(v, bufs), nil
	}
	switch l := o.(type) {
	case *op.SwiGLU:
		return bindLayers(C.RIDGE_LAYERS_SWIGLU, [4]int64{l.M, l.N, l.K, 0}, "silu", l.Packed, bufs), nil
	case *op.MLP:
		return bindLayers(C.RIDGE_LAYERS_MLP, [4]int64{l.M, l.N, l.K, l.H}, l.Act, l.Packed, bufs), nil
	}
	g, ok := o.(*op.Gemm)
	if !ok {
		return nil, fmt.Errorf("op %s is neither a GEMM nor a GEMV nor a fused layer", o.Name())
	}
	p := kernel.Alloc(C.sizeof_ridge_gemm_args)
	a := (*C.ridge_gemm_args)(p)
	a.M, a.N, a.K = C.int64_t(g.M), C.int64_t(g.N), C.int64_t(g.K)
	a.alpha, a.beta = C.double(g.Alpha), C.double(g.Beta)
	a.batch = C.int64_t(g.Batch)
	a.act = C.int32_t(slices.Index(op.Activations, g.Act))
	if g.TransB {
		a.trans_b = 1
	}
	if g.Packed {
		a.packing = 1
	}
	for _, b := range bufs {
		ld := C.int64_t(b.Tensor.LD())
		var stride C.int64_t // from one matrix to the next
		if d := b.Tensor.Dims; len(d) == 3 {
			stride = C.int64_t(d[1]) * ld
		}
		switch b.Tensor.Name {
		case "a":
			a.A, a.lda, a.stride_a = b.Ptr, ld, stride
		case "b":
			a.B, a.ldb, a.stride_b = b.Ptr, ld, stride
		case "c":
			a.C, a.ldc, a.stride_c = b.Ptr, ld, stride
		case "d":
			a.D, a.ldd, a.stride_d = b.Ptr, ld, stride
		case "bias":
			a.bias = b.Ptr
		case "scale":
			a.scale = (*C.float)(b.Ptr)
		}
	}
	return p, nil
}

// bindLayers binds two linear layers in one launch; sizes are M, N, K and H.
func bindLayers(kind C.int32_t, sizes [4]int64, act string, packed bool, bufs []kernel.Buffer) unsafe.Pointer {
	p := kernel.Alloc(C.sizeof_ridge_gemm_args)
	a := (*C.ridge_gemm_args)(p)
	a.M, a.N, a.K, a.H = C.int64_t(sizes[0]), C.int64_t(sizes[1]), C.int64_t(sizes[2]), C.int64_t(sizes[3])
	a.layers, a.alpha, a.trans_b, a.act = kind, 1, 1, C.int32_t(slices.Index(op.Activations, act))
	if packed {
		a.packing = 1
	}
	for _, b := range bufs {
		ld := C.int64_t(b.Tensor.LD())
		switch b.Tensor.Name {
		case "a":
			a.A, a.lda = b.Ptr, ld
		case "gate", "w1":
			a.B, a.ldb = b.Ptr, ld
		case "up", "w2":
			a.B2, a.ldb2 = b.Ptr, ld
		case "b1":
			a.bias = b.Ptr
		case "b2":
			a.bias2 = b.Ptr
		case "c":
			a.C, a.ldc = b.Ptr, ld
		}
	}
	return p
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
