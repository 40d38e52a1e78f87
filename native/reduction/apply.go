//go:build cgo && linux

package reduction

/*
#include "table.h"
static int apply(const ridge_kernel *k, const ridge_reduction_args *a) {
  char workspace[64] __attribute__((aligned(64)));
  ridge_ctx ctx = {.tid = 0, .nthreads = 1, .workspace = workspace, .workspace_bytes = sizeof workspace};
  return k->fn(a, &ctx);
}
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"ridge/native/kernel"
)

// Argmax evaluates argmax over all of x with the named fp32 kernel, on the calling thread: the
// way to see ties and NaN, which the random inputs of a verification do not have. The kernel
// must be runnable here.
func Argmax(kernelName string, x []float32) (int64, error) {
	table := unsafe.Slice(C.ridge_reduction_table(), C.ridge_reduction_table_len())
	i := slices.IndexFunc(table, func(k C.ridge_kernel) bool { return C.GoString(k.name) == kernelName })
	if i < 0 || C.GoString(table[i].dtype) != "fp32" {
		return 0, fmt.Errorf("argmax with kernel %s: expected an fp32 kernel of the reduction family", kernelName)
	}
	n := len(x)
	mem := kernel.Alloc(uintptr(4*n) + 64)
	defer kernel.Free(mem)
	copy(unsafe.Slice((*float32)(mem), n), x)
	args := (*C.ridge_reduction_args)(kernel.Alloc(C.sizeof_ridge_reduction_args + 8))
	defer kernel.Free(unsafe.Pointer(args))
	y := (*int64)(unsafe.Add(unsafe.Pointer(args), C.sizeof_ridge_reduction_args))
	args.rows, args.cols, args.dim, args.op = 1, C.int64_t(n), -1, C.RIDGE_RD_ARGMAX
	args.x, args.y = mem, unsafe.Pointer(y)
	if rc := C.apply(&table[i], args); rc != 0 {
		return 0, fmt.Errorf("argmax with kernel %s: status %d", kernelName, rc)
	}
	return *y, nil
}
