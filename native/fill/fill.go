//go:build cgo && linux

// Package fill makes input tensors on the CPU, bit-equal to goharness/op.FillValue, and
// poisons outputs and padding.
package fill

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#cgo LDFLAGS: -lm
#include "fill.h"
// The fill kernel for instruction set i, from the widest on, what it needs and its name; NULL behind the last.
static void *fill_fn(int i, uint64_t *isa, const char **name) {
  static const struct { void *fn; uint64_t isa; const char *name; } of[] = {
#if defined(__x86_64__)
    {(void *)ridge_fill_avx512, RIDGE_ISA_AVX512, "avx512"},
    {(void *)ridge_fill_avx2, RIDGE_ISA_AVX2FMA, "avx2"},
#endif
    {(void *)ridge_fill_portable, 0, "portable"},
    {NULL, 0, NULL},
  };
  *isa = of[i].isa, *name = of[i].name;
  return of[i].fn;
}
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kernel"
)

// Variant is the fill kernel (a ridge_kernel_fn) for an instruction set; all write the same bits.
type Variant struct {
	Name string
	Fn   unsafe.Pointer
}

// Variants that this machine can run, the fastest first.
var Variants = sync.OnceValue(func() (out []Variant) {
	for i := C.int(0); ; i++ {
		var isa C.uint64_t
		var name *C.char
		fn := C.fill_fn(i, &isa, &name)
		if fn == nil {
			return out
		}
		if kernel.Detect().Has(kernel.Mask(isa)) {
			out = append(out, Variant{C.GoString(name), fn})
		}
	}
})

// Fn is the fill kernel in use.
func Fn() unsafe.Pointer { return Variants()[0].Fn }

// Guard is the poisoned bytes kept before and after every buffer's storage.
const Guard = 64

// PoisonByte is the byte that pattern 0 or 1 fills memory with: 0 is a NaN in every float
// format, 1 a huge number or NaN; for integers they are two different values.
func PoisonByte(pattern int) byte {
	if pattern == 1 {
		return C.RIDGE_POISON_1
	}
	return C.RIDGE_POISON_0
}

var dtypes = map[record.DType]C.int32_t{
	record.FP64: C.RIDGE_D_FP64, record.FP32: C.RIDGE_D_FP32, record.FP16: C.RIDGE_D_FP16,
	record.BF16: C.RIDGE_D_BF16, record.INT8: C.RIDGE_D_INT8, record.UINT8: C.RIDGE_D_UINT8,
	record.INT32: C.RIDGE_D_INT32, record.INT64: C.RIDGE_D_INT64, record.FP8E4M3: C.RIDGE_D_FP8E4M3,
}

// Args makes the arguments that fill tensor t at ptr from the stream that starts at key
// (poison < 0), or poison it with pattern 0 or 1. Freed with kernel.Free.
func Args(t op.Tensor, ptr unsafe.Pointer, key uint64, integer bool, poison int) (unsafe.Pointer, error) {
	d, ok := dtypes[t.DType]
	if !ok {
		return nil, fmt.Errorf("fill tensor %s: no storage format for %s", t.Name, t.DType)
	}
	if t.Fill == op.FillChase && (t.DType != record.INT64 || t.Rows() > 1) {
		return nil, fmt.Errorf("fill tensor %s of %s%v: a pointer chase is one row of int64", t.Name, t.DType, t.Dims)
	}
	if t.Fill == op.FillScales && t.DType != record.FP32 {
		return nil, fmt.Errorf("fill tensor %s of %s: scales are fp32", t.Name, t.DType)
	}
	p := kernel.Alloc(C.sizeof_ridge_fill_args)
	a := (*C.ridge_fill_args)(p)
	a.ptr, a.rows, a.row, a.ld = ptr, C.int64_t(t.Rows()), C.int64_t(t.Row()), C.int64_t(t.LD())
	a.key, a.dtype, a.kind = C.uint64_t(key), d, C.int32_t(t.Fill)
	a._range = C.int64_t(t.IntRange)
	if t.IntRange == 0 && t.Fill != op.FillScales && t.Fill != op.FillWeights || integer && t.Fill == op.FillWeights {
		a._range = 3
	}
	if integer {
		a.integer = 1
	}
	a.poison, a.guard = C.int32_t(poison), Guard
	return p, nil
}
