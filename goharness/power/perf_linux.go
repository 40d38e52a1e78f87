package power

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

type perfFD int

func openPerfEvent(pmu uint32, config uint64, cpu int) (PerfCounter, error) {
	attr := unix.PerfEventAttr{Type: pmu, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: config}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open: %w", err)
	}
	return perfFD(fd), nil
}

func (fd perfFD) Read() (uint64, error) {
	var b [8]byte
	n, err := unix.Read(int(fd), b[:])
	if err != nil {
		return 0, err
	}
	if n != len(b) {
		return 0, fmt.Errorf("%d bytes of a counter of 8", n)
	}
	return binary.NativeEndian.Uint64(b[:]), nil
}

func (fd perfFD) Close() error { return unix.Close(int(fd)) }
