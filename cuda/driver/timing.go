//go:build cuda && linux && cgo

package driver

// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"gorgonia.org/cu"
)

// Gate holds a stream while its queue is filled, so that no work of the host lies between the launches of a measurement. It is a
// kernel of one thread that reads a word of page-locked memory until it holds a ticket, or a time has passed.
type Gate struct {
	list   *List
	door   []byte
	ticket uint64
	// Ahead is how many operations may wait behind it: a driver's queue is finite, and a full one would block the host that is to
	// open the gate. NVIDIA's hold about 1024 launches.
	Ahead int
}

// GateAhead operations fit into the queue of every driver.
const GateAhead = 512

// NewGate makes a gate of the kernel gate_simt(door, ticket, limit).
func NewGate(f cu.Function, limit time.Duration) (*Gate, error) {
	door, err := Pinned(16)
	if err != nil {
		return nil, fmt.Errorf("make the door of the blocking kernel: %w", err)
	}
	clear(door)
	g := &Gate{door: door, Ahead: GateAhead}
	g.list, err = NewList([][]Launch{{{Function: f, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1},
		Params: []uint64{uint64(uintptr(unsafe.Pointer(&door[0]))), 0, uint64(limit)}}}})
	if err != nil {
		_ = FreePinned(door) // the first error is the one to tell
		return nil, fmt.Errorf("make the blocking kernel: %w", err)
	}
	return g, nil
}

// Free gives its memory back.
func (g *Gate) Free() error {
	g.list.Free()
	return FreePinned(g.door)
}

// Timing asks List.Measure for samples.
type Timing struct {
	Lead     int // untimed executions before the first sample
	Launches int // executions of a sample
	Samples  int
	Graphs   bool  // each sample is one launch of a graph, which Graphs must have made
	Gate     *Gate // nil: none
}

// Timed is what List.Measure saw.
type Timed struct {
	NS     []float64 // of each sample, by the device's clock
	LeadNS float64
	// Anchor is CLOCK_MONOTONIC when the lead could begin, 0 without a gate; End when the host saw the last event.
	Anchor, End int64
	// Operations that were enqueued, and how many of them before the device began.
	Operations, Behind int
	// GaveUp: the gate opened by its time limit; the device did not find the queue filled.
	GaveUp bool
}

// Measure times samples with events, back to back, the sets in turn from where the last call ended.
func (l *List) Measure(s cu.Stream, q Timing) (Timed, error) {
	if q.Lead < 0 || q.Launches < 1 || q.Samples < 1 {
		return Timed{}, fmt.Errorf("measure %d samples of %d launches: expected at least one of each", q.Samples, q.Launches)
	}
	if err := l.makeEvents(q.Samples + 2); err != nil {
		return Timed{}, err
	}
	events := cArray(l.events[:q.Samples+2])
	defer C.free(unsafe.Pointer(events))
	ns := (*C.double)(C.calloc(C.size_t(q.Samples), 8))
	defer C.free(unsafe.Pointer(ns))
	t := (*C.ridge_timing)(C.calloc(1, C.sizeof_ridge_timing))
	defer C.free(unsafe.Pointer(t))
	t.lead, t.launches, t.samples, t.first, t.events, t.ns = C.int(q.Lead), C.int(q.Launches), C.int(q.Samples), C.int64_t(l.next), events, ns
	if q.Graphs {
		graphs := make([]unsafe.Pointer, 1+q.Samples)
		for k, b := range l.batches(q.Lead, q.Launches, q.Samples) {
			if b.launches == 0 {
				continue
			}
			g := l.graphs[b]
			if g == nil {
				return Timed{}, fmt.Errorf("measure %d samples of %d launches: no graph of them was made", q.Samples, q.Launches)
			}
			graphs[k] = g.exec
		}
		t.graphs = cArray(graphs)
		defer C.free(unsafe.Pointer(t.graphs))
	}
	if g := q.Gate; g != nil {
		g.ticket++
		t.gate, t.door, t.ticket, t.ahead = g.list.first, (*C.uint64_t)(unsafe.Pointer(&g.door[0])), C.uint64_t(g.ticket), C.int(g.Ahead)
		*(*uint64)(unsafe.Add(g.list.slots[0], 8)) = g.ticket
	}
	err := check(C.ridge_measure(stream(s), l.first, C.int(l.perSet), C.int(l.sets), t))
	l.next += int64(q.Lead) + int64(q.Launches)*int64(q.Samples)
	out := Timed{NS: make([]float64, q.Samples), LeadNS: float64(t.lead_ns), Anchor: int64(t.anchor), End: int64(t.end),
		Operations: int(t.operations), Behind: int(t.behind), GaveUp: t.gave_up != 0}
	for i, x := range unsafe.Slice(ns, q.Samples) {
		out.NS[i] = float64(x)
	}
	return out, err
}

// cArray copies pointers to C memory.
func cArray(p []unsafe.Pointer) *unsafe.Pointer {
	out := (*unsafe.Pointer)(C.calloc(C.size_t(max(1, len(p))), 8))
	copy(unsafe.Slice(out, len(p)), p)
	return out
}

func (l *List) makeEvents(n int) error {
	for len(l.events) < n {
		var e [1]unsafe.Pointer
		if err := check(C.ridge_events(&e[0], 1)); err != nil {
			return fmt.Errorf("make an event: %w", err)
		}
		l.events = append(l.events, e[0])
	}
	return nil
}

// setOf is the set that execution n uses.
func (l *List) setOf(n int64) int { return int(n % int64(l.sets)) }

// GraphNodes is how many launches the graphs for samples of so many executions hold together: one graph for each set that a sample
// may begin with.
func (l *List) GraphNodes(launches int) int64 {
	a, b := l.sets, launches
	for b != 0 {
		a, b = b, a%b
	}
	return int64(l.sets/a) * int64(launches) * int64(l.perSet)
}

// Graphs makes the graphs that samples after a lead need. Those of other batches are given up.
func (l *List) Graphs(s cu.Stream, lead, launches, samples int) error {
	for b := range l.graphs {
		if b.launches != launches {
			l.freeGraphs()
			break
		}
	}
	for _, b := range l.batches(lead, launches, samples) {
		if b.launches == 0 || l.graphs[b] != nil {
			continue
		}
		g, err := l.graph(s, b)
		if err != nil {
			return err
		}
		if l.graphs == nil {
			l.graphs = map[batch]*Graph{}
		}
		l.graphs[b] = g
	}
	return nil
}

// batches are the lead's, none where it is no whole sample, and the samples'.
func (l *List) batches(lead, launches, samples int) []batch {
	out := make([]batch, 1+samples)
	if lead == launches {
		out[0] = batch{launches, l.setOf(l.next)}
	}
	for k := range samples {
		out[k+1] = batch{launches, l.setOf(l.next + int64(lead) + int64(k)*int64(launches))}
	}
	return out
}

func (l *List) freeGraphs() {
	for _, g := range l.graphs {
		_ = g.Free() // fails when the context is lost, which the next call says
	}
	l.graphs = nil
}

// Graph is a number of executions of a list, launched as one.
type Graph struct{ exec unsafe.Pointer }

// Graph records n executions of set 0.
func (l *List) Graph(s cu.Stream, n int) (*Graph, error) { return l.graph(s, batch{n, 0}) }

func (l *List) graph(s cu.Stream, b batch) (*Graph, error) {
	g := &Graph{}
	if err := check(C.ridge_graph_make(stream(s), l.first, C.int(l.perSet), C.int(l.sets), C.int64_t(b.set), C.int(b.launches), &g.exec)); err != nil {
		return nil, fmt.Errorf("make a graph of %d executions: %w", b.launches, err)
	}
	return g, nil
}

// Run launches the graph a number of times, to completion.
func (g *Graph) Run(s cu.Stream, times int) error {
	return check(C.ridge_graph_run(g.exec, stream(s), C.int(times)))
}

// Free destroys the graph.
func (g *Graph) Free() error { return check(C.ridge_graph_free(g.exec)) }

// resolutionEvents are recorded one after another.
const resolutionEvents = 64

// EventResolution is the least difference in ns that two events of a stream show.
func EventResolution(s cu.Stream) (float64, error) {
	var l List
	defer l.Free()
	if err := l.makeEvents(resolutionEvents); err != nil {
		return 0, err
	}
	events := cArray(l.events)
	defer C.free(unsafe.Pointer(events))
	ns := make([]float64, resolutionEvents)
	if err := check(C.ridge_event_times(stream(s), events, resolutionEvents, (*C.double)(&ns[0]))); err != nil {
		return 0, err
	}
	return leastStep(ns)
}

// leastStep is the least positive difference between two of the times.
func leastStep(ns []float64) (float64, error) {
	ns = slices.Sorted(slices.Values(ns))
	least := math.Inf(1)
	for i := 1; i < len(ns); i++ {
		if d := ns[i] - ns[i-1]; d > 0 {
			least = min(least, d)
		}
	}
	if math.IsInf(least, 1) {
		return 0, fmt.Errorf("%d events one after another all show the same time", len(ns))
	}
	return least, nil
}
