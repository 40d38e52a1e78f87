//go:build cgo && linux

// Package kernel turns the kernel families' C tables into Go values and detects which
// instruction sets this machine can run.
package kernel

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#include <stdlib.h>
#include "ridge.h"
static int64_t call_workspace(ridge_workspace_fn f, const void *args, int32_t n) { return f ? f(args, n) : 0; }
static int call_supports(ridge_supports_fn f, const void *args) { return f ? f(args) : 1; }
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Kernel is one registered C kernel.
type Kernel struct {
	Name       string
	Ops        []string
	DType      record.DType
	Accumulate record.DType
	ISA        Mask
	Rank       int // preferred first; negative: only when forced by name
	// RankFor, where not nil, is the rank for an op on so many threads, in place of Rank: on some cores what is fastest depends on the sizes.
	RankFor   func(o op.Op, threads int) int
	BoundC    float64
	RoundedC  float64 // c of op.Expectation.Rounded; 0: no computed operand is rounded
	IntExact  bool
	FLOPShare float64        // of the op's FLOP, what the algorithm executes at least; 1: all of it
	Fn        unsafe.Pointer // ridge_kernel_fn
	workspace C.ridge_workspace_fn
	supports  C.ridge_supports_fn
	// Pack, where not nil, is a ridge_kernel_fn that packs a constant operand beforehand.
	Pack   unsafe.Pointer
	packed C.ridge_workspace_fn
}

// Table reads n entries of a C table of ridge_kernel.
func Table(first unsafe.Pointer, n int) []Kernel {
	var out []Kernel
	for _, k := range unsafe.Slice((*C.ridge_kernel)(first), n) {
		out = append(out, Kernel{
			Name: C.GoString(k.name), Ops: strings.Fields(C.GoString(k.ops)),
			DType: record.DType(C.GoString(k.dtype)), Accumulate: record.DType(C.GoString(k.acc)),
			ISA: Mask(k.isa), Rank: int(k.rank), BoundC: float64(k.bound_c), RoundedC: float64(k.rounded_c), IntExact: k.int_exact != 0,
			FLOPShare: share(float64(k.flop_share)), Fn: unsafe.Pointer(k.fn), workspace: k.workspace, supports: k.supports,
			Pack: unsafe.Pointer(k.pack), packed: k.packed,
		})
	}
	return out
}

func share(x float64) float64 {
	if x == 0 {
		return 1
	}
	return x
}

// Implements reports whether the kernel is registered for the op at that precision.
func (k Kernel) Implements(opName string, d record.DType) bool {
	if k.DType != d {
		return false
	}
	for _, o := range k.Ops {
		if o == opName {
			return true
		}
	}
	return false
}

// RankOn is the kernel's rank for an op on so many threads.
func (k Kernel) RankOn(o op.Op, threads int) int {
	if k.RankFor != nil {
		return k.RankFor(o, threads)
	}
	return k.Rank
}

// Supports asks the kernel's predicate about C arguments.
func (k Kernel) Supports(args unsafe.Pointer) bool { return C.call_supports(k.supports, args) != 0 }

// WorkspaceBytes asks how much scratch memory these arguments need.
func (k Kernel) WorkspaceBytes(args unsafe.Pointer, threads int) int64 {
	return int64(C.call_workspace(k.workspace, args, C.int32_t(threads)))
}

// Packs says why the kernel cannot have an operand of the op packed beforehand where the op asks for it; nil: it can, or need not.
func (k Kernel) Packs(o op.Op) error {
	if names := op.PackedOperands(o); len(names) > 0 && k.Pack == nil {
		return fmt.Errorf("packs no operand beforehand (packed=1 asks for %s)", strings.Join(names, " and "))
	}
	return nil
}

// Sums says why the kernel is not for an op whose sums have to be finer than its own; nil: it is.
func (k Kernel) Sums(o op.Op) error {
	if k.Accumulate == record.FP16 && o.Accumulate() != record.FP16 {
		return fmt.Errorf("keeps short sums in fp16, which acc=fp16 allows")
	}
	return nil
}

// PackedBytes asks for the bytes that Pack writes.
func (k Kernel) PackedBytes(args unsafe.Pointer, threads int) int64 {
	return int64(C.call_workspace(k.packed, args, C.int32_t(threads)))
}

// Info describes the kernel for listings and results.
func (k Kernel) Info(opName string, have Mask) backend.KernelInfo {
	info := backend.KernelInfo{Name: k.Name, Op: opName, DType: k.DType, Accumulate: k.Accumulate,
		ISA: k.ISA.Names(), Portable: k.ISA == 0, BoundC: k.BoundC, RoundedC: k.RoundedC,
		IntExact: k.IntExact, FLOPShare: k.FLOPShare}
	if missing := k.ISA &^ have; missing != 0 {
		info.Available = fmt.Errorf("this CPU lacks %s", strings.Join(missing.Names(), ", "))
	}
	return info
}

// Buffer is the memory of one op tensor.
type Buffer struct {
	Ptr    unsafe.Pointer // first logical element
	Tensor op.Tensor
}

// Family is one kernel family: its table and how an op and its buffers become C arguments.
type Family struct {
	Name string
	// Library, of a vendor library's kernels, names it; they are picked when asked for alone. "": ridge's own.
	Library string
	Kernels []Kernel
	// Bind makes the family's C argument struct (allocated with Alloc, freed by the
	// platform) for the op with its tensors in the op's order.
	Bind func(o op.Op, bufs []Buffer) (unsafe.Pointer, error)
	// Around, where not nil, tells bound arguments the bytes of a working set above which kernels go around the caches.
	Around func(args unsafe.Pointer, bytes int64)
	// Packed, of a family with kernels that pack beforehand, tells bound arguments where the packed operand lies.
	Packed func(args, at unsafe.Pointer)
	// Tuning, where not nil, says which parameters the kernels have and sets them.
	Tuning *Tuning
	// Alone, where not nil, says that one thread has done an op before a team would have met after it.
	Alone func(o op.Op, k Kernel) bool
}

// Tuning is the parameters of a family's kernels.
type Tuning struct {
	// Class names the class of shapes an op belongs to; "" where no parameter matters.
	Class func(o op.Op) string
	// Space is what a search may try (backend.Tuner).
	Space func(k Kernel, o op.Op, caches backend.Caches, threads int) (backend.Space, bool)
	// Set gives bound arguments parameters; an error names what is unknown or out of range.
	Set func(args unsafe.Pointer, params map[string]int64) error
}

// Around is the working set in bytes above which kernels go around the caches where nothing is known of these (RIDGE_AROUND).
const Around = C.RIDGE_AROUND

// Alloc returns n zeroed bytes of C memory for argument structs.
func Alloc(n uintptr) unsafe.Pointer { return C.calloc(1, C.size_t(n)) }

// Free releases memory of Alloc.
func Free(p unsafe.Pointer) { C.free(p) }
