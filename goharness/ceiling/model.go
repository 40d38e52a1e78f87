// Package ceiling holds the physical limits of a device during one run: what a formula
// says, what the best sustained probe reached, and how a result stands against them. Its
// gate refuses results that no hardware could give.
package ceiling

import (
	"fmt"
	"math"
	"slices"
	"time"

	"ridge/goharness/record"
)

// Level is one level of the memory hierarchy as the threads of the run see it.
type Level struct {
	Name string // L1, L2, L3, DRAM
	// Capacity in bytes: all instances that the run's threads use; 0 for DRAM.
	Capacity int64
	// PerThread is what one thread can use of it.
	PerThread int64
}

// Model is the set of ceilings of one device.
type Model struct {
	Device string
	// Levels from the inside out, the last is DRAM. Levels1 holds them for one thread.
	Levels  []Level
	Levels1 []Level
	// LLC is the aggregate last-level cache of all usable CPUs in bytes; 0: the largest one
	// that Levels and Levels1 name.
	LLC int64
	// Within is what caches hold during a launch, and lose at its end, in bytes: those of a GPU's multiprocessors.
	Within int64
	// GPU, of a device with published rates, sets results beside its theoretical peaks.
	GPU  *GPU
	list []record.Ceiling
	// reads are the sizes at which reading was probed, by threads, the smallest first (transition.go).
	reads map[int][]Point
	// around is the highest clock that was read right before or after a probe of a CPU, by its case, in GHz.
	around map[string]float64
}

// Inside is the cache that a working set of n bytes lies well inside: at least insideFrom times
// what the inner levels hold, so that none of it comes from there, and at most half of the
// level. false when n lies in no such range.
func Inside(levels []Level, n int64) (Level, bool) {
	var inner int64
	for _, l := range levels {
		if l.Capacity > 0 && n >= insideFrom*inner && n <= l.Capacity/2 {
			return l, true
		}
		inner += l.Capacity
	}
	return Level{}, false
}

// NewModel starts a model without ceilings.
func NewModel(device string, levels, levels1 []Level) *Model {
	return &Model{Device: device, Levels: levels, Levels1: levels1, around: map[string]float64{}}
}

// Ceilings lists all ceilings in the order they were added.
func (m *Model) Ceilings() []record.Ceiling { return m.list }

// Find returns the ceiling of the same identity, or nil.
func (m *Model) Find(c record.Ceiling) *record.Ceiling {
	for i := range m.list {
		x := &m.list[i]
		if x.Kind == c.Kind && x.DType == c.DType && x.Level == c.Level && x.ISA == c.ISA && x.Access == c.Access && x.Threads == c.Threads {
			return x
		}
	}
	return nil
}

// Add registers a ceiling (identity, unit and theoretical value); an existing one is kept.
func (m *Model) Add(c record.Ceiling) *record.Ceiling {
	if x := m.Find(c); x != nil {
		return x
	}
	c.Device = m.Device
	if c.Measured.Value == 0 && c.Measured.Unavailable == "" {
		c.Measured.Unavailable = "not probed yet"
	}
	m.list = append(m.list, c)
	return &m.list[len(m.list)-1]
}

// Probe enters the result of a probe case. The best probe is the ceiling; every probe is
// kept with its time. A probe that failed leaves the reason when nothing else was measured.
func (m *Model) Probe(c record.Ceiling, r record.Result, why string) {
	x := m.Add(c)
	if !r.Status.Counts() || r.Time == nil {
		if x.Measured.Value == 0 {
			x.Measured.Unavailable = fmt.Sprintf("%s: %s", r.Status, r.Reason)
		}
		return
	}
	p := record.Probe{Time: r.Started, Case: r.ID, Why: why, Concurrent: r.Conditions.With()}
	if p.Time == "" {
		p.Time = time.Now().UTC().Format(time.RFC3339)
	}
	p.Value, p.CI95, p.Best = figure(c.Kind, r)
	if m.GPU != nil {
		p.ClockGHz, p.ClockSource = heldClock(&r)
	} else if r.Conditions != nil {
		before, _ := r.Conditions.ClockBeforeGHz.Get()
		after, _ := r.Conditions.ClockAfterGHz.Get()
		m.around[r.ID] = max(m.around[r.ID], before, after)
	}
	m.enter(x, p)
}

// Again enters a journalled probe of a ceiling that is known.
func (m *Model) Again(e record.ProbeEntry) {
	k := e.Ceiling
	x := m.Find(record.Ceiling{Kind: k.Kind, DType: k.DType, Level: k.Level, ISA: k.ISA, Access: k.Access, Threads: k.Threads})
	if x == nil {
		return
	}
	m.enter(x, e.Probe)
}

// enter keeps a probe; the best one is the ceiling.
func (m *Model) enter(x *record.Ceiling, p record.Probe) {
	x.Probes = append(x.Probes, p)
	better := x.Measured.Value == 0 || p.Value > x.Measured.Value
	if lowerIsBetter(x.Kind) {
		better = x.Measured.Value == 0 || p.Value < x.Measured.Value
	}
	if better {
		x.Measured = record.Measured{Value: p.Value, CaseID: p.Case}
	}
	m.relate(x)
}

func lowerIsBetter(kind string) bool {
	return kind == record.CeilingLatency || kind == record.CeilingLaunch
}

// figure is a probe's value in the ceiling's unit, from the median time, with its interval
// and the fastest sample.
func figure(kind string, r record.Result) (v float64, ci [2]float64, best float64) {
	t := r.Time
	per := func(work float64) (float64, [2]float64, float64) {
		least := t.CI95NS[0]
		if !(least > 0) {
			// Few scattered samples: the time's interval reaches 0, which bounds no rate. The
			// fastest sample is the highest rate that was seen.
			least = math.Min(t.MinNS, t.MedianNS)
		}
		return work / t.MedianNS, [2]float64{work / t.CI95NS[1], work / least}, work / t.MinNS
	}
	switch kind {
	case record.CeilingCompute:
		return per(float64(r.FLOPs))
	case record.CeilingBandwidth:
		return per(float64(r.Bytes))
	}
	items := float64(max(1, r.Items))
	return t.MedianNS / items, [2]float64{t.CI95NS[0] / items, t.CI95NS[1] / items}, t.MinNS / items
}

// relate computes the ratio. A measured peak above its theoretical row makes the row wrong, or the clock in it.
func (m *Model) relate(x *record.Ceiling) {
	x.Ratio = 0
	if x.Theoretical.Value > 0 && x.Measured.Value > 0 {
		x.Ratio = x.Measured.Value / x.Theoretical.Value
		if lowerIsBetter(x.Kind) {
			x.Ratio = x.Theoretical.Value / x.Measured.Value
		}
	}
}

// Compute is the best measured compute ceiling for results of a dtype at a thread count.
// With isa it is that instruction set's; without, the best of all. It returns nil when none
// was measured.
func (m *Model) Compute(isa string, d record.DType, threads int) *record.Ceiling {
	var best *record.Ceiling
	for i := range m.list {
		x := &m.list[i]
		if x.Kind != record.CeilingCompute || x.Threads != threads || x.Measured.Value == 0 || !serves(x.DType, d) {
			continue
		}
		if isa != "" && x.ISA != isa {
			continue
		}
		if best == nil || x.Measured.Value > best.Measured.Value {
			best = x
		}
	}
	return best
}

// bounding is the best measured compute ceiling that bounds a kernel of an instruction set. Tensor cores are bounded by the probe of their
// own instructions alone, all else by the best of all.
func (m *Model) bounding(isa string, d record.DType, threads int) *record.Ceiling {
	if record.TensorISA(isa) {
		return m.Compute(isa, d, threads)
	}
	return m.Compute("", d, threads)
}

// heldClock is the clock that a device held during a result, and where it comes from; 0 when nobody knows.
func heldClock(r *record.Result) (ghz float64, source string) {
	if r.Conditions == nil {
		return 0, ""
	}
	if d := r.Conditions.Board; d != nil && d.ClockMHz > 0 {
		return d.ClockMHz * 1e-3, d.Source + ", median while it was timed"
	}
	if v, ok := r.Conditions.ClockAfterGHz.Get(); ok {
		return v, "measured right after it"
	}
	return 0, ""
}

// serves reports whether a probe's precision bounds results of dtype d: 16-bit inputs may
// be computed in fp32 after conversion, signed and mixed 8-bit by either dot product.
func serves(probe, d record.DType) bool {
	if probe == d {
		return true
	}
	switch d {
	case record.FP16, record.BF16:
		return probe == record.FP32
	case record.INT8, record.U8S8:
		return probe == record.INT8 || probe == record.U8S8
	}
	return false
}

// levels for a thread count.
func (m *Model) levels(threads int) []Level {
	if threads == 1 && len(m.Levels1) > 0 {
		return m.Levels1
	}
	return m.Levels
}

// DRAM is the name of the level behind all caches.
const DRAM = "DRAM"

// dramFactor: a working set is said to come from DRAM from this many last-level caches on.
const dramFactor = 4

// LevelOf is the innermost cache that holds a working set, or DRAM when it is at least four
// times the aggregate last-level cache. Between two levels part of it stays in the inner one and part
// does not: that is a transition, "L2-L3" up to insideFrom times the inner caches and "L3-DRAM" (named after the last cache), no level. ""
// when no cache size is known: nothing can be called a DRAM figure then.
func (m *Model) LevelOf(workingSet int64, threads int) string {
	last := ""
	var inner, outer int64
	for _, l := range m.levels(threads) {
		if l.Capacity == 0 {
			continue
		}
		if workingSet <= l.Capacity {
			if workingSet < insideFrom*inner {
				return between(last, l.Name)
			}
			return l.Name
		}
		last, outer = l.Name, l.Capacity
		inner += l.Capacity
	}
	switch {
	case last == "":
		return ""
	case workingSet/dramFactor >= max(m.llc(), outer):
		return DRAM
	}
	return between(last, DRAM)
}

// llc is the aggregate last-level cache.
func (m *Model) llc() int64 {
	n := m.LLC
	for _, ls := range [][]Level{m.Levels, m.Levels1} {
		for i := len(ls) - 1; i >= 0; i-- {
			if ls[i].Capacity > 0 {
				n = max(n, ls[i].Capacity)
				break
			}
		}
	}
	return n
}

// Bandwidth is the best measured bandwidth ceiling of a level among the accesses given
// (none: any access).
func (m *Model) Bandwidth(level string, threads int, accesses ...string) *record.Ceiling {
	var best *record.Ceiling
	for i := range m.list {
		x := &m.list[i]
		if x.Kind != record.CeilingBandwidth || x.Level != level || x.Threads != threads || x.Measured.Value == 0 {
			continue
		}
		if len(accesses) > 0 && !slices.Contains(accesses, x.Access) {
			continue
		}
		if best == nil || x.Measured.Value > best.Measured.Value {
			best = x
		}
	}
	return best
}

// accesses that a result's traffic resembles. A probe that updates in place stands against its own kind too.
func accesses(r *record.Result) []string {
	switch {
	case r.Op == "bandwidth" && r.Params["access"] == "update":
		return []string{"copy", "nt_copy", "update"}
	case r.WriteBytes*16 < r.ReadBytes:
		return []string{"read"}
	case r.ReadBytes*16 < r.WriteBytes:
		return []string{"write", "nt_write"}
	case r.InputStreams >= 2:
		return []string{"triad", "nt_triad"}
	}
	return []string{"copy", "nt_copy"}
}
