//go:build cgo && linux

package elementwise

/*
#include "table.h"
static int apply(const ridge_kernel *k, const ridge_elementwise_args *a) {
  ridge_ctx ctx = {.tid = 0, .nthreads = 1};
  return k->fn(a, &ctx);
}
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kernel"
)

// Apply evaluates a one-operand op with the named kernel on chosen values, on the
// calling thread: the way to see a vector function's special values and accuracy, which the
// random inputs of a verification do not reach. For a bf16 kernel x must hold bf16 numbers. The kernel must be runnable here.
func Apply(kernelName, opName string, x []float32) ([]float32, error) {
	code := slices.Index(op.ElementwiseOps, opName)
	table := unsafe.Slice(C.ridge_elementwise_table(), C.ridge_elementwise_table_len())
	i := slices.IndexFunc(table, func(k C.ridge_kernel) bool { return C.GoString(k.name) == kernelName })
	if code < 0 || i < 0 {
		return nil, fmt.Errorf("apply %s with kernel %s: expected an op and a kernel of the elementwise family", opName, kernelName)
	}
	n := len(x)
	mem := kernel.Alloc(uintptr(8*n) + 64)
	defer kernel.Free(mem)
	in := unsafe.Slice((*float32)(mem), n)
	out := unsafe.Slice((*float32)(unsafe.Add(mem, 4*n)), n)
	half := C.GoString(table[i].dtype) == "bf16"
	in16, out16 := unsafe.Slice((*uint16)(mem), n), unsafe.Slice((*uint16)(unsafe.Add(mem, 4*n)), n)
	if half {
		for i, v := range x {
			in16[i] = uint16(math.Float32bits(v) >> 16)
		}
	} else {
		copy(in, x)
	}
	args := (*C.ridge_elementwise_args)(kernel.Alloc(C.sizeof_ridge_elementwise_args))
	defer kernel.Free(unsafe.Pointer(args))
	args.n, args.a, args.y, args.op = C.int64_t(n), mem, unsafe.Add(mem, 4*n), C.int32_t(code)
	if rc := C.apply(&table[i], args); rc != 0 {
		return nil, fmt.Errorf("apply %s with kernel %s: status %d", opName, kernelName, rc)
	}
	y := slices.Clone(out)
	if half {
		for i, b := range out16 {
			y[i] = math.Float32frombits(uint32(b) << 16)
		}
	}
	return y, nil
}

// ApplyBias adds a bias a channel to planes of inner elements (1: rows over the channels) with the named kernel, on the calling thread: bias_add as an op has
// rows alone. For a bf16 kernel the numbers must be bf16's.
func ApplyBias(kernelName string, x, bias []float32, inner int) ([]float32, error) {
	table := unsafe.Slice(C.ridge_elementwise_table(), C.ridge_elementwise_table_len())
	i := slices.IndexFunc(table, func(k C.ridge_kernel) bool { return C.GoString(k.name) == kernelName })
	if i < 0 || len(bias) == 0 || inner < 1 || len(x)%(len(bias)*inner) != 0 {
		return nil, fmt.Errorf("add a bias to %d elements, %d channels, planes of %d, with kernel %s: expected whole images and a kernel of the elementwise family", len(x), len(bias), inner, kernelName)
	}
	d := record.DType(C.GoString(table[i].dtype))
	size := int(d.Size())
	put := func(v []float32) unsafe.Pointer {
		p := kernel.Alloc(uintptr(size*len(v)) + 1)
		for j, e := range v {
			op.Encode(d, unsafe.Slice((*byte)(p), size*len(v))[j*size:], float64(e))
		}
		return p
	}
	a, b, y := put(x), put(bias), put(make([]float32, len(x)))
	args := (*C.ridge_elementwise_args)(kernel.Alloc(C.sizeof_ridge_elementwise_args))
	for _, p := range []unsafe.Pointer{a, b, y, unsafe.Pointer(args)} {
		defer kernel.Free(p)
	}
	args.n, args.channels, args.inner = C.int64_t(len(x)), C.int64_t(len(bias)), C.int64_t(inner)
	args.outer = args.n / (args.channels * args.inner)
	args.a, args.y, args.op = a, y, C.RIDGE_EW_BIAS_ADD
	args.p[0] = b
	if rc := C.apply(&table[i], args); rc != 0 {
		return nil, fmt.Errorf("add a bias with kernel %s: status %d", kernelName, rc)
	}
	out := make([]float32, len(x))
	for j := range out {
		out[j] = float32(op.Decode(d, unsafe.Slice((*byte)(y), size*len(x))[j*size:]))
	}
	return out, nil
}

// ApplyRequantize requantises sums, each with its own scale, with the named kernel on the calling thread: as one row over
// as many channels, or with plane as many planes of 37 elements with the same sum, of which it returns the first and checks the others.
func ApplyRequantize(kernelName string, sums []int32, scales []float32, relu, plane bool) ([]int8, error) {
	table := unsafe.Slice(C.ridge_elementwise_table(), C.ridge_elementwise_table_len())
	i := slices.IndexFunc(table, func(k C.ridge_kernel) bool { return C.GoString(k.name) == kernelName })
	if i < 0 || len(sums) == 0 || len(sums) != len(scales) {
		return nil, fmt.Errorf("requantise %d sums by %d scales with kernel %s: expected one scale a sum and a kernel of the elementwise family", len(sums), len(scales), kernelName)
	}
	inner := 1
	if plane {
		inner = 37
	}
	n := len(sums) * inner
	a, s, y := kernel.Alloc(uintptr(4*n)), kernel.Alloc(uintptr(4*len(scales))), kernel.Alloc(uintptr(n))
	args := (*C.ridge_elementwise_args)(kernel.Alloc(C.sizeof_ridge_elementwise_args))
	for _, p := range []unsafe.Pointer{a, s, y, unsafe.Pointer(args)} {
		defer kernel.Free(p)
	}
	for j := range n {
		unsafe.Slice((*int32)(a), n)[j] = sums[j/inner]
	}
	copy(unsafe.Slice((*float32)(s), len(scales)), scales)
	args.n, args.outer, args.channels, args.inner = C.int64_t(n), 1, C.int64_t(len(sums)), C.int64_t(inner)
	args.a, args.y, args.op = a, y, C.RIDGE_EW_REQUANTIZE
	args.p[0] = s
	if !relu {
		args.s = -128
	}
	if rc := C.apply(&table[i], args); rc != 0 {
		return nil, fmt.Errorf("requantise with kernel %s: status %d", kernelName, rc)
	}
	out := make([]int8, len(sums))
	for j, v := range unsafe.Slice((*int8)(y), n) {
		if j%inner == 0 {
			out[j/inner] = v
		} else if v != out[j/inner] {
			return nil, fmt.Errorf("kernel %s: element %d of plane %d is %d, the first %d", kernelName, j%inner, j/inner, v, out[j/inner])
		}
	}
	return out, nil
}
