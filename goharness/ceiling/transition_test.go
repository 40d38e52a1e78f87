package ceiling

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/record"
)

// observe enters a read of so many bytes at a rate in 10⁹ bytes/s.
func observe(m *Model, threads int, bytes int64, gbps float64) {
	m.Observe(&record.Result{ID: fmt.Sprintf("read/%d", bytes), Op: "bandwidth", Params: map[string]string{"access": "read"}, Status: record.OK,
		Threads: threads, WorkingSetBytes: bytes, Bytes: int64(gbps * 1e6), Time: timeOf(1e6)})
}

// edged is probed with reads of two threads beyond L2 (1 MiB): 1.8 times as fast as L3's 100 there, 1.2 times at twice the size.
func edged() *Model {
	m := probed()
	observe(m, 2, mib, 180)
	observe(m, 2, 2*mib, 120)
	return m
}

func TestBetweenTwoCachesTheCeilingIsWhatAReadOfThatSizeReached(t *testing.T) {
	alone := 4 * (mib + 64*kib) // from here on L3 is alone
	for _, tc := range []struct {
		name    string
		ws      int64
		threads int
		level   string
		gbps    float64
	}{
		{"all of L2", mib, 2, "L2", 200},
		{"a few bytes more", mib + 4, 2, "L2-L3", 180},
		{"half an octave", 1482910, 2, "L2-L3", 150},
		{"twice L2", 2 * mib, 2, "L2-L3", 120},
		{"where L3 is alone", int64(alone), 2, "L3", 100},
		{"just before", int64(alone) - 4096, 2, "L2-L3", 100},
		{"one thread, at the same multiple of its L2", mib, 1, "L2-L3", 60},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := result(0, tc.ws, tc.ws, 1e6)
			r.ReadBytes, r.WriteBytes, r.Threads = r.Bytes, 0, tc.threads
			edged().Apply(&r)
			if c := r.Ceiling; c.MemoryLevel != tc.level || math.Abs(c.MemoryGBps/tc.gbps-1) > 0.005 {
				t.Errorf("%d bytes: %.4g GB/s at %s, want %.4g at %s", tc.ws, c.MemoryGBps, c.MemoryLevel, tc.gbps, tc.level)
			}
		})
	}
}

func TestACeilingBetweenTwoCachesLiesBetweenTheirs(t *testing.T) {
	m := edged()
	observe(m, 2, 1536*kib, 900) // a disturbed clock
	last := math.Inf(1)
	for ws := int64(mib); ws <= 8*mib; ws += 64 * kib {
		r := result(0, ws, ws, 1e6)
		m.Apply(&r)
		if c := r.Ceiling; c.MemoryGBps < 80-1e-9 || c.MemoryGBps > 160+1e-9 { // copies of L3 and of L2
			t.Errorf("%d bytes: %.4g GB/s at %s", ws, c.MemoryGBps, c.MemoryLevel)
		}
	}
	m = edged()
	for ws := int64(mib); ws <= 8*mib; ws += 64 * kib {
		r := result(0, ws, ws, 1e6)
		m.Apply(&r)
		if r.Ceiling.MemoryGBps > last*1.0001 {
			t.Errorf("%d bytes: the ceiling rises from %.4g to %.4g GB/s with the working set", ws, last, r.Ceiling.MemoryGBps)
		}
		last = r.Ceiling.MemoryGBps
	}
}

func TestWithoutReadsOfThatSizeTheOuterCacheIsTheCeiling(t *testing.T) {
	for name, m := range map[string]*Model{"none": probed(), "of another size": func() *Model { m := probed(); observe(m, 2, 16*mib, 500); return m }()} {
		r := result(0, 2*mib, 2*mib, 1e6)
		m.Apply(&r)
		if c := r.Ceiling; c.MemoryLevel != "L2-L3" || c.MemoryGBps != 80 {
			t.Errorf("%s: %.4g GB/s at %s, want a copy of L3", name, c.MemoryGBps, c.MemoryLevel)
		}
	}
}

func TestBelowTheSmallestReadTheCeilingIsAtLeastItsOwn(t *testing.T) {
	m := probed()
	observe(m, 2, 3*mib, 150)
	for _, ws := range []int64{mib + 64, 2 * mib, 3 * mib} {
		r := result(0, ws, ws, 1e6)
		m.Apply(&r)
		if c := r.Ceiling; c.MemoryLevel != "L2-L3" || math.Abs(c.MemoryGBps-120) > 1e-9 {
			t.Errorf("%d bytes: %.4g GB/s at %s, want 1.5 times a copy of L3", ws, c.MemoryGBps, c.MemoryLevel)
		}
	}
}

// A read of one thread that is larger than the working set says less than those of all threads beside it.
func TestReadsOfAllThreadsSpeakForOneWhoseOwnAreLarger(t *testing.T) {
	lone := edged()
	observe(lone, 1, 2*mib, 50) // one thread's L3 alone
	for _, tc := range []struct {
		ws   int64
		gbps float64
	}{{mib, 60}, {2 * mib, 50}} {
		r := result(0, tc.ws, tc.ws, 1e6)
		r.ReadBytes, r.WriteBytes, r.Threads = r.Bytes, 0, 1
		if lone.Apply(&r); math.Abs(r.Ceiling.MemoryGBps/tc.gbps-1) > 0.005 {
			t.Errorf("%d bytes: %.4g GB/s, want %.4g", tc.ws, r.Ceiling.MemoryGBps, tc.gbps)
		}
	}
}

func TestAResultThatExceedsBetweenTwoCachesAsksForTheOuterOneAgain(t *testing.T) {
	m := edged()
	r := result(0, 2*mib, 2*mib, 1)
	m.Apply(&r)
	if x := m.Exceeded(&r); x == nil || x.Level != "L3" || x.Access != "copy" {
		t.Errorf("%v at %s", x, r.Ceiling.MemoryLevel)
	}
}

func TestAnUpdateInPlaceStandsAgainstItsOwnProbe(t *testing.T) {
	m := probed()
	bandwidth(m, "L2", "update", 2, 400)
	r := result(0, mib, mib, float64(mib)/400)
	r.Op, r.Params = "bandwidth", map[string]string{"access": "update"}
	m.Apply(&r)
	if math.Abs(r.Ceiling.Fraction-1) > 1e-3 {
		t.Errorf("the fastest update is at %.3f of its ceiling", r.Ceiling.Fraction)
	}
	r.Op, r.Params = "relu", nil
	if m.Apply(&r); math.Abs(r.Ceiling.Fraction-2.5) > 1e-2 {
		t.Errorf("a kernel that writes elsewhere stands against updates: %.3f", r.Ceiling.Fraction)
	}
}

func TestReadsAreProbedAtTheEndsOfTheCaches(t *testing.T) {
	got := EdgeSizes(twoCores().Levels)
	want := []int64{64 * kib, 96 * kib, 128 * kib, mib, 1536 * kib, 2 * mib}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := EdgeSizes([]Level{{"L1", 32 * kib, 32 * kib}, {"L2", 40 * kib, 40 * kib}, {Name: DRAM}}); !slices.Equal(got, []int64{32 * kib}) {
		t.Errorf("a second level that is hardly larger: %v", got)
	}
	if got := EdgeSizes([]Level{{Name: DRAM}}); len(got) != 0 {
		t.Errorf("no cache is known: %v", got)
	}
	if got := EdgeSizes(nil); strings.Contains(fmt.Sprint(got), "0") {
		t.Errorf("no level at all: %v", got)
	}
}
