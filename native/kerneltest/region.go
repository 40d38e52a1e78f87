//go:build cgo && linux

package kerneltest

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cacheLine is the alignment that a workspace has by contract.
const cacheLine = 64

// region is memory between two inaccessible pages, flush against the one after its end or the
// one before its start.
type region struct {
	name  string
	raw   []byte
	start int64 // offset in raw
	n     int64
	slack int64 // bytes between the end and the page after it, where the end is the flush side
}

func (r region) ptr() unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(r.raw)), r.start)
}

func (r region) bytes() []byte { return r.raw[r.start : r.start+r.n] }

// inside is the pages that hold the region.
func (r region) inside() (unsafe.Pointer, int64) {
	page := int64(os.Getpagesize())
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(r.raw)), page), int64(len(r.raw)) - 2*page
}

// place maps n bytes; align is 1 for operands, whose element size divides their bytes.
func place(name string, n, align int64, atEnd bool) (region, error) {
	page := int64(os.Getpagesize())
	inside := (n + page - 1) / page * page
	raw, err := unix.Mmap(-1, 0, int(inside+2*page), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return region{}, fmt.Errorf("map %d bytes for %s between guard pages: %w", n, name, err)
	}
	r := region{name: name, raw: raw, start: page, n: n}
	if inside > 0 {
		if err := unix.Mprotect(raw[page:page+inside], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			_ = unix.Munmap(raw)
			return region{}, fmt.Errorf("open %d bytes for %s between guard pages: %w", n, name, err)
		}
	}
	if atEnd {
		r.slack = (n+align-1)/align*align - n
		r.start = page + inside - n - r.slack
	}
	return r, nil
}

func (r region) free() { _ = unix.Munmap(r.raw) }

// locate says where an address lies beside the region; "" when it is elsewhere or inside.
func (r region) locate(address uintptr) string {
	base := uintptr(unsafe.Pointer(unsafe.SliceData(r.raw)))
	from := base + uintptr(r.start)
	switch end := from + uintptr(r.n); {
	case address < base || address >= base+uintptr(len(r.raw)):
		return ""
	case address < from:
		return fmt.Sprintf("%d bytes before the start of %s", from-address, r.name)
	case address >= end:
		return fmt.Sprintf("%d bytes after the last of %s (%d bytes)", address-end+1, r.name, r.n)
	}
	return ""
}
