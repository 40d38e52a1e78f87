//go:build cuda && linux && cgo

package driver_test

import (
	"testing"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"ridge/cuda/driver"
)

func gate(t *testing.T, limit time.Duration) *driver.Gate {
	t.Helper()
	g, err := driver.NewGate(function(t, "gate_simt", "gate_simt"), limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Free() })
	return g
}

func TestTheGateOpensWhenTheQueueIsFilled(t *testing.T) {
	s := context(t)
	l, _ := doubling(t, 0, 0, 1)
	g := gate(t, time.Minute)
	// Two events, the lead, and two samples of three launches with an event.
	all := timing(t, l, s, driver.Timing{Lead: 1, Launches: 3, Samples: 2, Gate: g})
	if all.Operations != 11 || all.Behind != 11 || all.GaveUp || all.Anchor <= 0 || all.Anchor > all.End {
		t.Errorf("%+v, want 11 operations, all of them behind the gate", all)
	}
	if replayed := timing(t, l, s, driver.Timing{Lead: 3, Launches: 3, Samples: 2, Graphs: true, Gate: g}); replayed.Operations != 7 || replayed.Behind != 7 {
		t.Errorf("%+v, want 7 operations: a graph is one", replayed)
	}
	g.Ahead = 4
	if part := timing(t, l, s, driver.Timing{Lead: 1, Launches: 3, Samples: 2, Gate: g}); part.Operations != 11 || part.Behind != 4 || part.GaveUp {
		t.Errorf("%+v, want 4 of 11 operations behind the gate", part)
	}
	if none := timing(t, l, s, driver.Timing{Lead: 1, Launches: 1, Samples: 1}); none.Anchor != 0 || none.Behind != 0 {
		t.Errorf("without a gate: %+v", none)
	}
}

// Each copy of a graph takes a place in the queue of a copy engine: what does not fit is launched with the gate open.
func TestTheGateOpensBeforeAGraphOfMoreCopiesThanAQueueHolds(t *testing.T) {
	s := context(t)
	host, err := driver.Pinned(64)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = driver.FreePinned(host) }()
	on, err := cu.MemAlloc(64)
	if err != nil {
		t.Fatal(err)
	}
	l, err := driver.NewList([][]driver.Launch{{{Copy: &driver.Copy{To: uint64(on), From: uint64(uintptr(unsafe.Pointer(&host[0]))), Bytes: 32, ToDevice: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Free()
	g := gate(t, time.Second)
	t.Setenv("RIDGE_FAKE_FAULT", "copies:600")
	for _, tc := range []struct{ lead, launches, operations, behind int }{
		{600, 600, 1 + 600 + 1 + 600 + 1, 1},           // not even the lead
		{1, 600, 1 + 1 + 1 + 600 + 1, 3},               // the lead alone, which is no whole sample
		{200, 200, 1 + 200 + 1 + 200 + 1, 403},         // all
		{601, 601, 1 + 601 + 1 + 601 + 1, 1},           // whose launch waits for the stream
		{300, 300, 1 + 300 + 1 + 300 + 1, 1 + 300 + 1}, // the lead
	} {
		got := timing(t, l, s, driver.Timing{Lead: tc.lead, Launches: tc.launches, Samples: 1, Graphs: true, Gate: g})
		if got.GaveUp || got.Operations != tc.operations || got.Behind != tc.behind {
			t.Errorf("lead %d, samples of %d copies: %+v, want %d of %d operations behind the gate", tc.lead, tc.launches, got, tc.behind, tc.operations)
		}
	}
}

func TestAGateThatNobodyOpensGivesUp(t *testing.T) {
	s := context(t)
	l, y := doubling(t, 0, 0, 1)
	g := gate(t, 2*time.Millisecond)
	t.Setenv("RIDGE_FAKE_FAULT", "queue:3") // the host waits for room while the gate waits for the host
	if got := timing(t, l, s, driver.Timing{Lead: 1, Launches: 3, Samples: 2, Gate: g}); !got.GaveUp {
		t.Errorf("%+v, want it to have given up", got)
	}
	if n := doublings(t, y[0]); n != 7 {
		t.Errorf("%d launches, want 7", n)
	}
	t.Setenv("RIDGE_FAKE_FAULT", "")
	if got := timing(t, l, s, driver.Timing{Lead: 1, Launches: 3, Samples: 2, Gate: g}); got.GaveUp {
		t.Errorf("%+v after it gave up once", got)
	}
}
