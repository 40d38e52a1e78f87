//go:build cgo && linux && (amd64 || arm64)

package main

/*
#cgo CFLAGS: -O2 -Wall
#include "count.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// ways are what may interrupt the loop.
var ways = []struct {
	way  C.int
	what string
}{
	{C.COUNT_TWO_TIMERS, "two timers in turn with a signal, as ridge samples"},
	{C.COUNT_ONE_TIMER, "one timer with a signal"},
	{C.COUNT_BARE_TIMER, "a timer without a signal: the interrupt alone"},
	{C.COUNT_OFF_PHASE, "two timers with a signal, 300 µs beside whole milliseconds"},
}

// count prints the time that goes missing from a loop around the clock for each tick, on one thread and CPU: what the kernel's own
// ticks take is measured in turn with it and taken off.
func count(hz int, budget time.Duration) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return fmt.Errorf("read the CPUs of this thread: %w", err)
	}
	for cpu := range 1024 { // the last: interrupts of devices tend to go to the first
		if old.IsSet(cpu) {
			one.Zero()
			one.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("pin this thread: %w", err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &old) }()
	missing := make([][]float64, len(ways))
	for end := time.Now().Add(budget); time.Now().Before(end) || len(missing[0]) < 3; {
		for i, w := range ways {
			var ticks, own C.int64_t
			none := float64(C.ridge_count(C.COUNT_NOTHING, C.int(hz), &own))
			with := float64(C.ridge_count(w.way, C.int(hz), &ticks))
			if none < 0 || with < 0 {
				return errors.New("a timer could not be made")
			}
			if ticks > 0 {
				missing[i] = append(missing[i], (with-none)/float64(ticks)/1e3)
			}
		}
	}
	for i, w := range ways {
		if len(missing[i]) == 0 {
			continue
		}
		slices.Sort(missing[i])
		n := len(missing[i])
		us := missing[i][n/2]
		fmt.Printf("%-62s %6.2f µs a tick (%.2f to %.2f in %d runs): %.2f %% at %d Hz\n", w.what, us, missing[i][n/4], missing[i][3*n/4], n, us*float64(hz)/1e4, hz)
	}
	fmt.Printf("%-62s %6.2f µs\n", "a signal of the thread to itself: delivery, handler and return", float64(C.ridge_count_signal())/1e3)
	fmt.Printf("%-62s %6.2f µs\n", "a call of the clock", float64(C.ridge_count_clock())/1e3)
	return nil
}
