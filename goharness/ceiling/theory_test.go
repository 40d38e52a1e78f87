package ceiling

import (
	"strings"
	"testing"

	"ridge/goharness/record"
)

// chip is a table row: avx2 fp32 at 32 operations and 64 bytes of L1 reads per cycle.
type chip struct{}

// busy is a clock of 3 GHz at every thread count.
var busy = map[int]float64{1: 3, 2: 3}

// memory is the same DRAM row for every thread count.
func memory(t record.Theoretical) func(int) record.Theoretical {
	return func(int) record.Theoretical { return t }
}

func (chip) OpsPerCycle(isa string, d record.DType) (float64, string, bool) {
	if isa == "avx2" && d == record.FP32 {
		return 32, "row", true
	}
	return 0, "no such unit", false
}

func (chip) CacheBytesPerCycle(level, access string) (float64, string, bool) {
	if level == "L1" && access == "read" {
		return 64, "row", true
	}
	return 0, "not published", false
}

func TestTheoryUsesTheClockUnderLoad(t *testing.T) {
	fma := record.Ceiling{Kind: record.CeilingCompute, ISA: "avx2", DType: record.FP32, Threads: 2}
	for _, tc := range []struct {
		name string
		s    Setting
		c    record.Ceiling
		want float64
		why  string
	}{
		{"two cores", Setting{Chip: chip{}, LoadedGHz: busy}, fma, 32 * 3 * 2, ""},
		{"two hardware threads of one core", Setting{Chip: chip{}, LoadedGHz: busy, Cores: func(int) int { return 1 }}, fma, 32 * 3, ""},
		{"no clock", Setting{Chip: chip{}}, fma, 0, "clock could not be measured"},
		{"no clock, with its reason", Setting{Chip: chip{}, NoClock: "neither AVX2 nor NEON"}, fma, 0, "neither AVX2 nor NEON"},
		{"efficiency cores among the threads", Setting{Chip: chip{}, LoadedGHz: busy, NoRow: func(n int) string {
			if n > 1 {
				return "unsourced: efficiency cores"
			}
			return ""
		}}, fma, 0, "unsourced: efficiency cores"},
		{"no row", Setting{Chip: chip{}, LoadedGHz: busy}, record.Ceiling{Kind: record.CeilingCompute, ISA: "amx", DType: record.BF16, Threads: 1}, 0, "no such unit"},
		{"L1", Setting{Chip: chip{}, LoadedGHz: busy}, record.Ceiling{Kind: record.CeilingBandwidth, Level: "L1", Access: "read", Threads: 1}, 192, ""},
		{"L1 of two hardware threads of one core", Setting{Chip: chip{}, LoadedGHz: busy, Cores: func(int) int { return 1 }}, record.Ceiling{Kind: record.CeilingBandwidth, Level: "L1", Access: "read", Threads: 2}, 192, ""},
		{"L3", Setting{Chip: chip{}, LoadedGHz: busy}, record.Ceiling{Kind: record.CeilingBandwidth, Level: "L3", Access: "read", Threads: 1}, 0, "not published"},
		{"DRAM is what the board says", Setting{DRAM: memory(record.Theoretical{Value: 51.2})}, record.Ceiling{Kind: record.CeilingBandwidth, Level: DRAM}, 51.2, ""},
		{"DRAM of a VM", Setting{DRAM: memory(record.Theoretical{Unavailable: "no SMBIOS"})}, record.Ceiling{Kind: record.CeilingBandwidth, Level: DRAM}, 0, "no SMBIOS"},
		{"latency", Setting{}, record.Ceiling{Kind: record.CeilingLatency, Level: "L1"}, 0, "no formula"},
		{"launch", Setting{}, record.Ceiling{Kind: record.CeilingLaunch}, 0, "no formula: handing over"},
	} {
		got := tc.s.Theory(tc.c)
		if got.Value != tc.want || !strings.Contains(got.Unavailable, tc.why) || (got.Value == 0) == (got.Unavailable == "") {
			t.Errorf("%s: %+v, want %v %q", tc.name, got, tc.want, tc.why)
		}
		if c, ok := got.Inputs["clock_ghz"]; ok && c != 3 {
			t.Errorf("%s: clock %v in the inputs", tc.name, c)
		}
	}
}

// One core alone boosts higher than all together: its theory is its own clock's.
func TestEachThreadCountHasItsOwnClock(t *testing.T) {
	s := Setting{Chip: chip{}, LoadedGHz: map[int]float64{1: 5, 2: 4}}
	for threads, want := range map[int]float64{1: 32 * 5, 2: 32 * 4 * 2} {
		for _, c := range []record.Ceiling{{Kind: record.CeilingCompute, ISA: "avx2", DType: record.FP32, Threads: threads},
			{Kind: record.CeilingBandwidth, Level: "L1", Access: "read", Threads: threads}} {
			if c.Kind == record.CeilingBandwidth {
				want = want / 32 * 64
			}
			if got := s.Theory(c); got.Value != want || got.Inputs["clock_ghz"] != s.LoadedGHz[threads] {
				t.Errorf("%s at %d threads: %+v, want %v", c.Kind, threads, got, want)
			}
		}
	}
	if got := s.Theory(record.Ceiling{Kind: record.CeilingCompute, ISA: "avx2", DType: record.FP32, Threads: 7}); got.Unavailable == "" {
		t.Errorf("a thread count without a clock has %v", got.Value)
	}
}

func TestEveryGapHasItsDiagnosis(t *testing.T) {
	for _, tc := range []struct {
		name    string
		one     float64 // measured on one thread, of 96 in theory
		two     float64 // measured on two, of 192
		change  func(*Setting)
		want    string // of the two-thread ceiling
		wantOne string
	}{
		{"all there", 95, 190, nil, "at the limit", "at the limit"},
		{"above the row", 110, 220, nil, "row is wrong for this chip (row; clock measured)", "row is wrong"},
		{"above a masked row", 110, 220, func(s *Setting) { s.Contradict = true }, "identity is masked", "identity is masked"},
		{"above the row of a clock far below one thread's", 95, 190, func(s *Setting) { s.LoadedGHz = map[int]float64{1: 3, 2: 2.2} }, "at the 2.20 GHz that was read of 2 threads under load, where one had 3.00: the clock was read too low", "at the limit"},
		{"above the row of a clock a little below one thread's", 95, 190, func(s *Setting) { s.LoadedGHz = map[int]float64{1: 3, 2: 2.8} }, "row is wrong", "at the limit"},
		{"threads share", 95, 110, nil, "threads: 1.16× of one thread on 2", "at the limit"},
		{"quota", 95, 110, func(s *Setting) { s.QuotaCPUs = 1.2 }, "quota: the cgroup allows 1.20 CPUs", "at the limit"},
		{"half a CPU by quota is no missing unit", 48, 96, func(s *Setting) { s.QuotaCPUs = 0.5 }, "quota: the cgroup allows 0.50 CPUs", "quota: the cgroup allows 0.50 CPUs"},
		{"a quota of all threads", 48, 96, func(s *Setting) { s.QuotaCPUs = 2 }, "one FMA unit", "one FMA unit"},
		{"hyperthreads at the limit of their core", 95, 95, func(s *Setting) { s.Cores = func(int) int { return 1 } }, "at the limit", "at the limit"},
		{"one FMA unit", 48, 96, nil, "one FMA unit", "one FMA unit"},
		{"clock", 80, 160, nil, "ran at 2.50 GHz", "clock: the probe"},
		{"never probed", 0, 0, nil, "not measured: not probed yet", "not measured"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := twoCores()
			id := record.Ceiling{Kind: record.CeilingCompute, ISA: "avx2", DType: record.FP32}
			for n, v := range map[int]float64{1: tc.one, 2: tc.two} {
				id.Threads = n
				if m.Add(id); v > 0 {
					compute(m, "avx2", record.FP32, n, v)
				}
			}
			s := Setting{Chip: chip{}, LoadedGHz: busy}
			if tc.change != nil {
				tc.change(&s)
			}
			m.Diagnose(s)
			for n, want := range map[int]string{1: tc.wantOne, 2: tc.want} {
				id.Threads = n
				if got := m.Find(id).Diagnosis; !strings.Contains(got, want) {
					t.Errorf("%d threads: %q, want %q", n, got, want)
				}
			}
		})
	}
}

func TestNeighboursShowInTheSpreadOfTheProbes(t *testing.T) {
	m := twoCores()
	for _, v := range []float64{80, 60} {
		compute(m, "avx2", record.FP32, 1, v)
	}
	bandwidth(m, DRAM, "read", 1, 20)
	bandwidth(m, "L1", "read", 1, 150)
	m.Diagnose(Setting{Chip: chip{}, LoadedGHz: busy, DRAM: memory(record.Theoretical{Value: 200, Label: "whole-socket upper bound"})})
	for i, want := range []string{"probes of this run differ by 25 %", "whole-socket upper bound", "port limit"} {
		if got := m.Ceilings()[i].Diagnosis; !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Rows share the clock alone: what exceeds all of them by one factor is a clock that was read too low.
func TestRowsThatAreAllExceededAlikeDoubtTheClock(t *testing.T) {
	for _, tc := range []struct {
		name      string
		avx2, sse float64 // of 192 and 96 at 3 GHz
		want      string
	}{
		{"alike", 249, 124, "as every row of 2 threads is and by about the same factor, at the 3.00 GHz read under load"},
		{"one alone", 249, 96, "row is wrong for this chip"},
		{"by other factors", 249, 160, "row is wrong for this chip"},
	} {
		m := twoCores()
		compute(m, "avx2", record.FP32, 2, tc.avx2)
		compute(m, "sse", record.FP32, 2, tc.sse)
		compute(m, "avx2", record.FP32, 1, 95) // its clock was read well
		m.Diagnose(Setting{Chip: wider{}, LoadedGHz: busy})
		if got := m.Ceilings()[0].Diagnosis; !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if got := m.Ceilings()[2].Diagnosis; got != "at the limit" {
			t.Errorf("%s: one thread: %q", tc.name, got)
		}
	}
}

// wider has a row for sse too.
type wider struct{ chip }

func (w wider) OpsPerCycle(isa string, d record.DType) (float64, string, bool) {
	if isa == "sse" {
		return 16, "row", true
	}
	return w.chip.OpsPerCycle(isa, d)
}

// A load lowers the clock by how wide its units are: a probe that fits its row at a clock that was read shows no wrong row.
func TestAProbeThatFitsItsRowAtAClockThatWasReadDoubtsTheClock(t *testing.T) {
	const wrong, changed = "row is wrong for this chip", "at the 2.70 GHz read under load: the probe ran at 2.97 GHz if the row holds, and 3.00 was read otherwise idle or beside the probe"
	for _, tc := range []struct {
		name        string
		ratio, idle float64
		before      float64 // beside the probe
		contradict  bool
		want        string
	}{
		{"the idle clock explains it", 1.10, 3.0, 0, false, changed},
		{"the clock beside the probe explains it", 1.10, 2.7, 3.0, false, changed},
		{"within the tolerance of a row", 1.14, 3.0, 0, false, "the probe ran at 3.08 GHz if the row holds"},
		{"beyond every clock that was read", 1.16, 3.0, 3.0, false, wrong},
		{"no other clock was read", 1.10, 0, 0, false, wrong},
		{"a masked identity does not make the row wrong either", 1.10, 3.0, 0, true, changed},
		{"a masked identity beyond every clock", 1.16, 3.0, 0, true, "identity is masked"},
	} {
		for _, c := range []record.Ceiling{{Kind: record.CeilingCompute, ISA: "avx2", DType: record.FP32, Threads: 1}, {Kind: record.CeilingBandwidth, Level: "L1", Access: "read", Threads: 1}} {
			work := int64(tc.ratio * 2.7 * 32 * 1e6)
			r := record.Result{ID: "probe", Status: record.OK, Time: timeOf(1e6), FLOPs: work, Bytes: 2 * work, Conditions: &record.Conditions{ClockBeforeGHz: record.Unknown[float64]("a test"), ClockAfterGHz: record.Unknown[float64]("a test")}}
			if tc.before > 0 {
				r.Conditions.ClockBeforeGHz = record.Known(tc.before, "a test")
			}
			m := twoCores()
			m.Probe(c, r, "initial")
			m.Diagnose(Setting{Chip: chip{}, LoadedGHz: map[int]float64{1: 2.7}, IdleGHz: tc.idle, Contradict: tc.contradict})
			if got := m.Ceilings()[0].Diagnosis; !strings.Contains(got, tc.want) {
				t.Errorf("%s, %s: %q, want %q", tc.name, c.Kind, got, tc.want)
			}
		}
	}
}
