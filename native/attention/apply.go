//go:build cgo && linux

package attention

/*
#include "attention.h"
#include "table.h"
static int apply(const ridge_kernel *k, const attention_args *a, void *workspace, int64_t bytes) {
  ridge_ctx ctx = {.tid = 0, .nthreads = 1, .workspace = workspace, .workspace_bytes = bytes};
  return k->fn(a, &ctx);
}
static int64_t need(const ridge_kernel *k, const attention_args *a) { return k->workspace ? k->workspace(a, 1) : 0; }
static int takes(const ridge_kernel *k, const attention_args *a) { return !k->supports || k->supports(a); }
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"ridge/goharness/op"
	"ridge/native/kernel"
)

// Apply computes attention or one of its parts with the named kernel on chosen operands, on the calling thread: the way to see what
// special values become, which the inputs of a verification do not hold. The operands are those of o's tensors, in order; the
// result is the decoded output, nil where the kernel does not take the shape. The kernel must be runnable here.
func Apply(kernelName string, o op.Op, operands [][]float64) ([]float64, error) {
	table := unsafe.Slice(C.ridge_attention_table(), C.ridge_attention_table_len())
	i := slices.IndexFunc(table, func(k C.ridge_kernel) bool { return C.GoString(k.name) == kernelName })
	ts := o.Tensors()
	last := len(ts) - 1
	if i < 0 || len(operands) != last {
		return nil, fmt.Errorf("apply %s with kernel %s and %d operands: expected a kernel of the attention family and %d", o.Name(), kernelName, len(operands), last)
	}
	var bufs []kernel.Buffer
	for n, t := range ts {
		mem := kernel.Alloc(uintptr(t.StorageBytes() + 1))
		defer kernel.Free(mem)
		bufs = append(bufs, kernel.Buffer{Ptr: mem, Tensor: t})
		if n == last {
			break
		}
		if int64(len(operands[n])) != t.Elements() {
			return nil, fmt.Errorf("apply %s: operand %s has %d elements, expected %d", o.Name(), t.Name, len(operands[n]), t.Elements())
		}
		b := unsafe.Slice((*byte)(mem), t.StorageBytes())
		for j, v := range operands[n] {
			op.Encode(t.DType, b[int64(j)*t.DType.Size():], v)
		}
	}
	args, err := bind(o, bufs)
	if err != nil {
		return nil, err
	}
	defer kernel.Free(args)
	a := (*C.attention_args)(args)
	if C.takes(&table[i], a) == 0 {
		return nil, nil
	}
	bytes := C.need(&table[i], a)
	raw := kernel.Alloc(uintptr(bytes) + 64)
	defer kernel.Free(raw)
	if rc := C.apply(&table[i], a, unsafe.Add(raw, 64-uintptr(raw)%64), bytes); rc != 0 {
		return nil, fmt.Errorf("apply %s with kernel %s: status %d", o.Name(), kernelName, rc)
	}
	b, out := unsafe.Slice((*byte)(bufs[last].Ptr), ts[last].StorageBytes()), make([]float64, ts[last].Elements())
	for j := range out {
		out[j] = op.Decode(ts[last].DType, b[int64(j)*ts[last].DType.Size():])
	}
	return out, nil
}
