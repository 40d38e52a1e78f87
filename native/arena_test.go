//go:build cgo && linux

package native

import (
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestTrimReturnsReleasedBuffersToTheSystem(t *testing.T) {
	o, err := op.Builtin().New("stream_copy", map[string]string{"n": "1000000"}, record.FP32)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := New().Open("cpu", backend.OpenOptions{CPUs: []int{-1}})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	e, err := opened.Prepare(op.Single(o), backend.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*device)
	if d.mem.inUse < 8e6 {
		t.Fatalf("%d bytes in use by two tensors of 4 MB", d.mem.inUse)
	}
	if err := e.Release(); err != nil {
		t.Fatal(err)
	}
	if d.mem.mapped < 8e6 || d.MemoryInUse() != 0 {
		t.Fatalf("after release %d bytes are mapped and %d in use: they are kept for the next case", d.mem.mapped, d.MemoryInUse())
	}
	opened.(backend.Trimmer).Trim()
	if d.mem.mapped != 0 || len(d.mem.free) != 0 {
		t.Errorf("after trim %d bytes in %d blocks are still mapped", d.mem.mapped, len(d.mem.free))
	}
}

// Cases of one thread and of several take turns, on a device each.
func TestADeviceHasTheMemoryOfTheOneBefore(t *testing.T) {
	o, err := op.Builtin().New("stream_copy", map[string]string{"n": "1000000"}, record.FP32)
	if err != nil {
		t.Fatal(err)
	}
	b := New()
	mapped := int64(0)
	for i, c := range []struct {
		cpus  []int
		limit int64
	}{{[]int{-1}, 0}, {[]int{-1, -1}, 0}, {[]int{-1}, 9 << 20}, {[]int{-1}, 0}} {
		opened, err := b.Open("cpu", backend.OpenOptions{CPUs: c.cpus, Affinity: "none", MemoryLimit: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		d := opened.(*device)
		if had := d.mem.mapped; had != mapped || i > 0 && d.mem.limitLeft() < c.limit {
			t.Errorf("device %d begins with %d bytes, the one before had %d; %d may be mapped beside them", i, had, mapped, d.mem.limitLeft())
		}
		e, err := opened.Prepare(op.Single(o), backend.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if mapped > 0 && d.mem.mapped > mapped+hugePage {
			t.Errorf("device %d mapped %d bytes beside the %d that it had", i, d.mem.mapped-mapped, mapped)
		}
		if mapped = d.mem.mapped; i < 3 { // the last one is left with a buffer in use
			if err := e.Release(); err != nil {
				t.Fatal(err)
			}
		}
		if err := opened.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if b.spare.held.mapped != 0 {
		t.Errorf("%d bytes of a device with buffers in use are kept", b.spare.held.mapped)
	}
}

// Small blocks lie within huge pages, beside each other; they come and go like mappings of their own.
func TestSmallBlocksAreCutFromHugePages(t *testing.T) {
	var a arena
	sizes := []int64{1, 5000, 800 << 10, 64 << 10, 1900 << 10, 1 << 20, 300 << 10, 4096, 2 << 20}
	var blocks []block
	taken := map[uintptr]bool{} // pages
	for _, n := range sizes {
		b, err := a.take(n)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(b.mem)) < n || int64(cap(b.mem)) != int64(len(b.mem)) && b.of != nil {
			t.Errorf("%d bytes asked for: %d, capacity %d", n, len(b.mem), cap(b.mem))
		}
		if (b.of == nil) != (n >= hugePage) {
			t.Errorf("%d bytes: a part of a chunk is %v", n, b.of != nil)
		}
		for at := 0; at < len(b.mem); at += 4096 {
			p := uintptr(unsafe.Pointer(&b.mem[at]))
			if p%4096 != 0 || taken[p] {
				t.Fatalf("%d bytes: page %#x is not a page's start or another block's", n, p)
			}
			taken[p] = true
			b.mem[at] = 1
		}
		blocks = append(blocks, b)
	}
	if a.mapped > 16<<20 {
		t.Errorf("%d bytes are mapped for %d", a.mapped, a.inUse)
	}
	mapped := a.mapped
	for _, b := range blocks[1:] {
		a.give(b)
	}
	again, err := a.take(790 << 10)
	if err != nil || &again.mem[0] != &blocks[2].mem[0] {
		t.Errorf("the released block of 800 KiB does not serve 790 KiB: %v", err)
	}
	a.give(again)
	a.trim()
	if a.mapped == 0 || a.mapped >= mapped {
		t.Errorf("after trim %d of %d bytes are mapped, with one block in use", a.mapped, mapped)
	}
	blocks[0].mem[0] = 2 // still there
	a.give(blocks[0])
	a.trim()
	if a.mapped != 0 || a.inUse != 0 || len(a.free)+len(a.chunks) != 0 {
		t.Errorf("after all were released %d bytes are mapped, %d in use, in %d blocks and %d chunks", a.mapped, a.inUse, len(a.free), len(a.chunks))
	}
}

// A case finds its small buffers at the same places whatever was there before it: at other ones they would crowd other sets of a cache.
func TestTheSamePlacesAreFoundAgainWhenNothingIsInUse(t *testing.T) {
	var a arena
	round := func(sizes ...int64) (places []uintptr) {
		var blocks []block
		for _, n := range sizes {
			b, err := a.take(n)
			if err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, b)
			places = append(places, uintptr(unsafe.Pointer(&b.mem[0]))%hugePage)
		}
		for _, b := range blocks {
			a.give(b)
		}
		return places
	}
	sizes := []int64{800 << 10, 3 << 20, 300 << 10, 1900 << 10, 5000, 1 << 20, 1900 << 10, 1900 << 10, 1900 << 10, 700 << 10}
	first := round(sizes...)
	mapped := a.mapped
	for _, between := range [][]int64{{1}, {1900 << 10, 4096}, {64 << 10, 64 << 10, 1 << 20, 2 << 20, 1500 << 10}, {100 << 10, 1900 << 10, 1900 << 10, 1900 << 10, 1900 << 10, 1900 << 10}} {
		round(between...)
		if again := round(sizes...); !slices.Equal(first, again) {
			t.Errorf("behind blocks of %d bytes: places within a huge page %x, at first %x", between, again, first)
		}
	}
	if a.mapped > mapped+2<<20 {
		t.Errorf("%d bytes are mapped, %d at first", a.mapped, mapped)
	}
	var b arena
	a, b = b, a
	if other := round(sizes...); !slices.Equal(first, other) {
		t.Errorf("in another process: places %x, at first %x", other, first)
	}
	a.trim()
	b.trim()
	if a.mapped+b.mapped != 0 {
		t.Errorf("after trim %d and %d bytes are mapped", a.mapped, b.mapped)
	}
}

// Arrays of one size, then of another, lie in the same memory: what the kernel has cleared once is not mapped anew.
func TestLargeBlocksAreCutFromReleasedOnes(t *testing.T) {
	const mib = 1 << 20
	var a arena
	take := func(sizes ...int64) (out []block) {
		for _, n := range sizes {
			b, err := a.take(n)
			if err != nil {
				t.Fatal(err)
			}
			if int64(len(b.mem)) < n || b.start()%hugePage != 0 {
				t.Fatalf("%d bytes asked for: %d at %#x", n, len(b.mem), b.start())
			}
			b.mem[0], b.mem[len(b.mem)-1] = 1, 1
			for _, x := range out {
				if x.start() < b.end() && b.start() < x.end() {
					t.Fatalf("blocks of %d and %d bytes lie over each other", len(x.mem), len(b.mem))
				}
			}
			out = append(out, b)
		}
		return out
	}
	give := func(blocks []block, order ...int) {
		for _, i := range order {
			a.give(blocks[i])
		}
	}
	give(take(40*mib), 0)
	mapped := a.mapped
	give(take(20*mib, 20*mib), 1, 0)
	give(take(13*mib, 12*mib, 11*mib+1), 1, 0, 2) // of 14, 12 and 12
	give(take(40*mib), 0)                         // grown together again
	if a.mapped != mapped || a.inUse != 0 {
		t.Errorf("%d bytes are mapped, %d at first; %d in use", a.mapped, mapped, a.inUse)
	}
	blocks := take(10*mib, 10*mib)
	a.give(blocks[0])
	a.trim()
	if a.mapped != 10*mib || blocks[1].mem[0] != 1 {
		t.Errorf("with one of two parts released %d bytes are mapped after trim, want those of the other", a.mapped)
	}
	a.give(blocks[1])
	a.trim()
	if a.mapped != 0 || len(a.free) != 0 {
		t.Errorf("%d bytes are mapped in %d blocks after all were released", a.mapped, len(a.free))
	}
}

// A limit below a chunk leaves small blocks mappings of their own; one that is used up is an error.
func TestALimitBelowAChunkHolds(t *testing.T) {
	a := arena{limit: 1 << 20}
	b, err := a.take(600 << 10)
	if err != nil || b.of != nil {
		t.Fatalf("600 KiB of 1 MiB: %v, a part of a chunk is %v", err, b.of != nil)
	}
	if _, err := a.take(600 << 10); err == nil {
		t.Error("1.2 MiB of 1 MiB were handed out")
	}
	a.give(b)
	a.trim()

	a = arena{limit: 3 << 20} // what was released makes way for a chunk, smaller than usual
	if b, err = a.take(2 << 20); err != nil {
		t.Fatal(err)
	}
	a.give(b)
	if b, err = a.take(600 << 10); err != nil || b.of == nil || a.mapped != hugePage {
		t.Errorf("600 KiB of 3 MiB, 2 released: %v, a part of a chunk is %v, %d bytes mapped", err, b.of != nil, a.mapped)
	}
	a.give(b)
	a.trim()

	a = arena{apart: true}
	if b, err = a.take(600 << 10); err != nil || b.of != nil {
		t.Errorf("several NUMA nodes: %v, a part of a chunk is %v", err, b.of != nil)
	}
	a.give(b)
	a.trim()
}

// What grows is mapped behind what is there: of a larger block only what the last released one lacks.
func TestALargerBlockGrowsOutOfTheReleasedOne(t *testing.T) {
	const mib = 1 << 20
	var a arena
	if !a.heap.room(1) {
		t.Skip("no range of addresses can be had here")
	}
	take := func(n, mapped int64) block {
		t.Helper()
		b, err := a.take(n)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(b.mem)) < n || b.start()%hugePage != 0 || a.mapped != mapped {
			t.Errorf("%d MiB asked for: %d at %#x, %d MiB mapped in all, want %d", n/mib, len(b.mem), b.start(), a.mapped/mib, mapped/mib)
		}
		b.mem[0], b.mem[len(b.mem)-1] = 1, 1
		return b
	}
	first := take(20*mib, 20*mib)
	second := take(10*mib, 30*mib)
	third := take(8*mib, 38*mib)
	a.give(third)
	wide := take(40*mib, 70*mib) // third and what follows it
	if wide.start() != third.start() || second.mem[0] != 1 {
		t.Errorf("the larger block lies at %#x and not at %#x, or over another", wide.start(), third.start())
	}
	a.give(second)
	a.trim() // from between two that are in use
	if a.mapped != 60*mib || first.mem[len(first.mem)-1] != 1 || wide.mem[0] != 1 {
		t.Errorf("%d MiB are mapped behind the trim, want 60", a.mapped/mib)
	}
	third = take(10*mib, 70*mib)
	if third.start() != wide.end() {
		t.Errorf("a block lies at %#x: what was returned stays reserved while the range is in use, want %#x", third.start(), wide.end())
	}
	for _, b := range []block{wide, first, third} {
		a.give(b)
	}
	a.trim()
	if a.mapped != 0 || a.heap.all != nil || len(a.free) != 0 {
		t.Errorf("behind the last trim %d bytes are mapped, %d reserved", a.mapped, len(a.heap.all))
	}
	a.give(take(4*mib, 4*mib))
	a.trim()
}

// Where no range of addresses can be had (ulimit -v), or all of it is handed out, large blocks are mappings of their own.
func TestWithoutARangeLargeBlocksAreMappingsOfTheirOwn(t *testing.T) {
	const mib = 1 << 20
	for name, h := range map[string]heap{"none": {none: true}, "full": {}} {
		a := arena{heap: h}
		var all []byte
		if name == "full" {
			if !a.heap.room(1) {
				continue // none can be had here
			}
			all = a.heap.all
			a.heap.all = all[:6*mib] // as on a machine of 6 MiB
		}
		var blocks []block
		for range 3 {
			b, err := a.take(4 * mib)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			b.mem[0], b.mem[len(b.mem)-1] = 1, 1
			blocks = append(blocks, b)
		}
		if in := a.heap.mapped; in != map[string]int64{"none": 0, "full": 4 * mib}[name] || a.mapped != 12*mib {
			t.Errorf("%s: %d bytes of the range, %d in all", name, in, a.mapped)
		}
		for _, b := range blocks {
			a.give(b)
		}
		a.trim()
		if a.mapped != 0 || len(a.free) != 0 || len(a.heap.all) != 0 {
			t.Errorf("%s: %d bytes are mapped behind the trim, %d reserved", name, a.mapped, len(a.heap.all))
		}
		if len(all) > 0 {
			_ = unix.MunmapPtr(unsafe.Pointer(&all[6*mib]), uintptr(len(all)-6*mib))
		}
	}
}

// A range that was reserved for a block which then could not be had goes with the next trim, and a block that is too large leaves it as it was.
func TestARangeThatNothingIsMappedOfIsReturned(t *testing.T) {
	var a arena
	if !a.heap.room(1) {
		t.Skip("no range of addresses can be had here")
	}
	if _, err := a.heap.grow(int64(len(a.heap.all)) + hugePage); err == nil || a.heap.top != 0 || a.heap.mapped != 0 || len(a.heap.all) == 0 {
		t.Errorf("a block larger than the range: %v; top %d, %d mapped", err, a.heap.top, a.heap.mapped)
	}
	a.trim()
	if a.heap.all != nil {
		t.Errorf("%d bytes stay reserved", len(a.heap.all))
	}
}

// A mapping that happens to lie beside the range is not joined with a block of it.
func TestAMappingBesideTheRangeStaysApart(t *testing.T) {
	var a arena
	b, err := a.take(2 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if !a.heap.holds(b) {
		t.Skip("no range of addresses can be had here")
	}
	beside := block{mem: unsafe.Slice((*byte)(unsafe.Add(b.ptr(), -hugePage)), hugePage)} // never touched
	a.free = []block{beside}
	a.give(b)
	if len(a.free) != 2 {
		t.Errorf("%d free blocks, want 2", len(a.free))
	}
	a.free = slices.DeleteFunc(a.free, func(x block) bool { return x.start() == beside.start() })
	a.trim()
	if a.mapped != 0 || a.heap.all != nil {
		t.Errorf("%d bytes are mapped behind the trim, %d reserved", a.mapped, len(a.heap.all))
	}
}
