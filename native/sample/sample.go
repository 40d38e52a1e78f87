//go:build cgo && linux && (amd64 || arm64)

// Package sample tells which instructions the threads of a team execute: a timer interrupts each
// thread at a fixed rate and notes its program counter (sample.h).
package sample

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#cgo LDFLAGS: -lpthread -lrt
#include <stdlib.h>
#include "sample.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"ridge/goharness/backend"
	"ridge/native/team"
)

// Limits of the rate: below, a case of 100 ms has no sample; above, the interruptions are what is measured.
const (
	MinHz = 10
	MaxHz = 10_000
)

// ringSeconds is how long a ring lasts without being drained.
const ringSeconds = 30

// Event is one of perf_event_open(2), counted on each thread.
type Event struct {
	Name   string
	Type   uint32
	Config uint64
}

// HardwareEvents are counted where the system permits it (PERF_TYPE_HARDWARE).
func HardwareEvents() []Event {
	return []Event{{"cycles", 0, 0}, {"instructions", 0, 1}, {"llc_misses", 0, 3}}
}

// UsePerf puts C functions (ridge_perf in sample.h) in the place of perf_event_open(2), read(2) and close(2), for tests; nil: the
// system's. No sampler may be at work meanwhile.
func UsePerf(open, read, closing unsafe.Pointer) {
	if open == nil {
		C.ridge_sample_use_perf(nil)
		return
	}
	C.ridge_sample_use_perf(&C.ridge_perf{open: (*[0]byte)(open), read: (*[0]byte)(read), close: (*[0]byte)(closing)})
}

// Tick is one interruption of a thread.
type Tick struct {
	AtNS int64 // CLOCK_MONOTONIC
	PC   uint64
	// EnabledNS is for how long the thread's counters were wanted so far, CountedNS for how long of it they counted: others may have the
	// processor's counters at times. 0: they were not read at this tick.
	EnabledNS, CountedNS uint64
	Counts               [C.RIDGE_SAMPLE_EVENTS]uint64 // of the thread so far, in the order of Events
}

// Sampler samples one team. It is used by the goroutine that uses the team.
type Sampler struct {
	c       *C.struct_ridge_sampler
	team    *team.Team
	events  []Event
	counted []int // of events: those that every thread counts
	buf     []C.ridge_tick
	Ticks   [][]Tick // taken so far, per thread
	// Refused are the events that are not among Events.
	Refused    []backend.RefusedEvent
	Full, Late int64 // ticks lost to a full ring, and such as came together with the next
}

// Start samples the team's threads hz times a second until Stop.
func Start(t *team.Team, hz int, events []Event) (*Sampler, error) {
	if hz < MinHz || hz > MaxHz {
		return nil, fmt.Errorf("sample %d times a second: expected %d to %d", hz, MinHz, MaxHz)
	}
	if len(events) > C.RIDGE_SAMPLE_EVENTS {
		return nil, fmt.Errorf("sample %d events: at most %d are counted at once", len(events), C.RIDGE_SAMPLE_EVENTS)
	}
	list := make([]C.ridge_event, len(events)+1)
	for i, e := range events {
		list[i] = C.ridge_event{_type: C.uint32_t(e.Type), config: C.uint64_t(e.Config)}
	}
	c, err := C.ridge_sampler_create(C.int(t.Size()), C.int64_t(1e9/hz), C.int64_t(hz*ringSeconds), &list[0], C.int(len(events)))
	if c == nil {
		return nil, fmt.Errorf("sample the team's threads: %w", err)
	}
	s := &Sampler{c: c, team: t, events: events, buf: make([]C.ridge_tick, 1024), Ticks: make([][]Tick, t.Size())}
	if err := s.onThreads(C.ridge_sample_attach); err != nil {
		why := syscall.Errno(C.ridge_sampler_error(c))
		return nil, errors.Join(fmt.Errorf("sample the team's threads: make a timer for each: %w (%w)", why, err), s.Stop())
	}
	for i, e := range events {
		if why := syscall.Errno(C.ridge_sampler_event_error(c, C.int(i))); why != 0 {
			s.Refused = append(s.Refused, backend.RefusedEvent{Event: e.Name, Reason: eventReason(why)})
		} else {
			s.counted = append(s.counted, i)
		}
	}
	return s, nil
}

// eventReason says why a hardware event cannot be counted and what to do.
func eventReason(why syscall.Errno) string {
	const what = "perf_event_open: "
	switch why {
	case syscall.ENOENT, syscall.ENODEV, syscall.EOPNOTSUPP:
		return what + "this processor shows no such counter, as virtual machines often do: run on a machine of its own"
	case syscall.EACCES, syscall.EPERM:
		level, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
		return what + "not permitted (kernel.perf_event_paranoid is " + strings.TrimSpace(string(level)) + "): sysctl kernel.perf_event_paranoid=2, or the capability CAP_PERFMON; containers also forbid the call by seccomp"
	case syscall.ENOSYS:
		return what + "this kernel is built without it (CONFIG_PERF_EVENTS), or seccomp forbids it"
	case syscall.EINVAL, syscall.ENOSPC:
		return what + "the processor has no counter for it beside the other events (" + why.Error() + ")"
	case syscall.EBUSY:
		return what + "another user has the processor's counters to itself: end it (perf, a monitoring daemon)"
	case syscall.EMFILE, syscall.ENFILE:
		return what + why.Error() + ": each thread needs a descriptor for each event: raise ulimit -n"
	}
	return what + why.Error()
}

func (s *Sampler) onThreads(fn unsafe.Pointer) error {
	l := team.NewList([][]team.Step{{{Fn: fn, Args: unsafe.Pointer(s.c)}}})
	defer l.Free()
	return s.team.Run(l, 1)
}

// Drain takes the ticks noted so far. Call it while the team rests, at least every 30 s.
func (s *Sampler) Drain() {
	buf := s.buf
	for i := range s.Ticks {
		for {
			n := int(C.ridge_sampler_take(s.c, C.int(i), &buf[0], C.int64_t(len(buf))))
			for _, t := range buf[:n] {
				x := Tick{AtNS: int64(t.at_ns), PC: uint64(t.pc), EnabledNS: uint64(t.enabled_ns), CountedNS: uint64(t.counted_ns)}
				for k, event := range s.counted {
					x.Counts[k] = uint64(t.counts[event])
				}
				s.Ticks[i] = append(s.Ticks[i], x)
			}
			if n < len(buf) {
				break
			}
		}
	}
}

// Events are the names of what every thread counts, in the order of Tick.Counts.
func (s *Sampler) Events() []string {
	var out []string
	for _, i := range s.counted {
		out = append(out, s.events[i].Name)
	}
	return out
}

// Stop ends the timers, takes the last ticks and releases the rings. No signal comes after it.
func (s *Sampler) Stop() error {
	if s.c == nil {
		return nil
	}
	if err := s.onThreads(C.ridge_sample_detach); err != nil {
		return fmt.Errorf("stop sampling: %w", err) // the rings stay: a timer may still write to them
	}
	s.Drain()
	var full, late C.int64_t
	C.ridge_sampler_missed(s.c, &full, &late)
	s.Full, s.Late = int64(full), int64(late)
	C.ridge_sampler_destroy(s.c)
	s.c = nil
	return nil
}
