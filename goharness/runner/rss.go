package runner

import (
	"os"
	"strconv"
	"strings"
)

// residentBytes is this process's resident set now; 0 where /proc is not there.
func residentBytes() int64 { return statusBytes("VmRSS:") }

// resetPeak sets the resident set's high-water mark back to what is resident now (proc(5),
// clear_refs). Where that is refused the mark is that of all cases so far.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200) }

// peakResidentBytes is the resident set's high-water mark since resetPeak.
func peakResidentBytes() int64 { return statusBytes("VmHWM:") }

func statusBytes(key string) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, key); ok {
			f := strings.Fields(rest)
			if len(f) == 2 && f[1] == "kB" {
				n, _ := strconv.ParseInt(f[0], 10, 64)
				return n << 10
			}
		}
	}
	return 0
}
