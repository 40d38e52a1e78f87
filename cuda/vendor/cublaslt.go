//go:build cuda && linux && cgo

package vendor

/*
#include <stdlib.h>
#include "cublaslt.h"
static void *matmul_fn(void) { return (void *)ridge_matmul_call; }
*/
import "C"

import (
	"unsafe"

	"ridge/cuda/driver"
	"ridge/cuda/kernel"
	"ridge/goharness/record"
)

// kinds are the types of A and B, of C, of the sums and of alpha, by what is multiplied.
var kinds = map[record.DType][4]C.int{
	record.FP64:    {C.LT_R_64F, C.LT_R_64F, C.LT_COMPUTE_64F, C.LT_R_64F},
	record.FP32:    {C.LT_R_32F, C.LT_R_32F, C.LT_COMPUTE_32F, C.LT_R_32F},
	record.TF32:    {C.LT_R_32F, C.LT_R_32F, C.LT_COMPUTE_FAST_TF32, C.LT_R_32F},
	record.FP16:    {C.LT_R_16F, C.LT_R_16F, C.LT_COMPUTE_32F, C.LT_R_32F},
	record.BF16:    {C.LT_R_16BF, C.LT_R_16BF, C.LT_COMPUTE_32F, C.LT_R_32F},
	record.FP8E4M3: {C.LT_R_8F_E4M3, C.LT_R_16BF, C.LT_COMPUTE_32F, C.LT_R_32F},
	record.INT8:    {C.LT_R_8I, C.LT_R_32I, C.LT_COMPUTE_32I, C.LT_R_32I},
}

// epilogueBits are CUBLASLT_EPILOGUE_* without that of a bias.
var epilogueBits = map[kernel.Epilogue]C.int{kernel.EpilogueNone: 0, kernel.EpilogueReLU: C.LT_EPILOGUE_RELU, kernel.EpilogueGELUTanh: C.LT_EPILOGUE_GELU}

// product prepares a matrix product; without an argument text says why it cannot be.
func (h *Host) product(p kernel.Product, work uint64) (call Call, text string) {
	kind, ok := kinds[p.DType]
	if !ok {
		return call, "products of " + string(p.DType) + " are not asked of it"
	}
	c := (*C.ridge_product)(C.calloc(1, C.sizeof_ridge_product))
	defer C.free(unsafe.Pointer(c))
	c.a_type, c.c_type, c.compute, c.scale = kind[0], kind[1], kind[2], kind[3]
	if p.TransB {
		c.transposed = 1
	}
	c.epilogue = epilogueBits[p.Epilogue]
	if p.Bias != 0 {
		c.epilogue |= C.LT_EPILOGUE_BIAS
	}
	c.epilogue = max(c.epilogue, C.LT_EPILOGUE_NONE)
	c.m, c.n, c.k, c.batch = C.int64_t(p.M), C.int64_t(p.N), C.int64_t(p.K), C.int64_t(max(1, p.Batch))
	c.lda, c.ldb, c.ldc, c.ldd = C.int64_t(p.A.LD), C.int64_t(p.B.LD), C.int64_t(p.C.LD), C.int64_t(p.D.LD)
	c.stride_a, c.stride_b, c.stride_c, c.stride_d = C.int64_t(p.A.Stride), C.int64_t(p.B.Stride), C.int64_t(p.C.Stride), C.int64_t(p.D.Stride)
	c.alpha, c.beta = C.double(p.Alpha), C.double(p.Beta)
	c.a, c.b, c.c, c.d, c.bias = C.uint64_t(p.A.Address), C.uint64_t(p.B.Address), C.uint64_t(p.C.Address), C.uint64_t(p.D.Address), C.uint64_t(p.Bias)
	c.workspace, c.workspace_bytes = C.uint64_t(work), C.uint64_t(p.Workspace)
	var m *C.ridge_matmul
	text = said(func(to *C.char) { m = C.ridge_matmul_make((*C.ridge_cublaslt)(h.lib), h.handle, c, to, textBytes) })
	return Call{Call: driver.Call{Function: C.matmul_fn(), Argument: unsafe.Pointer(m)}, free: func() { C.ridge_matmul_free(m) }}, text
}
