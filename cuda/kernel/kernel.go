// Package kernel is the registry's side of the CUDA kernels: what a table line says of a kernel,
// and how an op with its buffers becomes launches. It needs no driver and no build tag.
package kernel

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Kernel is one source file cuda/FAMILY/Name.cu and what the platform must know of it.
type Kernel struct {
	Name       string
	Ops        string // separated by spaces
	DType      record.DType
	Accumulate record.DType
	// Least compute capability, 90 for 9.0; 0: what every image has (8.0). Only: this one alone
	// (code for sm_90a runs on 9.0 and nowhere else).
	Least, Only int
	Among       []int // the capabilities on which it is known to be worth it, and is used; nil: all
	Rank        int   // preferred first; negative: only when forced by name
	BoundC      float64
	RoundedC    float64
	IntExact    bool
	FLOPShare   float64      // 0: all of the op's FLOP
	Computes    record.DType // of the multiplications, where it is not DType (backend.KernelInfo)
	PeakISA     string       // of a peak probe: the isa of its row
	Engine      bool         // the device's copy engines do it: it has no source
	// Plan lays out the launches for an op whose tensors lie in b, in the op's order. An error of
	// Shape says that the kernel does not take these arguments.
	Plan func(o op.Op, b []Buffer, d Device) (Plan, error)
}

// Family is the kernels of one folder.
type Family struct {
	Name    string
	Kernels []Kernel
}

// Device is what a plan may depend on.
type Device struct {
	Capability int // 90 for 9.0
	SMs        int
	SharedMax  int // bytes of shared memory that a block may ask for
	L2Bytes    int64
	// TileCols is the columns of the tile that a search has found; 0: the kernel chooses. A kernel that has no such tile refuses the plan, one that
	// has no choice of tiles makes the same as ever.
	TileCols int64
	// Cluster is the blocks of a cluster in the same way: 1 for none.
	Cluster int64
}

// Buffer is the device memory of one op tensor.
type Buffer struct {
	Address uint64 // of the first logical element; 256-byte aligned unless a test shifts it
	Tensor  op.Tensor
}

// Plan is what a kernel does for an op: launches in order, and the scratch memory they share.
type Plan struct {
	Launches  []Launch
	Workspace int64 // bytes
}

// Launch of one entry of the kernel's image.
type Launch struct {
	Entry   string
	Image   string // of another kernel, which has the entry; empty: this one's
	Grid    [3]int64
	Block   [3]int64
	Cluster [3]int64 // zero: none
	Shared  int64    // dynamic shared memory in bytes
	Args    []Arg
	Copy    *Copy // in place of a launch
}

// Copy of a whole tensor to another place of as many bytes, by the device's copy engines. One of the two lies with the host.
type Copy struct{ To, From Buffer }

// Arg is one parameter: 8 bytes, or a tensor map.
type Arg struct {
	Bits uint64
	Work bool       // Bits, or the map's address, is an offset into the workspace
	Map  *TensorMap // instead of Bits
}

// TensorMap describes a tensor and the tiles in which the device's copy engine brings it to shared memory
// (RIDGE_TENSOR_MAP of ptx_tma.cuh), swizzled by 128 bytes; outside the tensor are zeros.
type TensorMap struct {
	DType   record.DType // tf32: fp32 in memory, which the engine rounds
	Address uint64       // 16-byte aligned
	Dims    []uint64     // elements, the fastest dimension first
	Strides []uint64     // bytes, of all dimensions but the first; multiples of 16 below 2^40
	Box     []uint32     // elements of a tile, 1 to 256; at most 128 bytes of the first dimension
	Lines   int          // bytes that the second-level cache fetches at once: 128, or 256 (0)
}

// Map is a tensor map as a parameter.
func Map(m TensorMap) Arg { return Arg{Map: &m} }

// Int is an int64_t parameter.
func Int(v int64) Arg { return Arg{Bits: uint64(v)} }

// Ints are int64_t parameters.
func Ints(v ...int64) []Arg {
	out := make([]Arg, len(v))
	for i, x := range v {
		out[i] = Int(x)
	}
	return out
}

// Uint is a uint64_t parameter.
func Uint(v uint64) Arg { return Arg{Bits: v} }

// Float is a double parameter; kernels narrow it.
func Float(v float64) Arg { return Arg{Bits: math.Float64bits(v)} }

// Ptr is the address of a buffer.
func Ptr(b Buffer) Arg { return Arg{Bits: b.Address} }

// Null is a null pointer.
func Null() Arg { return Arg{} }

// Work is the address of a byte of the workspace.
func Work(offset int64) Arg { return Arg{Bits: uint64(offset), Work: true} }

// Bool is an int64_t parameter of 0 or 1.
func Bool(v bool) Arg {
	if v {
		return Int(1)
	}
	return Int(0)
}

// ShapeError says why a kernel does not take an op's arguments.
type ShapeError struct{ Reason string }

func (e *ShapeError) Error() string { return e.Reason }

// Shape makes a ShapeError.
func Shape(format string, a ...any) error { return &ShapeError{fmt.Sprintf(format, a...)} }

// Implements reports whether the kernel is registered for the op at that precision.
func (k Kernel) Implements(name string, d record.DType) bool {
	if k.DType != d {
		return false
	}
	for _, o := range strings.Fields(k.Ops) {
		if o == name {
			return true
		}
	}
	return false
}

// Runs says why a device of that capability cannot run the kernel; nil: it can.
func (k Kernel) Runs(capability int) error {
	switch least := max(k.Least, 80); {
	case k.Only != 0 && capability != k.Only:
		return fmt.Errorf("it is code for compute capability %s alone, this device has %s", dotted(k.Only), dotted(capability))
	case k.Among != nil && !slices.Contains(k.Among, capability):
		return fmt.Errorf("it is not known to be faster than the portable one on compute capability %s", dotted(capability))
	case capability < least:
		return fmt.Errorf("it needs compute capability %s, this device has %s", dotted(least), dotted(capability))
	}
	return nil
}

func dotted(c int) string { return fmt.Sprintf("%d.%d", c/10, c%10) }

// ISA is the requirement for listings: "sm_80", "sm_90a".
func (k Kernel) ISA() []string {
	switch {
	case k.Only != 0:
		return []string{fmt.Sprintf("sm_%da", k.Only)}
	case k.Least != 0:
		return []string{fmt.Sprintf("sm_%d", k.Least)}
	}
	return nil
}

// Info describes the kernel for listings and results; missing says why this device cannot run it.
func (k Kernel) Info(opName string, missing error) backend.KernelInfo {
	return backend.KernelInfo{Name: k.Name, Op: opName, DType: k.DType, Accumulate: k.Accumulate, ISA: k.ISA(), Portable: len(k.ISA()) == 0,
		BoundC: k.BoundC, RoundedC: k.RoundedC, IntExact: k.IntExact, FLOPShare: k.FLOPShare, Computes: k.Computes, PeakISA: k.PeakISA, Available: missing}
}

// MaxGrid is the most blocks along x; y and z take 65535.
const MaxGrid = 1<<31 - 1

// Blocks is how many blocks of work cover n, at most limit (0: MaxGrid) and at least 1.
func Blocks(n, per, limit int64) int64 {
	if limit == 0 {
		limit = MaxGrid
	}
	return min(max(1, (n+per-1)/per), limit)
}

// MapGrid is the blocks of 256 threads for ridge_map over n elements: one for each pack of 16 bytes a thread.
func MapGrid(n, size int64) int64 { return Blocks(n, 256*16/size, 0) }
