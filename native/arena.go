//go:build cgo && linux

package native

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"ridge/goharness/backend"
)

const (
	hugePage  = 2 << 20
	chunkSize = 4 * hugePage // or up to half of a chunk would be left over behind a block of more than a quarter of a page
	smallMap  = 64 << 10
)

// arena hands out page-aligned memory and keeps released blocks for the next case, so that
// page faults are paid once per campaign and not once per case. Blocks below 2 MiB are cut from chunks of whole huge pages: on small pages, which lie
// anywhere, chance decides which sets of the second-level cache a buffer's lines crowd (a share of 800 KB in an L2 of 1 MiB: 200 pages, 32 colours of 8
// ways). Suspected of a chain of three stages that took 46 µs all through one run and 57 to 64 through another (Zen 4), its fused kernel 37 and 38. When nothing is
// in use the chunks, all of one size, are cut from their starts again: whatever was measured before, a case finds its small buffers at the same places
// within a huge page, in every visit and in every process. Larger blocks are cut from released ones and grow together again when they come back, and lie in one
// range of addresses (heap): where the first touch of 1 GiB takes seconds, so would 1 GiB in one array, then in two, each time. On machines of several NUMA nodes they stay apart: there a thread's share is to lie on the node of the thread that touches it first, which is decided by the page.
type arena struct {
	limit  int64 // 0: none
	mapped int64
	inUse  int64
	free   []block
	chunks []*chunk
	heap   heap
	apart  bool // all blocks are mappings of their own
}

// block is a mapping, a part of one, of the heap, or of a chunk. Blocks of 2 MiB and more are 2 MiB-aligned and advised for huge pages.
type block struct {
	mem []byte
	of  *chunk // nil: a mapping, or of the heap
}

// chunk is huge pages that small blocks are cut from, one after another.
type chunk struct {
	whole  block
	cut    int64 // bytes
	blocks int   // handed out since it was cut from its start, free ones included
}

func (b block) ptr() unsafe.Pointer { return unsafe.Pointer(&b.mem[0]) }

// take returns a block of at least n bytes: of whole huge pages from the start of the smallest released one that is as large, a smaller one by reusing the
// smallest released one that is not more than twice as large.
func (a *arena) take(n int64) (block, error) {
	if b, ok := a.cut(n); ok {
		a.inUse += int64(len(b.mem))
		return b, nil
	}
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
	b, ok := a.carve(n)
	if !ok {
		var err error
		if b, err = a.mapWithin(n); err != nil {
			return block{}, err
		}
	}
	a.inUse += int64(len(b.mem))
	return b, nil
}

// extend maps what the last released block of the heap lacks to n bytes; false where the heap or the limit has no room for it.
func (a *arena) extend(n int64) (block, bool) {
	if n < hugePage || a.apart {
		return block{}, false
	}
	more := roundUp(n, hugePage)
	if i := slices.IndexFunc(a.free, a.heap.ends); i >= 0 {
		more -= int64(len(a.free[i].mem))
	}
	if more <= 0 || more > a.limitLeft() {
		return block{}, false
	}
	b, err := a.heap.grow(more)
	if err != nil {
		return block{}, false
	}
	a.mapped += more
	a.join(b)
	return a.cut(n)
}

// cut takes whole huge pages from the start of the smallest released block that has as many.
func (a *arena) cut(n int64) (block, bool) {
	if n < hugePage || a.apart {
		return block{}, false
	}
	n = roundUp(n, hugePage)
	best := -1
	for i, b := range a.free {
		if b.of == nil && int64(len(b.mem)) >= n && (best < 0 || len(b.mem) < len(a.free[best].mem)) {
			best = i
		}
	}
	if best < 0 {
		return block{}, false
	}
	b := block{mem: a.free[best].mem[:n:n]}
	if rest := a.free[best].mem[n:]; len(rest) > 0 {
		a.free[best].mem = rest
	} else {
		a.free = slices.Delete(a.free, best, best+1)
	}
	return b, true
}

// join puts a released block of whole huge pages to those beside it, those of the heap apart from others: they are returned in their own way.
func (a *arena) join(b block) {
	a.free = slices.DeleteFunc(a.free, func(x block) bool {
		switch {
		case x.of != nil || len(x.mem) < hugePage || a.heap.holds(x) != a.heap.holds(b):
		case x.end() == b.start():
			b.mem = unsafe.Slice(&x.mem[0], len(x.mem)+len(b.mem))
			return true
		case b.end() == x.start():
			b.mem = unsafe.Slice(&b.mem[0], len(b.mem)+len(x.mem))
			return true
		}
		return false
	})
	a.free = append(a.free, b)
}

func (b block) start() uintptr { return uintptr(b.ptr()) }
func (b block) end() uintptr   { return b.start() + uintptr(len(b.mem)) }

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// mapWithin maps a block within the limit; released ones make way.
func (a *arena) mapWithin(n int64) (block, error) {
	b, ok := a.extend(n)
	if !ok && n > a.limitLeft() {
		a.trim()
		b, ok = a.extend(n)
	}
	if ok {
		return b, nil
	}
	if n > a.limitLeft() {
		return block{}, &backend.MemoryError{Need: n, Have: a.limitLeft(), What: "memory limit of the device"}
	}
	b, err := mapBlock(n)
	if err != nil {
		a.trim() // the released blocks may be what is missing
		if b, ok := a.extend(n); ok {
			return b, nil
		}
		if b, err = mapBlock(n); err != nil {
			return block{}, &backend.MemoryError{Need: n, Have: 0, What: err.Error()}
		}
	}
	a.mapped += int64(len(b.mem))
	return b, nil
}

// carve cuts a small block from a chunk, a new one where none has room; false where it is not small or no chunk can be had.
func (a *arena) carve(n int64) (block, bool) {
	page := int64(unix.Getpagesize())
	if n >= hugePage || a.apart {
		return block{}, false
	}
	n = roundUp(n, page)
	for _, c := range a.chunks {
		if int64(len(c.whole.mem))-c.cut >= n {
			return c.next(n), true
		}
	}
	size := int64(chunkSize)
	if size > a.limitLeft() {
		a.trim()
		size = min(size, max(hugePage, a.limitLeft()/hugePage*hugePage))
	}
	if size > a.limitLeft() {
		return block{}, false
	}
	whole, err := mapBlock(size)
	if err != nil {
		return block{}, false
	}
	a.mapped += size
	c := &chunk{whole: whole}
	a.chunks = append(a.chunks, c)
	return c.next(n), true
}

func (c *chunk) next(n int64) block {
	from := c.cut
	c.cut, c.blocks = c.cut+n, c.blocks+1
	return block{mem: c.whole.mem[from : from+n : from+n], of: c}
}

func (a *arena) limitLeft() int64 {
	if a.limit == 0 {
		return 1<<63 - 1
	}
	return a.limit - a.mapped
}

func (a *arena) give(b block) {
	a.inUse -= int64(len(b.mem))
	if b.of == nil && len(b.mem) >= hugePage && !a.apart {
		a.join(b)
	} else {
		a.free = append(a.free, b)
	}
	if a.inUse > 0 {
		return
	}
	a.free = slices.DeleteFunc(a.free, func(b block) bool { return b.of != nil })
	for _, c := range a.chunks {
		c.cut, c.blocks = 0, 0
	}
}

// trim returns released blocks to the system: mappings, and chunks of which every block was released.
func (a *arena) trim() {
	released := map[*chunk]int{}
	for _, b := range a.free {
		if b.of != nil {
			released[b.of]++
		}
	}
	a.free = slices.DeleteFunc(a.free, func(b block) bool {
		if b.of == nil {
			a.unmap(b)
			return true
		}
		return released[b.of] == b.of.blocks
	})
	a.chunks = slices.DeleteFunc(a.chunks, func(c *chunk) bool {
		if released[c] != c.blocks {
			return false
		}
		a.unmap(c.whole)
		return true
	})
	a.heap.drop()
}

func (a *arena) unmap(b block) {
	a.mapped -= int64(len(b.mem))
	if a.heap.holds(b) {
		a.heap.giveBack(b)
		return
	}
	_ = unix.MunmapPtr(b.ptr(), uintptr(len(b.mem)))
}

func mapBlock(n int64) (block, error) {
	align := int64(unix.Getpagesize())
	if n >= hugePage {
		align = hugePage
	}
	size := roundUp(n, align)
	extra := int64(0) // of a longer mapping the aligned part is kept
	if align == hugePage {
		extra = hugePage
	}
	if size < n || size+extra < size {
		return block{}, fmt.Errorf("map %d bytes: size overflows", n)
	}
	raw, err := unix.MmapPtr(-1, 0, nil, uintptr(size+extra), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return block{}, fmt.Errorf("map %d bytes: %w", n, err)
	}
	if extra == 0 {
		return block{mem: unsafe.Slice((*byte)(raw), size)}, nil
	}
	b := block{mem: aligned(raw, size)}
	_ = unix.Madvise(b.mem, unix.MADV_HUGEPAGE) // where refused, small pages serve; the share obtained is recorded
	return b, nil
}
