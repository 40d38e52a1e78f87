//go:build cuda && linux && cgo

package vendor

/*
#include <stdlib.h>
#include "cudnn.h"
static void *conv_fn(void) { return (void *)ridge_conv_call; }
*/
import "C"

import (
	"unsafe"

	"ridge/cuda/driver"
	"ridge/cuda/kernel"
	"ridge/goharness/record"
)

// convolution prepares a convolution; without an argument text says why it cannot be.
func (h *Host) convolution(p kernel.Convolution, work uint64) (call Call, text string) {
	c := (*C.ridge_convolution)(C.calloc(1, C.sizeof_ridge_convolution))
	defer C.free(unsafe.Pointer(c))
	c._type = map[record.DType]C.int{record.FP32: C.DNN_FLOAT, record.BF16: C.DNN_BFLOAT16}[p.D]
	if p.NHWC {
		c.nhwc = 1
	}
	if p.Fused {
		c.fused = 1
	}
	if p.Act == "relu" {
		c.relu = 1
	}
	c.n, c.c, c.h, c.w, c.k, c.r, c.s = C.int(p.N), C.int(p.C), C.int(p.H), C.int(p.Conv.W), C.int(p.K), C.int(p.R), C.int(p.S)
	c.ho, c.wo, c.stride, c.pad, c.dilation, c.groups = C.int(p.Ho), C.int(p.Wo), C.int(p.Stride), C.int(p.Pad), C.int(p.Dilation), C.int(p.Groups)
	c.x, c.filter, c.bias, c.residual, c.y = C.uint64_t(p.X), C.uint64_t(p.Filter), C.uint64_t(p.BiasAt), C.uint64_t(p.ResidualAt), C.uint64_t(p.Y)
	c.workspace, c.workspace_bytes = C.uint64_t(work), C.uint64_t(p.Workspace)
	var m *C.ridge_conv
	text = said(func(to *C.char) { m = C.ridge_conv_make((*C.ridge_cudnn)(h.lib), h.handle, c, to, textBytes) })
	return Call{Call: driver.Call{Function: C.conv_fn(), Argument: unsafe.Pointer(m)}, free: func() { C.ridge_conv_free(m) }}, text
}
