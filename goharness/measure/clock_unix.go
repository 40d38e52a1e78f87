//go:build unix

package measure

import (
	"time"

	"golang.org/x/sys/unix"
)

// MonotonicNow is the time of the host's CLOCK_MONOTONIC, which has the same zero in every
// process of the host, so that a parent can relate a worker's edges to its own.
func MonotonicNow() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// POSIX knows two failures, a bad clock id and a bad address; neither can occur here.
		return 0
	}
	return time.Duration(ts.Nano())
}
