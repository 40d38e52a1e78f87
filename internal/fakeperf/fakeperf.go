//go:build cgo && linux && (amd64 || arm64)

// Package fakeperf answers perf_event_open(2) of the sampler as tests ask for: virtual machines have no counters and
// containers forbid the call. Only tests import it.
package fakeperf

/*
#cgo CFLAGS: -O2 -Wall -DRIDGE_STAMP=d425d404b121
#include "fakeperf.h"
*/
import "C"

import (
	"syscall"
	"unsafe"

	"ridge/native/sample"
)

// Event is what opening one gives: a counter that rises by Step with each reading, Opens times, then Err (0: always a counter).
type Event struct {
	Type         uint32
	Config, Step uint64
	Opens        int
	Err          syscall.Errno
}

// Script is what the calls answer. Events that are not in it are refused with ENOENT.
type Script struct {
	Events []Event
	// PerMille of the time the counters count.
	PerMille int
	// ReadErr of each reading; 0: none fails.
	ReadErr syscall.Errno
}

// Install answers by the script until remove is called. No sampler may be at work meanwhile.
func Install(s Script) (remove func()) {
	rules := make([]C.fakeperf_rule, len(s.Events)+1)
	for i, e := range s.Events {
		rules[i] = C.fakeperf_rule{_type: C.uint32_t(e.Type), config: C.uint64_t(e.Config), step: C.uint64_t(e.Step), opens: C.int(e.Opens), err: C.int(e.Err)}
	}
	C.fakeperf_install(&rules[0], C.int(len(s.Events)), C.int(s.PerMille), C.int(s.ReadErr))
	sample.UsePerf(unsafe.Pointer(C.fakeperf_open), unsafe.Pointer(C.fakeperf_read), unsafe.Pointer(C.fakeperf_close))
	return func() { sample.UsePerf(nil, nil, nil) }
}

// Open is how many counters are open.
func Open() int { return int(C.fakeperf_open_now()) }
