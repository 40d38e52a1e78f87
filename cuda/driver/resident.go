//go:build cuda && linux && cgo

package driver

// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	"fmt"
	"time"
	"unsafe"

	"gorgonia.org/cu"
)

// Resident is a kernel(result, door, first, count, limit) that stays on the device and takes tasks from page-locked memory of the host.
type Resident struct {
	list  *List
	door  []byte
	last  uint64 // number of the last task
	limit time.Duration
}

// NewResident makes one of a launch that has the result as its one parameter. It waits for a task no longer than limit.
func NewResident(l Launch, limit time.Duration) (*Resident, error) {
	door, err := Pinned(16)
	if err != nil {
		return nil, fmt.Errorf("make the door of the resident kernel: %w", err)
	}
	clear(door)
	l.Params = append(l.Params[:1:1], uint64(uintptr(unsafe.Pointer(&door[0]))), 0, 0, uint64(limit))
	r := &Resident{door: door, limit: limit}
	if r.list, err = NewList([][]Launch{{l}}); err != nil {
		_ = FreePinned(door) // the first error is the one to tell
		return nil, fmt.Errorf("make the resident kernel: %w", err)
	}
	return r, nil
}

// Free gives its memory back.
func (r *Resident) Free() error {
	r.list.Free()
	return FreePinned(r.door)
}

// HandOver launches the kernel, untimed, and gives it q.Lead and then q.Samples times q.Launches tasks, each when the one before was answered. The
// edges of the samples are on CLOCK_MONOTONIC.
func (r *Resident) HandOver(s cu.Stream, q Timing) (edges []int64, err error) {
	if q.Lead < 0 || q.Launches < 1 || q.Samples < 1 {
		return nil, fmt.Errorf("hand over %d samples of %d tasks: expected at least one of each", q.Samples, q.Launches)
	}
	count := uint64(q.Lead) + uint64(q.Launches)*uint64(q.Samples)
	*(*uint64)(unsafe.Add(r.list.slots[0], 2*8)) = r.last
	*(*uint64)(unsafe.Add(r.list.slots[0], 3*8)) = count
	at := (*C.int64_t)(C.calloc(C.size_t(q.Samples+1), 8))
	defer C.free(unsafe.Pointer(at))
	h := (*C.ridge_handover)(C.calloc(1, C.sizeof_ridge_handover))
	defer C.free(unsafe.Pointer(h))
	h.kernel, h.door, h.first = r.list.first, (*C.uint64_t)(unsafe.Pointer(&r.door[0])), C.uint64_t(r.last)
	h.lead, h.launches, h.samples, h.limit_ns, h.edges = C.int(q.Lead), C.int(q.Launches), C.int(q.Samples), C.int64_t(r.limit), at
	r.last += count
	if err := check(C.ridge_hand_over(stream(s), h)); err != nil {
		return nil, err
	}
	if h.gave_up != 0 {
		return nil, fmt.Errorf("the resident kernel did not answer within %v", r.limit)
	}
	for _, x := range unsafe.Slice(at, q.Samples+1) {
		edges = append(edges, int64(x))
	}
	return edges, nil
}
