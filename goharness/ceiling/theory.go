package ceiling

import (
	"fmt"
	"math"

	"ridge/goharness/record"
)

// Chip is what a table knows of a microarchitecture (machine.Uarch).
type Chip interface {
	// OpsPerCycle of one core for an instruction set and dtype (1 multiply + 1 add = 2).
	OpsPerCycle(isa string, d record.DType) (ops float64, source string, ok bool)
	// CacheBytesPerCycle of one core for a level and access.
	CacheBytesPerCycle(level, access string) (bytes float64, source string, ok bool)
}

// Setting is what the formulas need besides the table.
type Setting struct {
	Chip Chip
	// LoadedGHz is the clock measured under FMA load by how many threads were busy: one
	// core alone boosts higher than all together. NoClock says why one is missing.
	LoadedGHz map[int]float64
	NoClock   string
	// IdleGHz is the clock measured otherwise idle: where the load by which LoadedGHz was read lowers the clock, lighter ones run at up to this.
	IdleGHz float64
	// DRAM is the theoretical bandwidth of the memory that the first n threads reach.
	DRAM       func(threads int) record.Theoretical
	QuotaCPUs  float64 // 0: none
	Contradict bool    // the CPU's identity contradicts its features
	// Cores is how many physical cores the first n threads of the run occupy: hardware
	// threads of one core share its units. nil: one each.
	Cores func(threads int) int
	// NoRow says why the table's row does not hold for the first n threads; "": it does.
	// nil: it always does.
	NoRow func(threads int) string
	// GPU gives the formulas of a device in place of the table's rows.
	GPU *GPU
}

func (s Setting) cores(threads int) float64 {
	if s.Cores == nil {
		return float64(threads)
	}
	return float64(s.Cores(threads))
}

// clock is the clock under load for a ceiling, and why there is none or no row to multiply it with.
func (s Setting) clock(c record.Ceiling) (ghz float64, why string) {
	if s.NoRow != nil {
		if why := s.NoRow(c.Threads); why != "" {
			return 0, why
		}
	}
	if ghz = s.LoadedGHz[c.Threads]; ghz > 0 {
		return ghz, ""
	}
	why = "the clock could not be measured"
	if s.NoClock != "" {
		why += ": " + s.NoClock
	}
	return 0, why
}

// Theory gives the formula's value for a ceiling, or why there is none.
func (s Setting) Theory(c record.Ceiling) record.Theoretical {
	if s.GPU != nil {
		return s.GPU.Theory(c, 0)
	}
	switch c.Kind {
	case record.CeilingCompute:
		return s.compute(c)
	case record.CeilingBandwidth:
		if c.Level == DRAM {
			return s.DRAM(c.Threads)
		}
		return s.cache(c)
	}
	if c.Kind == record.CeilingLaunch {
		return record.Theoretical{Unavailable: "no formula: handing over work depends on the threads' distance and the clock of the fabric between them"}
	}
	return record.Theoretical{Unavailable: "no formula: latencies depend on the uncore clock and the mesh, which nobody can read here"}
}

func (s Setting) compute(c record.Ceiling) record.Theoretical {
	ghz, why := s.clock(c)
	if why != "" {
		return record.Theoretical{Unavailable: why}
	}
	ops, source, ok := s.Chip.OpsPerCycle(c.ISA, c.DType)
	if !ok {
		return record.Theoretical{Unavailable: fmt.Sprintf("the microarchitecture table has no %s %s figure: %s", c.ISA, c.DType, source)}
	}
	return record.Theoretical{Value: ops * ghz * s.cores(c.Threads),
		Formula: "operations per cycle and core × clock under load × cores",
		Inputs:  map[string]float64{"ops_per_cycle": ops, "clock_ghz": ghz, "cores": s.cores(c.Threads)},
		Source:  source + "; clock measured"}
}

func (s Setting) cache(c record.Ceiling) record.Theoretical {
	ghz, why := s.clock(c)
	if why != "" {
		return record.Theoretical{Unavailable: why}
	}
	bytes, source, ok := s.Chip.CacheBytesPerCycle(c.Level, c.Access)
	if !ok {
		return record.Theoretical{Unavailable: fmt.Sprintf("the microarchitecture table has no %s %s figure: %s", c.Level, c.Access, source)}
	}
	return record.Theoretical{Value: bytes * ghz * s.cores(c.Threads),
		Formula: "bytes per cycle and core × clock under load × cores",
		Inputs:  map[string]float64{"bytes_per_cycle": bytes, "clock_ghz": ghz, "cores": s.cores(c.Threads)},
		Source:  source + "; clock measured"}
}

// Diagnose writes the one-line diagnosis of the gap for every ceiling.
func (m *Model) Diagnose(s Setting) {
	for i := range m.list {
		x := &m.list[i]
		x.Theoretical = s.Theory(*x)
		m.relate(x)
		if s.GPU != nil {
			x.Held = s.GPU.held(*x)
		}
	}
	for i := range m.list { // with all ratios
		if x := &m.list[i]; s.GPU != nil {
			x.Diagnosis = s.GPU.diagnose(*x, m.allAbove(x.Threads))
		} else {
			x.Diagnosis = m.diagnose(x, s)
		}
	}
}

// aboveAlike: rows are exceeded by about the same factor where the largest is at most so many times the least.
const aboveAlike = 1.1

// allAbove reports whether the arithmetic probes of a thread count are above their rows, two and more and all by about the same factor: the clock
// that all rows share is then what is wrong.
func (m *Model) allAbove(threads int) bool {
	n, lo, hi := 0, math.Inf(1), 0.0
	for i := range m.list {
		if x := &m.list[i]; x.Kind == record.CeilingCompute && x.Threads == threads && x.Ratio > 0 {
			n, lo, hi = n+1, math.Min(lo, x.Ratio), math.Max(hi, x.Ratio)
		}
	}
	return n > 1 && lo > 1.03 && hi <= aboveAlike*lo
}

// FarBelow reports whether a clock under load of several threads lies far below that of one: cores lower theirs by less than this, and who else uses the CPU
// meanwhile makes a reading low.
func FarBelow(several, one float64) bool { return several < 0.9*one }

// above is the line on a probe that exceeds its row: what all rows share is doubted before the row, and so is the clock that this one was multiplied with.
func (m *Model) above(x *record.Ceiling, s Setting) string {
	several, one := s.LoadedGHz[x.Threads], s.LoadedGHz[1]
	ran, seen := x.Ratio*x.Theoretical.Inputs["clock_ghz"], max(s.IdleGHz, m.around[x.Measured.CaseID])
	changed := ran > 0 && ran <= 1.03*seen // a row without a clock is not explained by one
	const low = "the clock was read too low, as beside another program, not the row wrong"
	switch {
	case s.Contradict && !changed:
		return fmt.Sprintf("measured above the row (%s): the CPU's identity is masked and the row too low, not the measurement wrong", x.Theoretical.Source)
	case m.allAbove(x.Threads):
		return fmt.Sprintf("measured above the row, as every row of %d threads is and by about the same factor, at the %.2f GHz read under load: %s", x.Threads, several, low)
	case x.Threads > 1 && FarBelow(several, one):
		return fmt.Sprintf("measured above the row at the %.2f GHz that was read of %d threads under load, where one had %.2f: %s", several, x.Threads, one, low)
	case changed:
		return fmt.Sprintf("measured above the row at the %.2f GHz read under load: the probe ran at %.2f GHz if the row holds, and %.2f was read otherwise idle or beside the probe: the clock changed under this load, the row is not shown to be wrong", several, ran, seen)
	}
	return fmt.Sprintf("measured above the table's row: the row is wrong for this chip (%s), not the measurement", x.Theoretical.Source)
}

func (m *Model) diagnose(x *record.Ceiling, s Setting) string {
	if x.Measured.Value == 0 {
		return "not measured: " + x.Measured.Unavailable
	}
	if x.Theoretical.Value == 0 {
		return "no theoretical value: " + x.Theoretical.Unavailable
	}
	switch {
	case x.Ratio > 1.03:
		return m.above(x, s)
	case x.Ratio >= 0.97:
		return "at the limit"
	}
	if x.Kind == record.CeilingCompute && s.QuotaCPUs > 0 && s.QuotaCPUs < float64(x.Threads) { // before what halves a rate too
		return fmt.Sprintf("quota: the cgroup allows %.2f CPUs, the threads of the probe are %d", s.QuotaCPUs, x.Threads)
	}
	if x.Threads > 1 {
		if one := m.Find(single(*x)); one != nil && one.Measured.Value > 0 {
			if scale := x.Measured.Value / one.Measured.Value; x.Kind == record.CeilingCompute && scale < 0.9*s.cores(x.Threads)/s.cores(1) {
				return fmt.Sprintf("threads: %.2f× of one thread on %d: shared cores, a lower clock under full load, or neighbours", scale, x.Threads)
			}
		}
	}
	switch {
	case x.Kind == record.CeilingCompute && math.Abs(x.Ratio-0.5) < 0.05:
		return "half of the row: one FMA unit, or a core shared with another hardware thread"
	case x.Kind == record.CeilingCompute:
		if spread := probeSpread(x); spread > 0.1 {
			return fmt.Sprintf("clock or neighbours: the probes of this run differ by %.0f %%", 100*spread)
		}
		return fmt.Sprintf("clock: the probe ran at %.2f GHz if the row holds, %.2f GHz was measured under load", x.Ratio*s.LoadedGHz[x.Threads], s.LoadedGHz[x.Threads])
	case x.Level == DRAM && x.Theoretical.Label != "":
		return "the theoretical value is the " + x.Theoretical.Label + "; these threads reach their share of it"
	case x.Level == DRAM:
		return fmt.Sprintf("%d threads do not keep enough lines in flight for all channels, or the controller's efficiency", x.Threads)
	}
	return "the cache's port limit is not reached: bank conflicts, store commits or the fill path bind first"
}

func single(c record.Ceiling) record.Ceiling { c.Threads = 1; return c }

// probeSpread is (max − min) / max over a ceiling's probes.
func probeSpread(x *record.Ceiling) float64 {
	lo, hi := math.Inf(1), 0.0
	for _, p := range x.Probes {
		lo, hi = math.Min(lo, p.Value), math.Max(hi, p.Value)
	}
	if hi == 0 {
		return 0
	}
	return (hi - lo) / hi
}
