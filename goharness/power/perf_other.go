//go:build !linux

package power

import "errors"

func openPerfEvent(uint32, uint64, int) (PerfCounter, error) {
	return nil, errors.New("perf_event_open is a call of Linux")
}
