//go:build cuda && linux && cgo

package driver

// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// Launch is one kernel launch, or a copy. Params are 8-byte slots, or tensor maps.
type Launch struct {
	Function cu.Function
	Grid     [3]uint32
	Block    [3]uint32
	Cluster  [3]uint32 // zero: none
	Shared   uint32    // dynamic shared memory in bytes
	Params   []uint64
	Maps     map[int][128]byte // encoded tensor maps, by the number of the parameter that they are instead
	Copy     *Copy             // in place of a launch
}

// Copy of bytes between the device and page-locked memory of the host.
type Copy struct {
	To, From, Bytes uint64
	ToDevice        bool
}

// List is launches in C memory: sets of the same number of launches each.
type List struct {
	first  *C.ridge_launch
	perSet int
	sets   int
	slots  []unsafe.Pointer
	events []unsafe.Pointer
	graphs map[batch]*Graph
	next   int64 // launches of the program so far, for the rotation of the sets
}

// batch is so many executions from one set on.
type batch struct{ launches, set int }

// NewList lays out launches, as many in each set. Free must be called.
func NewList(sets [][]Launch) (*List, error) {
	if len(sets) == 0 || len(sets[0]) == 0 {
		return nil, errors.New("a list of launches without a launch")
	}
	l := &List{perSet: len(sets[0]), sets: len(sets)}
	l.first = (*C.ridge_launch)(C.calloc(C.size_t(l.perSet*l.sets), C.sizeof_ridge_launch))
	all := unsafe.Slice(l.first, l.perSet*l.sets)
	for s, set := range sets {
		if len(set) != l.perSet {
			l.Free()
			return nil, fmt.Errorf("set %d has %d launches, the first has %d", s, len(set), l.perSet)
		}
		for i, x := range set {
			c := &all[s*l.perSet+i]
			if k := x.Copy; k != nil {
				c.to, c.from, c.bytes, c.copy = C.uint64_t(k.To), C.uint64_t(k.From), C.uint64_t(k.Bytes), C.RIDGE_TO_HOST
				if k.ToDevice {
					c.copy = C.RIDGE_TO_DEVICE
				}
				continue
			}
			c.function = handle(&x.Function)
			for d := range 3 {
				c.grid[d], c.block[d], c.cluster[d] = C.uint32_t(x.Grid[d]), C.uint32_t(x.Block[d]), C.uint32_t(x.Cluster[d])
			}
			c.shared = C.uint32_t(x.Shared)
			n := max(1, len(x.Params))
			mem := C.calloc(C.size_t(2*n), 8)
			l.slots = append(l.slots, mem)
			values, pointers := unsafe.Slice((*uint64)(mem), n), unsafe.Slice((*unsafe.Pointer)(unsafe.Add(mem, 8*n)), n)
			for k, v := range x.Params {
				values[k], pointers[k] = v, unsafe.Pointer(&values[k])
			}
			for k, m := range x.Maps {
				at := C.aligned_alloc(64, 128)
				l.slots = append(l.slots, at)
				copy(unsafe.Slice((*byte)(at), len(m)), m[:])
				pointers[k] = at
			}
			c.params = (*unsafe.Pointer)(unsafe.Add(mem, 8*n))
			if x.Shared > 0 { // without asking 48 KiB are allowed, together with what the kernel has statically
				if err := check(C.ridge_allow_shared(c.function, c.shared)); err != nil {
					l.Free()
					return nil, fmt.Errorf("allow %d bytes of shared memory: %w", x.Shared, err)
				}
			}
		}
	}
	return l, nil
}

// handle reads the CUfunction out of cu's struct of one pointer.
func handle(f *cu.Function) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(f)) }

func stream(s cu.Stream) unsafe.Pointer { return unsafe.Pointer(s.C()) }

// Run executes set 0 n times, to completion.
func (l *List) Run(s cu.Stream, n int) error {
	return check(C.ridge_run(stream(s), l.first, C.int(l.perSet), C.int(n)))
}

// PerSet is the launches of one execution.
func (l *List) PerSet() int { return l.perSet }

// Free destroys the list's events, graphs and memory.
func (l *List) Free() {
	l.freeGraphs()
	if len(l.events) > 0 {
		C.ridge_events_free(&l.events[0], C.int(len(l.events)))
	}
	for _, p := range l.slots {
		C.free(p)
	}
	C.free(unsafe.Pointer(l.first))
	*l = List{}
}

// Pinned takes n bytes of page-locked host memory, which copies reach without a detour.
func Pinned(n int64) ([]byte, error) {
	var p unsafe.Pointer
	if err := check(C.ridge_pinned(&p, C.uint64_t(n))); err != nil {
		return nil, fmt.Errorf("page-lock %d bytes: %w", n, err)
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// FreePinned gives memory of Pinned back.
func FreePinned(b []byte) error { return check(C.ridge_pinned_free(unsafe.Pointer(&b[0]))) }

// FreePinnedAt does so by the address.
func FreePinnedAt(address uint64) error { return check(C.ridge_pinned_free_at(C.uint64_t(address))) }

// Swizzle128 is CU_TENSOR_MAP_SWIZZLE_128B.
const Swizzle128 = 3

// TensorMap describes a tiled tensor for TMA (cuTensorMapEncodeTiled).
type TensorMap struct {
	DType   int      // CU_TENSOR_MAP_DATA_TYPE_*
	Address uint64   // 16-byte aligned
	Dims    []uint64 // elements, the fastest dimension first
	Strides []uint64 // bytes, of all dimensions but the first; multiples of 16
	Box     []uint32 // elements of a tile
	Swizzle int      // CU_TENSOR_MAP_SWIZZLE_*: 0 none, 1 32 B, 2 64 B, 3 128 B
	Lines   int      // CU_TENSOR_MAP_L2_PROMOTION_*: how much the second-level cache fetches at once; 0 what is asked for, 1 64 B, 2 128 B, 3 256 B
}

// Encode makes the 128 bytes that a kernel takes as a __grid_constant__ parameter.
func (t TensorMap) Encode() ([128]byte, error) {
	var out [128]byte
	n := len(t.Dims)
	if n < 1 || n > 5 || len(t.Box) != n || len(t.Strides) != n-1 {
		return out, fmt.Errorf("tensor map of %d dimensions, %d strides and a box of %d: expected 1 to 5, one fewer, as many", n, len(t.Strides), len(t.Box))
	}
	mem := C.aligned_alloc(64, 128)
	defer C.free(mem)
	strides := append(t.Strides[:n-1:n-1], 0)
	if err := check(C.ridge_tensor_map(mem, C.int(t.DType), C.int(n), C.uint64_t(t.Address), (*C.uint64_t)(&t.Dims[0]),
		(*C.uint64_t)(&strides[0]), (*C.uint32_t)(&t.Box[0]), C.int(t.Swizzle), C.int(t.Lines))); err != nil {
		return out, fmt.Errorf("encode a tensor map of %v: %w", t.Dims, err)
	}
	copy(out[:], unsafe.Slice((*byte)(mem), 128))
	return out, nil
}
