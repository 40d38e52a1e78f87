//go:build cgo && linux

package reduction

/*
#include "table.h"
static int apply_scratch(const ridge_kernel *k, const ridge_reduction_args *a, void *workspace, int64_t bytes) {
  ridge_ctx ctx = {.tid = 0, .nthreads = 1, .workspace = workspace, .workspace_bytes = bytes};
  return k->fn(a, &ctx);
}
static void no_barrier(struct ridge_team *team, int32_t tid) { (void)team, (void)tid; }
static int64_t team_scratch(const ridge_kernel *k, const ridge_reduction_args *a, int n) { return k->workspace ? k->workspace(a, n) : 0; }
// The threads of a team one after the other, twice: the second time each finds what the others left before a barrier.
static int apply_team(const ridge_kernel *k, const ridge_reduction_args *a, int n, void *workspace, int64_t bytes) {
  int rc = 0;
  for (int i = 0; i < 2 * n; i++) {
    ridge_ctx ctx = {.tid = i % n, .nthreads = n, .barrier = no_barrier, .workspace = workspace, .workspace_bytes = bytes};
    rc |= k->fn(a, &ctx);
  }
  return rc;
}
static int apply(const ridge_kernel *k, const ridge_reduction_args *a, int runs) {
  char workspace[64] __attribute__((aligned(64)));
  ridge_ctx ctx = {.tid = 0, .nthreads = 1, .workspace = workspace, .workspace_bytes = sizeof workspace, .runs = runs};
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

// Argmax evaluates argmax over all of x with the named fp32 kernel, on the calling thread: the
// way to see ties and NaN, which the random inputs of a verification do not have. runs: the context's. The kernel
// must be runnable here.
func Argmax(kernelName string, x []float32, runs int) (int64, error) {
	return overAll(kernelName, "argmax", x, runs)
}

// Extremum evaluates max or min over all of x with the named fp32 kernel, on the calling thread: the way to place the one element that
// counts. runs: the context's. The kernel must be runnable here.
func Extremum(kernelName, opName string, x []float32, runs int) (float32, error) {
	y, err := overAll(kernelName, opName, x, runs)
	return math.Float32frombits(uint32(y)), err
}

// overAll reduces all of x and gives the first eight bytes of y.
func overAll(kernelName, opName string, x []float32, runs int) (int64, error) {
	k, code, err := find(kernelName, opName)
	if err != nil {
		return 0, err
	}
	if C.GoString(k.dtype) != "fp32" {
		return 0, fmt.Errorf("%s with kernel %s: expected an fp32 kernel of the reduction family", opName, kernelName)
	}
	n := len(x)
	mem := kernel.Alloc(uintptr(4*n) + 64)
	defer kernel.Free(mem)
	copy(unsafe.Slice((*float32)(mem), n), x)
	args := (*C.ridge_reduction_args)(kernel.Alloc(C.sizeof_ridge_reduction_args + 8))
	defer kernel.Free(unsafe.Pointer(args))
	y := (*int64)(unsafe.Add(unsafe.Pointer(args), C.sizeof_ridge_reduction_args))
	args.rows, args.cols, args.dim, args.op = 1, C.int64_t(n), -1, code
	args.x, args.y, args.around = mem, unsafe.Pointer(y), 40<<20 // what exceeds it, with runs 12 MiB, comes from memory
	if rc := C.apply(k, args, C.int(runs)); rc != 0 {
		return 0, fmt.Errorf("%s with kernel %s: status %d", opName, kernelName, rc)
	}
	return *y, nil
}

// Matrix is the input of a sum or mean: Rows x Cols elements, reduced along Dim (-1: all).
type Matrix struct {
	Rows, Cols, Dim int
	X               []float64
}

// Reduce evaluates sum or mean of chosen values with the named kernel, as a team of so many threads would: the way to see sums that
// inputs balanced around 0, those of a verification, do not make. The kernel must be runnable here.
func Reduce(kernelName, opName string, threads int, m Matrix) ([]float64, error) {
	k, code, err := find(kernelName, opName)
	if err != nil {
		return nil, err
	}
	n := map[int]int{-1: 1, 0: m.Cols, 1: m.Rows}[m.Dim]
	if len(m.X) != m.Rows*m.Cols || n == 0 || threads < 1 {
		return nil, fmt.Errorf("%s of %d elements along %d with kernel %s: expected %d x %d elements, a dim of -1 to 1 and a thread", opName, len(m.X), m.Dim, kernelName, m.Rows, m.Cols)
	}
	d := record.DType(C.GoString(k.dtype))
	size := int(d.Size())
	x, y := kernel.Alloc(uintptr(size*len(m.X))), kernel.Alloc(uintptr(size*n))
	defer kernel.Free(x)
	defer kernel.Free(y)
	in, out := unsafe.Slice((*byte)(x), size*len(m.X)), unsafe.Slice((*byte)(y), size*n)
	for i, v := range m.X {
		op.Encode(d, in[i*size:], v)
	}
	args := (*C.ridge_reduction_args)(kernel.Alloc(C.sizeof_ridge_reduction_args))
	defer kernel.Free(unsafe.Pointer(args))
	args.rows, args.cols, args.dim, args.op, args.x, args.y, args.around = C.int64_t(m.Rows), C.int64_t(m.Cols), C.int32_t(m.Dim), code, x, y, kernel.Around
	bytes := C.team_scratch(k, args, C.int(threads))
	ws := kernel.Alloc(uintptr(bytes) + 64)
	defer kernel.Free(ws)
	if rc := C.apply_team(k, args, C.int(threads), unsafe.Add(ws, (64-uintptr(ws)%64)%64), bytes); rc != 0 {
		return nil, fmt.Errorf("%s with kernel %s: status %d", opName, kernelName, rc)
	}
	sums := make([]float64, n)
	for i := range sums {
		sums[i] = op.Decode(d, out[i*size:])
	}
	return sums, nil
}

// find gives a kernel by its name, and an op's number.
func find(kernelName, opName string) (*C.ridge_kernel, C.int32_t, error) {
	code := slices.Index(op.ReductionOps, opName)
	table := unsafe.Slice(C.ridge_reduction_table(), C.ridge_reduction_table_len())
	i := slices.IndexFunc(table, func(k C.ridge_kernel) bool { return C.GoString(k.name) == kernelName })
	if code < 0 || i < 0 {
		return nil, 0, fmt.Errorf("%s with kernel %s: expected an op and a kernel of the reduction family", opName, kernelName)
	}
	return &table[i], C.int32_t(code), nil
}

// Rows are the operands of a norm along rows of Cols elements. R is nil for a norm of X alone; Offset: elements by which every
// operand lies behind a line's border.
type Rows struct {
	Cols, Offset      int
	X, R, Gamma, Beta []float64
	Eps               float64
	Columns           bool // softmax of each column in place of each row
}

// Norm evaluates softmax, a norm or an addition and a norm with the named kernel on chosen values, on the calling thread: the way
// to see NaN, infinity, denormals and ties of rounding. It gives the sums that an addition stores (else nil) and y. The
// kernel must be runnable here; those with non-temporal stores run at every size.
func Norm(kernelName, opName string, r Rows) (z, y []float64, err error) {
	kern, code, err := find(kernelName, opName)
	if err != nil {
		return nil, nil, err
	}
	if r.Cols < 1 || len(r.X)%r.Cols != 0 {
		return nil, nil, fmt.Errorf("apply %s with kernel %s to %d elements in rows of %d: expected whole rows", opName, kernelName, len(r.X), r.Cols)
	}
	d := record.DType(C.GoString(kern.dtype))
	size, n := int(d.Size()), len(r.X)
	args := (*C.ridge_reduction_args)(kernel.Alloc(C.sizeof_ridge_reduction_args))
	defer kernel.Free(unsafe.Pointer(args))
	args.around = kernel.Around
	place := func(values []float64, n int) (unsafe.Pointer, []byte, func()) {
		mem := kernel.Alloc(uintptr(size*(n+r.Offset)) + 64)
		at := unsafe.Add(mem, (64-uintptr(mem)%64)%64+uintptr(size*r.Offset))
		b := unsafe.Slice((*byte)(at), size*n)
		for k, v := range values {
			op.Encode(d, b[k*size:], v)
		}
		return at, b, func() { kernel.Free(mem) }
	}
	var free [6]func()
	var zb, yb []byte
	args.x, _, free[0] = place(r.X, n)
	args.r, _, free[1] = place(r.R, n)
	args.gamma, _, free[2] = place(r.Gamma, r.Cols)
	args.beta, _, free[3] = place(r.Beta, r.Cols)
	args.z, zb, free[4] = place(nil, n)
	args.y, yb, free[5] = place(nil, n)
	for _, f := range free {
		defer f()
	}
	args.rows, args.cols, args.dim, args.op, args.eps = C.int64_t(n/r.Cols), C.int64_t(r.Cols), 1, code, C.double(r.Eps)
	if r.Columns {
		args.dim = 0
	}
	bytes := C.team_scratch(kern, args, 1)
	ws := kernel.Alloc(uintptr(bytes) + 64)
	defer kernel.Free(ws)
	if rc := C.apply_scratch(kern, args, unsafe.Add(ws, (64-uintptr(ws)%64)%64), bytes); rc != 0 {
		return nil, nil, fmt.Errorf("apply %s with kernel %s: status %d", opName, kernelName, rc)
	}
	decode := func(b []byte) []float64 {
		v := make([]float64, n)
		for k := range v {
			v[k] = op.Decode(d, b[k*size:])
		}
		return v
	}
	if r.R != nil {
		z = decode(zb)
	}
	return z, decode(yb), nil
}
