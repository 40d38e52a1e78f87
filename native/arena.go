//go:build cgo && linux

package native

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"ridge/goharness/backend"
)

const (
	hugePage = 2 << 20
	smallMap = 64 << 10
)

// arena hands out page-aligned memory and keeps released blocks for the next case, so that
// page faults are paid once per campaign and not once per case.
type arena struct {
	limit  int64 // 0: none
	mapped int64
	inUse  int64
	free   []block
}

// block is one mapping. Blocks of 2 MiB and more are 2 MiB-aligned and advised for huge pages.
type block struct {
	raw []byte // what the kernel gave
	mem []byte // the aligned part
}

func (b block) ptr() unsafe.Pointer { return unsafe.Pointer(&b.mem[0]) }

// take returns a block of at least n bytes, reusing the smallest released one that is not
// more than twice as large.
func (a *arena) take(n int64) (block, error) {
	best := -1
	for i, b := range a.free {
		size := int64(len(b.mem))
		if size >= n && size <= 2*n+smallMap && (best < 0 || size < int64(len(a.free[best].mem))) {
			best = i
		}
	}
	if best >= 0 {
		b := a.free[best]
		a.free = append(a.free[:best], a.free[best+1:]...)
		a.inUse += int64(len(b.mem))
		return b, nil
	}
	if n > a.limitLeft() {
		a.trim()
	}
	if n > a.limitLeft() {
		return block{}, &backend.MemoryError{Need: n, Have: a.limitLeft(), What: "memory limit of the device"}
	}
	b, err := mapBlock(n)
	if err != nil {
		a.trim() // the released blocks may be what is missing
		if b, err = mapBlock(n); err != nil {
			return block{}, &backend.MemoryError{Need: n, Have: 0, What: err.Error()}
		}
	}
	a.mapped += int64(len(b.mem))
	a.inUse += int64(len(b.mem))
	return b, nil
}

func (a *arena) limitLeft() int64 {
	if a.limit == 0 {
		return 1<<63 - 1
	}
	return a.limit - a.mapped
}

func (a *arena) give(b block) {
	a.inUse -= int64(len(b.mem))
	a.free = append(a.free, b)
}

// trim returns all released blocks to the system.
func (a *arena) trim() {
	for _, b := range a.free {
		a.mapped -= int64(len(b.mem))
		_ = unix.Munmap(b.raw)
	}
	a.free = nil
}

func mapBlock(n int64) (block, error) {
	align := int64(unix.Getpagesize())
	if n >= hugePage {
		align = hugePage
	}
	size := (n + align - 1) / align * align
	extra := int64(0)
	if align == hugePage {
		extra = hugePage
	}
	if size < n || size+extra < size {
		return block{}, fmt.Errorf("map %d bytes: size overflows", n)
	}
	raw, err := unix.Mmap(-1, 0, int(size+extra), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return block{}, fmt.Errorf("map %d bytes: %w", n, err)
	}
	off := int64(0)
	if extra > 0 {
		off = (hugePage - int64(uintptr(unsafe.Pointer(&raw[0]))%hugePage)) % hugePage
	}
	b := block{raw: raw, mem: raw[off : off+size]}
	if align == hugePage {
		_ = unix.Madvise(b.mem, unix.MADV_HUGEPAGE) // where refused, small pages serve; the share obtained is recorded
	}
	return b, nil
}
