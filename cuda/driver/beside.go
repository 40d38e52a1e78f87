//go:build cuda && linux && cgo

package driver

// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrOnePriority: all streams of the device have the same.
var ErrOnePriority = errors.New("the device has one priority of streams alone")

// Beside times launches on a stream of the greatest priority while one of the least keeps the device busy.
type Beside struct {
	Least, Greatest int // priorities; the lower number is the greater
	streams         [2]unsafe.Pointer
	fill, kernel    *List
	events          List
}

// NewBeside makes one: begin and keep are the low stream's launches, kernel is what is timed.
func NewBeside(begin, keep, kernel Launch) (*Beside, error) {
	b := &Beside{}
	var least, greatest C.int
	if err := check(C.ridge_priorities(&least, &greatest)); err != nil {
		return nil, fmt.Errorf("ask for the priorities of streams: %w", err)
	}
	if b.Least, b.Greatest = int(least), int(greatest); least == greatest {
		return nil, fmt.Errorf("%w (%d)", ErrOnePriority, least)
	}
	err := b.make(begin, keep, kernel)
	if err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}

func (b *Beside) make(begin, keep, kernel Launch) (err error) {
	for i, priority := range []int{b.Least, b.Greatest} {
		if err := check(C.ridge_stream(C.int(priority), &b.streams[i])); err != nil {
			return fmt.Errorf("make a stream of priority %d: %w", priority, err)
		}
	}
	if b.fill, err = NewList([][]Launch{{begin, keep}}); err != nil {
		return err
	}
	if b.kernel, err = NewList([][]Launch{{kernel}}); err != nil {
		return err
	}
	return b.events.makeEvents(3)
}

// Free gives everything back.
func (b *Beside) Free() {
	for _, l := range []*List{b.fill, b.kernel, &b.events} {
		if l != nil {
			l.Free()
		}
	}
	for _, s := range b.streams {
		if s != nil {
			C.ridge_stream_free(s) // fails when the context is lost, which the next call says
		}
	}
}

// Measure fills the low stream with so many launches, and times launches behind lead untimed ones. full: the device was still busy when
// they had ended. end is on CLOCK_MONOTONIC.
func (b *Beside) Measure(fills, lead, launches int) (ns float64, end int64, full bool, err error) {
	events := cArray(b.events.events)
	defer C.free(unsafe.Pointer(events))
	q := (*C.ridge_beside)(C.calloc(1, C.sizeof_ridge_beside))
	defer C.free(unsafe.Pointer(q))
	q.low, q.high, q.fill, q.fills, q.kernel = b.streams[0], b.streams[1], b.fill.first, C.int(fills), b.kernel.first
	q.lead, q.launches, q.events = C.int(lead), C.int(launches), events
	err = check(C.ridge_launch_beside(q))
	return float64(q.ns), int64(q.end), q.full != 0, err
}
