package runner

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestTheMemoryPeakIsThatOfTheCase(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("read from /proc")
	}
	if f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0); err != nil {
		t.Skipf("the mark cannot be reset here: %v", err)
	} else {
		_ = f.Close()
	}
	big := make([]byte, 256<<20)
	for i := 0; i < len(big); i += 4096 {
		big[i] = 1
	}
	with := peakResidentBytes()
	runtime.KeepAlive(big)
	big = nil
	runtime.GC()
	debug.FreeOSMemory()
	resetPeak()
	if got := peakResidentBytes(); with < 256<<20 || got > with-128<<20 {
		t.Errorf("the peak was %d bytes with 256 MiB in use and is %d after they were given back and the mark was reset", with, got)
	}
}
