//go:build cgo && linux

package kernel

/*
#include "ridge.h"
static int call_alone(void *fn, const void *args, void *workspace, int64_t bytes) {
  ridge_ctx ctx = {.tid = 0, .nthreads = 1, .workspace = workspace, .workspace_bytes = bytes};
  return ((ridge_kernel_fn)fn)(args, &ctx);
}
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"ridge/goharness/op"
)

// Apply computes an op with the named kernel on chosen operands, on the calling thread: the way to see what special values become, which
// the inputs of a verification do not hold. The operands are those of o's tensors but the last, in order and without padding; the result is
// the decoded output, nil where the kernel does not take the shape. The kernel must be runnable here.
func (f Family) Apply(kernelName string, o op.Op, operands [][]float64) ([]float64, error) {
	i := slices.IndexFunc(f.Kernels, func(k Kernel) bool { return k.Name == kernelName })
	ts := o.Tensors()
	last := len(ts) - 1
	if i < 0 || len(operands) != last {
		return nil, fmt.Errorf("apply %s with kernel %s and %d operands: expected a kernel of the %s family and %d", o.Name(), kernelName, len(operands), f.Name, last)
	}
	k := f.Kernels[i]
	var bufs []Buffer
	for n, t := range ts {
		mem := Alloc(uintptr(t.StorageBytes() + 1))
		defer Free(mem)
		bufs = append(bufs, Buffer{Ptr: mem, Tensor: t})
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
	args, err := f.Bind(o, bufs)
	if err != nil {
		return nil, err
	}
	defer Free(args)
	if f.Around != nil {
		f.Around(args, Around)
	}
	if !k.Supports(args) {
		return nil, nil
	}
	bytes := k.WorkspaceBytes(args, 1)
	raw := Alloc(uintptr(bytes) + 64)
	defer Free(raw)
	if rc := C.call_alone(k.Fn, args, unsafe.Add(raw, 64-uintptr(raw)%64), C.int64_t(bytes)); rc != 0 {
		return nil, fmt.Errorf("apply %s with kernel %s: status %d", o.Name(), kernelName, rc)
	}
	b, out := unsafe.Slice((*byte)(bufs[last].Ptr), ts[last].StorageBytes()), make([]float64, ts[last].Elements())
	for j := range out {
		out[j] = op.Decode(ts[last].DType, b[int64(j)*ts[last].DType.Size():])
	}
	return out, nil
}
