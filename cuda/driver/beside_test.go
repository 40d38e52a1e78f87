//go:build cuda && linux && cgo

package driver_test

import (
	"errors"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"ridge/cuda/driver"
)

// besides makes one whose crowd and launches each count in memory of their own.
func besides(t *testing.T) (*driver.Beside, error) {
	t.Helper()
	out, err := cu.MemAlloc(24)
	if err != nil {
		t.Fatal(err)
	}
	crowd := driver.Launch{Function: function(t, "clock_simt", "clock_simt"), Grid: [3]uint32{4, 1, 1}, Block: [3]uint32{64, 1, 1}, Params: []uint64{uint64(out), 8}}
	done, err := cu.MemAlloc(8)
	if err != nil {
		t.Fatal(err)
	}
	b, err := driver.NewBeside(crowd, crowd, driver.Launch{Function: function(t, "dispatch_fp64_simt", "dispatch_fp64_simt"), Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{32, 1, 1},
		Params: []uint64{uint64(done)}})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		b.Free()
		var v float64
		if err := cu.MemcpyDtoH(unsafe.Pointer(&v), done, 8); err != nil || v != 1 {
			t.Errorf("the launches' result is %v, %v", v, err)
		}
	})
	return b, nil
}

func TestLaunchesOfHighPriorityGoBeforeWhatWaits(t *testing.T) {
	context(t)
	b, err := besides(t)
	if err != nil || b.Least != 0 || b.Greatest != -5 {
		t.Fatalf("%+v, %v", b, err)
	}
	for fills, want := range map[int]bool{0: false, 1: true, 3: true} { // with nothing behind its first launch the low stream is done
		ns, end, full, err := b.Measure(fills, 1, 5)
		if err != nil || full != want || !(ns > 0) || end <= 0 {
			t.Errorf("%d launches to fill: %v ns until %d, full %v, %v", fills, ns, end, full, err)
		}
	}
}

func TestADeviceWithOnePriorityHasNoneAboveIt(t *testing.T) {
	context(t)
	t.Setenv("RIDGE_FAKE_PRIORITY", "0")
	if _, err := besides(t); !errors.Is(err, driver.ErrOnePriority) {
		t.Error(err)
	}
}
