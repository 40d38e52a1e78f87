//go:build cuda && linux && cgo

package vendor

/*
#cgo CFLAGS: -O2 -Wall
#include <dlfcn.h>
#include <stdlib.h>
#include "cublaslt.h"
static void *matmul_fn(void) { return (void *)ridge_matmul_call; }
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"ridge/cuda/driver"
	"ridge/cuda/kernel"
	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// files are the names that the loader is asked for, the newest first.
var files = backend.LibraryFiles{Title: "cuBLASLt", Stem: "libcublasLt.so", Names: []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}}

const textBytes = 256 // of versions and reasons from C

// said runs f with room for a text, and gives the text.
func said(f func(*C.char)) string {
	text := (*C.char)(C.calloc(1, textBytes))
	defer C.free(unsafe.Pointer(text))
	f(text)
	return C.GoString(text)
}

// opened is the library, which stays for the process's life.
var opened = sync.OnceValues(func() (library, error) {
	l := library{VendorLibrary: record.VendorLibrary{Name: CuBLASLt}}
	var handle unsafe.Pointer
	path, err := files.Open(os.Getenv(backend.LibraryPathVariable), func(file string) error {
		name := C.CString(file)
		defer C.free(unsafe.Pointer(name))
		if handle = C.dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL); handle == nil {
			return errors.New(C.GoString(C.dlerror()))
		}
		return nil
	})
	if err != nil {
		return l, err
	}
	l.Path = path
	text := said(func(to *C.char) { l.lt = C.ridge_cublaslt_open(handle, to, textBytes) })
	if l.lt == nil {
		return l, fmt.Errorf("%s: %s", path, text)
	}
	l.Version = text
	return l, nil
})

type library struct {
	record.VendorLibrary
	lt *C.ridge_cublaslt
}

// Open takes a library into use in this process and says which it is.
func Open(name string) (record.VendorLibrary, error) {
	if err := Refused(name); err != nil {
		return record.VendorLibrary{Name: name}, err
	}
	l, err := opened()
	return l.VendorLibrary, err
}

// Host is a library in use on a device.
type Host struct {
	library
	handle unsafe.Pointer
}

// NewHost opens a library for the context that is current on the calling thread. An UnsupportedError says why it cannot be used.
func NewHost(name string) (*Host, error) {
	if err := Refused(name); err != nil {
		return nil, backend.Unsupported("%v", err)
	}
	l, err := opened()
	if err != nil {
		return nil, backend.Unsupported("%v", err)
	}
	h := &Host{library: l}
	if text := said(func(to *C.char) { h.handle = C.ridge_cublaslt_handle(l.lt, to, textBytes) }); h.handle == nil {
		return nil, backend.Unsupported("%s: %s", l.Path, text)
	}
	return h, nil
}

// Close gives the handle back. The library stays loaded.
func (h *Host) Close() { C.ridge_cublaslt_free(h.lt, h.handle) }

// Call is a product that is ready for a launch list.
type Call struct {
	driver.Call
	// Path is the code path that the library chose.
	Path string
}

// Free gives up what the library keeps for it.
func (c *Call) Free() { C.ridge_matmul_free((*C.ridge_matmul)(c.Argument)) }

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

// Product prepares a product with a workspace at an address. An UnsupportedError says what the library has no algorithm for.
func (h *Host) Product(p kernel.Product, work uint64) (*Call, error) {
	kind, ok := kinds[p.DType]
	if !ok {
		return nil, backend.Unsupported("%s: products of %s are not asked of it", h.Name, p.DType)
	}
	c := (*C.ridge_product)(C.calloc(1, C.sizeof_ridge_product))
	defer C.free(unsafe.Pointer(c))
	c.a_type, c.c_type, c.compute, c.scale = kind[0], kind[1], kind[2], kind[3]
	if p.TransB {
		c.transposed = 1
	}
	c.epilogue = map[kernel.Epilogue]C.int{kernel.EpilogueNone: 0, kernel.EpilogueReLU: C.LT_EPILOGUE_RELU, kernel.EpilogueGELUTanh: C.LT_EPILOGUE_GELU}[p.Epilogue]
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
	text := said(func(to *C.char) { m = C.ridge_matmul_make(h.lt, h.handle, c, to, textBytes) })
	if m == nil {
		return nil, backend.Unsupported("%s %s: %s", h.Name, h.Version, text)
	}
	return &Call{Call: driver.Call{Function: C.matmul_fn(), Argument: unsafe.Pointer(m)}, Path: strings.TrimSpace(h.Name + " " + h.Version + " " + text)}, nil
}
