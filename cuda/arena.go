//go:build cuda && linux && cgo

package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"ridge/cuda/driver"
	"ridge/goharness/backend"
)

// block is device memory, or page-locked memory of the host, which the device reaches at the same address.
type block struct {
	ptr  cu.DevicePtr
	size int64
	host bool
}

// free returns it to the driver.
func (b block) free() {
	if b.host {
		_ = driver.FreePinnedAt(uint64(b.ptr))
		return
	}
	_ = cu.MemFree(b.ptr)
}

// arena hands out device memory and keeps released blocks for the next case of the same sizes. A
// block has the size asked for and no more, so that tools that check bounds see every access beside it.
// Its methods are called on the device's thread.
type arena struct {
	inUse    int64
	reserved int64 // from the driver
	peak     int64 // of inUse
	free     map[int64][]block
	host     bool // page-locked memory of the host
}

// uses counts n more bytes in use.
func (a *arena) uses(n int64) {
	a.inUse += n
	a.peak = max(a.peak, a.inUse)
}

// alignment of allocations by the driver.
const alignment = 256

func (a *arena) take(n int64) (block, error) {
	if list := a.free[n]; len(list) > 0 {
		b := list[len(list)-1]
		a.free[n] = list[:len(list)-1]
		a.uses(n)
		return b, nil
	}
	p, err := a.alloc(n)
	if outOfMemory(err) {
		a.trim() // the released blocks may be what is missing
		p, err = a.alloc(n)
	}
	if outOfMemory(err) && a.host {
		return block{}, &backend.MemoryError{Need: n, What: "page-locked memory of the host: " + driver.Wrap(err).Error()}
	}
	if outOfMemory(err) {
		left, _, _ := cu.MemInfo()
		return block{}, &backend.MemoryError{Need: n, Have: left, What: "free memory of the device: " + driver.Wrap(err).Error()}
	}
	if err != nil {
		return block{}, fail(fmt.Sprintf("allocate %d bytes", n), err)
	}
	a.reserved += n
	a.uses(n)
	return block{p, n, a.host}, nil
}

func (a *arena) alloc(n int64) (cu.DevicePtr, error) {
	if !a.host {
		return cu.MemAlloc(n)
	}
	b, err := driver.Pinned(n)
	return cu.DevicePtr(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), err
}

func outOfMemory(err error) bool {
	var e driver.Error
	return errors.As(driver.Wrap(err), &e) && e.OutOfMemory()
}

func (a *arena) give(b block) {
	if a.free == nil {
		a.free = map[int64][]block{}
	}
	a.inUse -= b.size
	a.free[b.size] = append(a.free[b.size], b)
}

// trim returns the released blocks to the driver.
func (a *arena) trim() {
	for _, list := range a.free {
		for _, b := range list {
			b.free() // fails when the context is lost, which the next call says
			a.reserved -= b.size
		}
	}
	a.free = nil
}

// fail says what was being done when the driver refused. An error that the context does not survive
// is a backend.LostError.
func fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	err = driver.Wrap(err)
	var e driver.Error
	if errors.As(err, &e) && e.Lost() {
		return &backend.LostError{Reason: fmt.Sprintf("%s: %v; the context is lost", doing, err)}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
