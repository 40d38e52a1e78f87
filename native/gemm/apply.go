//go:build cgo && linux

package gemm

/*
#include "table.h"
static int apply(const ridge_kernel *k, const ridge_gemm_args *a, void *workspace, int64_t bytes) {
  ridge_ctx ctx = {.tid = 0, .nthreads = 1, .workspace = workspace, .workspace_bytes = bytes};
  return k->fn(a, &ctx);
}
static int64_t need(const ridge_kernel *k, const ridge_gemm_args *a) { return k->workspace ? k->workspace(a, 1) : 0; }
static int takes(const ridge_kernel *k, const ridge_gemm_args *a) { return !k->supports || k->supports(a); }
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"ridge/goharness/op"
	"ridge/native/kernel"
)

// Apply computes a linear layer with the named kernel on chosen operands, on the calling thread: the way to see what special
// values become, which the inputs of a verification do not hold. The tensors of l hold operands encoded in its formats, in
// order and without padding; the result is the decoded output, nil where the kernel does not take the shape.
func Apply(kernelName string, l *op.Gemm, operands [][]float64) ([]float64, error) {
	table := unsafe.Slice(C.ridge_gemm_table(), C.ridge_gemm_table_len())
	i := slices.IndexFunc(table, func(k C.ridge_kernel) bool { return C.GoString(k.name) == kernelName })
	ts := l.Tensors()
	if i < 0 || len(operands) != len(ts)-1 {
		return nil, fmt.Errorf("apply %s with kernel %s and %d operands: expected a kernel of the gemm family and %d", l.Name(), kernelName, len(operands), len(ts)-1)
	}
	var bufs []kernel.Buffer
	for n, t := range ts {
		p := kernel.Alloc(uintptr(t.StorageBytes() + 1))
		defer kernel.Free(p)
		bufs = append(bufs, kernel.Buffer{Ptr: p, Tensor: t})
		if n < len(operands) {
			if int64(len(operands[n])) != t.Elements() {
				return nil, fmt.Errorf("apply %s: operand %s has %d elements, expected %d", l.Name(), t.Name, len(operands[n]), t.Elements())
			}
			mem := unsafe.Slice((*byte)(p), t.StorageBytes())
			for j, v := range operands[n] {
				op.Encode(t.DType, mem[int64(j)*t.DType.Size():], v)
			}
		}
	}
	args, err := bind(l, bufs)
	if err != nil {
		return nil, err
	}
	defer kernel.Free(args)
	g := (*C.ridge_gemm_args)(args)
	if C.takes(&table[i], g) == 0 {
		return nil, nil
	}
	bytes := C.need(&table[i], g)
	raw := kernel.Alloc(uintptr(bytes) + 64)
	defer kernel.Free(raw)
	work := unsafe.Add(raw, 64-uintptr(raw)%64)
	if rc := C.apply(&table[i], g, work, bytes); rc != 0 {
		return nil, fmt.Errorf("apply %s with kernel %s: status %d", l.Name(), kernelName, rc)
	}
	last := ts[len(ts)-1]
	mem, out := unsafe.Slice((*byte)(bufs[len(ts)-1].Ptr), last.StorageBytes()), make([]float64, last.Elements())
	for j := range out {
		out[j] = op.Decode(last.DType, mem[int64(j)*last.DType.Size():])
	}
	return out, nil
}
