//go:build cgo && linux

package native

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// heap is a range of addresses as large as the machine's memory, reserved without any, that an arena's large blocks follow each other in. So a block
// larger than all released ones takes what of them lies at the end, and memory for the rest alone. In mappings that lay anywhere a sweep's larger shape found the memory of the
// smaller ones in pieces, and was mapped and cleared anew; a guest whose host takes back what it frees finds a gigabyte again in 2.4 to 3.9 s (free page
// reporting; 0.2 s where it was kept).
type heap struct {
	all    []byte // reserved, 2 MiB-aligned
	top    int64  // below it memory is mapped, but for what was returned
	mapped int64
	none   bool // there is a limit on addresses, or no such range: blocks are mappings of their own
}

var errNoRange = errors.New("no range of addresses")

// room reports whether n more bytes can follow, and reserves the range where that has not been tried.
func (h *heap) room(n int64) bool {
	if h.all == nil && !h.none {
		h.reserve()
	}
	return n <= int64(len(h.all))-h.top
}

func (h *heap) reserve() {
	var info unix.Sysinfo_t
	var limit unix.Rlimit
	if unix.Sysinfo(&info) != nil || unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil || limit.Cur != unix.RLIM_INFINITY {
		h.none = true // what else the process needs has to fit too
		return
	}
	size := roundUp(int64(info.Totalram)*int64(max(1, info.Unit)), hugePage)
	raw, err := unix.MmapPtr(-1, 0, nil, uintptr(size+hugePage), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		h.none = true
		return
	}
	h.all = aligned(raw, size)
}

// aligned keeps the 2 MiB-aligned part of size bytes of a mapping that is 2 MiB longer.
func aligned(raw unsafe.Pointer, size int64) []byte {
	before := (hugePage - uintptr(raw)%hugePage) % hugePage
	if before > 0 {
		_ = unix.MunmapPtr(raw, before)
	}
	raw = unsafe.Add(raw, before)
	if after := hugePage - before; after > 0 {
		_ = unix.MunmapPtr(unsafe.Add(raw, size), after)
	}
	return unsafe.Slice((*byte)(raw), size)
}

// grow makes n more bytes, whole huge pages, usable behind the last. Where the system has no memory to promise, the range stays reserved.
func (h *heap) grow(n int64) (block, error) {
	if !h.room(n) {
		return block{}, errNoRange
	}
	b := block{mem: h.all[h.top : h.top+n : h.top+n]}
	if err := unix.Mprotect(b.mem, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return block{}, err
	}
	_ = unix.Madvise(b.mem, unix.MADV_HUGEPAGE) // where refused, small pages serve; the share obtained is recorded
	h.top, h.mapped = h.top+n, h.mapped+n
	return b, nil
}

// holds reports whether a block is of the range.
func (h *heap) holds(b block) bool {
	return len(h.all) > 0 && b.start() >= uintptr(unsafe.Pointer(&h.all[0])) && b.end() <= uintptr(unsafe.Pointer(&h.all[0]))+uintptr(len(h.all))
}

// ends reports whether a block is the last one mapped.
func (h *heap) ends(b block) bool {
	return h.holds(b) && b.end() == uintptr(unsafe.Pointer(&h.all[0]))+uintptr(h.top)
}

// giveBack returns a block's memory to the system. Its addresses stay reserved; below the top they are not used again before drop.
func (h *heap) giveBack(b block) {
	last := h.ends(b)
	if _, err := unix.MmapPtr(-1, 0, b.ptr(), uintptr(len(b.mem)), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED|unix.MAP_NORESERVE); err != nil {
		_ = unix.Madvise(b.mem, unix.MADV_DONTNEED)
	}
	if h.mapped -= int64(len(b.mem)); last {
		h.top -= int64(len(b.mem))
	}
}

// drop returns the range where nothing of it is mapped: the next block reserves one anew.
func (h *heap) drop() {
	if h.mapped > 0 || len(h.all) == 0 {
		return
	}
	_ = unix.MunmapPtr(unsafe.Pointer(&h.all[0]), uintptr(len(h.all)))
	*h = heap{}
}
