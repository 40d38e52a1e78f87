//go:build cgo && linux

// Package faultkernel holds an op whose preferred kernel crashes, hangs, runs out of memory
// or lies, as its parameter says, and a variant that works. Only tests import it: they show
// that such a kernel costs one case.
package faultkernel

/*
#cgo CFLAGS: -O2 -Wall -DRIDGE_STAMP=d425d404b121
#include "fault.h"
*/
import "C"

import (
	"slices"
	"unsafe"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kernel"
)

// Kinds of fault, in the order of the C enumeration.
var Kinds = []string{"ok", "segv", "ill", "abort", "hang", "oom", "wrong", "skip_last", "overrun", "unstable", "status", "clobber", "overrun_input"}

type fault struct {
	n      int64
	kind   string
	params []record.Param
}

// Spec declares the op fault: y[i] = 2·x[i].
func Spec() op.Spec {
	return op.Spec{Name: "fault", Family: "fault", Suite: "fault", Item: "element", Metric: "gbps", Doc: "y = 2x with a planted fault",
		Params: []op.ParamSpec{{Name: "n", Doc: "elements", Min: 1, Max: 1 << 40}, {Name: "kind", Doc: "fault", Default: "ok", Enum: Kinds}},
		DTypes: []record.DType{record.FP32},
		New: func(v op.Values, d record.DType) (op.Op, error) {
			return &fault{n: v.Int("n"), kind: v.Str("kind"), params: v.List()}, nil
		}}
}

func (f *fault) Name() string                 { return "fault" }
func (f *fault) Params() []record.Param       { return f.params }
func (f *fault) DType() record.DType          { return record.FP32 }
func (f *fault) Accumulate() record.DType     { return record.FP32 }
func (f *fault) FLOPs() int64                 { return f.n }
func (f *fault) Bytes() int64                 { return op.Product(8, f.n) }
func (f *fault) Items() int64                 { return f.n }
func (f *fault) IntegerExact() (bool, string) { return true, "" }

func (f *fault) Tensors() []op.Tensor {
	return []op.Tensor{{Name: "x", Role: op.In, DType: record.FP32, Dims: []int64{f.n}},
		{Name: "y", Role: op.Out, DType: record.FP32, Dims: []int64{f.n}}}
}

func (f *fault) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	v := 2 * in.At(0, i)
	return op.Expectation{Value: v, Magnitude: max(v, -v)}
}

// Family has the failing and the working kernel.
func Family() kernel.Family {
	return kernel.Family{Name: "fault", Kernels: kernel.Table(unsafe.Pointer(C.ridge_fault_table()), int(C.ridge_fault_table_len())),
		Bind: func(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
			f := o.(*fault)
			p := kernel.Alloc(C.sizeof_fault_args + 8)
			a := (*C.fault_args)(p)
			a.n, a.x, a.y = C.int64_t(f.n), (*C.float)(bufs[0].Ptr), (*C.float)(bufs[1].Ptr)
			a.kind = C.int32_t(slices.Index(Kinds, f.kind))
			a.calls = (*C.int64_t)(unsafe.Add(p, C.sizeof_fault_args))
			return p, nil
		}}
}
