//go:build cgo && linux

package native

import (
	"testing"

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
