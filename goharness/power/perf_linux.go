package power

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

type perfFD struct {
	fd   int
	seen shared
}

func openPerfEvent(pmu uint32, config uint64, cpu int) (PerfCounter, error) {
	attr := unix.PerfEventAttr{Type: pmu, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: config,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	return &perfFD{fd: fd}, nil
}

func (c *perfFD) Read() (uint64, error) {
	var b [24]byte // the value, the time enabled, the time that it counted
	n, err := unix.Read(c.fd, b[:])
	if err != nil {
		return 0, err
	}
	if n != len(b) {
		return 0, fmt.Errorf("%d bytes of a counter of %d", n, len(b))
	}
	value, enabled, ran := binary.NativeEndian.Uint64(b[:]), binary.NativeEndian.Uint64(b[8:]), binary.NativeEndian.Uint64(b[16:])
	return value, c.seen.check(enabled, ran)
}

func (c *perfFD) Close() error { return unix.Close(c.fd) }
