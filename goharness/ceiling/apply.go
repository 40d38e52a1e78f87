package ceiling

import (
	"math"
	"strings"

	"ridge/goharness/record"
)

// Apply fills the result's stand against the measured ceilings: the floor is the longer of
// work/compute peak and the time that its traffic needs at the level that holds the working
// set. Where a needed ceiling was not measured the bound is unknown and there is no fraction.
func (m *Model) Apply(r *record.Result) {
	if r.Time == nil || r.Time.MedianNS <= 0 {
		return
	}
	rc := m.Floor(r)
	if r.Ceiling = rc; rc.FloorNS > 0 {
		rc.Fraction = rc.FloorNS / r.Time.MedianNS
	}
	if m.GPU == nil || r.FLOPs == 0 {
		return
	}
	got := float64(r.Executed()) / r.Time.MedianNS
	share := func(clock float64, source string) *record.Held {
		t := m.GPU.Peak(r.ComputedIn(), clock)
		if t.Value == 0 {
			return nil
		}
		return &record.Held{ClockGHz: t.Inputs["clock_ghz"], Value: t.Value, Ratio: got / t.Value, Source: source}
	}
	rc.Nominal = share(0, "the driver's highest clock")
	if ghz, source := heldClock(r); ghz > 0 {
		rc.Held = share(ghz, source)
	}
}

// Floor is the least time that a result's work and traffic can take, whether it was timed or not:
// FLOPs, Bytes, ReadBytes, WriteBytes, InputStreams, WorkingSetBytes, DType, Threads and Mode count.
// Its bound is "unknown" where a ceiling that is needed was not measured.
func (m *Model) Floor(r *record.Result) *record.ResultCeiling {
	rc := &record.ResultCeiling{Bound: "unknown", Source: "measured"}
	compute := 0.0
	if r.FLOPs > 0 {
		if c := m.bounding(r.ISA, r.ComputedIn(), r.Threads); c != nil {
			rc.ComputeGFLOPS = c.Measured.Value
			compute = float64(r.Executed()) / c.Measured.Value
		}
	}
	rc.MemoryLevel = m.levelOf(r)
	memory := m.memoryTime(r, rc.MemoryLevel)
	if memory > 0 {
		rc.MemoryGBps = float64(r.Bytes) / memory
	}
	if (r.FLOPs > 0 && compute == 0) || (r.Bytes > 0 && memory == 0) {
		return rc // without one of the two nobody can say which binds
	}
	if rc.FloorNS = math.Max(compute, memory); rc.FloorNS > 0 {
		rc.Bound = "memory"
		if compute > memory {
			rc.Bound = "compute"
		}
	}
	return rc
}

// levelOf a result's data. Rotated buffer sets have left the caches before they are used again: the runner makes twice the last-level cache of
// them, whatever the size of one, so they come from DRAM.
func (m *Model) levelOf(r *record.Result) string {
	if r.Mode == record.Cold && r.Conditions != nil && r.Conditions.BufferSets > 1 && m.llc() > 0 && footprint(r) >= 2*m.llc() {
		return DRAM
	}
	return m.LevelOf(footprint(r), r.Threads)
}

// footprint is what launches touch in turn: all buffer sets when they rotate (cold).
func footprint(r *record.Result) int64 {
	if r.Mode == record.Cold && r.Conditions != nil && r.Conditions.BufferSets > 1 {
		return r.WorkingSetBytes * int64(r.Conditions.BufferSets)
	}
	return r.WorkingSetBytes
}

// Exceeded is the measured ceiling of the level that holds a result's working set, where the result was faster than
// it by more than Slack: the probe was disturbed, or the result profits from more than its level. Between two caches it is the outer
// one's. nil otherwise.
func (m *Model) Exceeded(r *record.Result) *record.Ceiling {
	if r.Ceiling == nil || r.Ceiling.Bound != "memory" || r.Ceiling.Fraction <= Slack {
		return nil
	}
	level := r.Ceiling.MemoryLevel
	if s, ok := m.stageOf(level, r.Threads); ok {
		level = s.outer
	}
	if b := m.Bandwidth(level, r.Threads, accesses(r)...); b != nil {
		return b
	}
	return m.Bandwidth(level, r.Threads)
}

// memoryTime is the least time in ns that a result's bytes need at its level; 0 when
// nothing there was measured. Between two caches the outer one's rate is lifted as much as a read of that size was faster, at most to
// the inner one's; behind the last cache that carries all bytes and DRAM those that cannot have stayed, whichever takes longer.
func (m *Model) memoryTime(r *record.Result, level string) float64 {
	rate := func(level string) float64 {
		b := m.Bandwidth(level, r.Threads, accesses(r)...)
		if b == nil {
			b = m.Bandwidth(level, r.Threads)
		}
		if b == nil {
			return 0
		}
		return b.Measured.Value
	}
	at := func(rate float64, bytes int64) float64 {
		if !(rate > 0) || bytes <= 0 {
			return 0
		}
		return float64(bytes) / rate
	}
	bytes := m.beyond(r.Bytes, r.WorkingSetBytes)
	if s, ok := m.stageOf(level, r.Threads); ok {
		alone := rate(s.outer)
		lifted := alone * m.lift(s, footprint(r), r.Threads)
		if inner := rate(s.inner); inner > 0 {
			lifted = math.Max(alone, math.Min(lifted, inner))
		}
		return at(lifted, bytes)
	}
	last, transition := strings.CutSuffix(level, "-"+DRAM)
	if !transition {
		return at(rate(level), bytes)
	}
	var inner int64
	for _, l := range m.levels(r.Threads) {
		inner += l.Capacity
	}
	return math.Max(at(rate(last), bytes), at(rate(DRAM), crossing(bytes, r.WorkingSetBytes, inner)))
}
