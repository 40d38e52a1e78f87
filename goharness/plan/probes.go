package plan

import (
	"fmt"
	"slices"

	"ridge/goharness/ceiling"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Accesses of the bandwidth probes. From DRAM the non-temporal forms of copy and triad are
// probed too: they skip the read of the line to be written, so theirs is the higher limit.
var Accesses = []string{"read", "write", "nt_write", "copy", "triad"}

func accessesOf(level string) []string {
	if level == "DRAM" {
		return append(slices.Clone(Accesses), "nt_copy", "nt_triad")
	}
	return Accesses
}

// probes plans the ceilings: arithmetic peaks, bandwidth per level and access, latency over
// working-set size, and the team's dispatch.
func (b *builder) probes() ([]Probe, error) {
	var out []Probe
	threads := []int{b.o.Threads}
	if b.o.Threads > 1 {
		threads = []int{1, b.o.Threads}
	}
	add := func(c record.Ceiling, opName string, d record.DType, params map[string]string, t int, main bool) error {
		if _, ok := b.o.Ops.Spec(opName); !ok {
			return nil
		}
		k, err := b.newProbe(record.ProgramRef{Op: opName, DType: d, Params: params}, t)
		if err != nil {
			return err
		}
		k.Suite, k.UseCase, k.Level = suiteOf(c), record.UseCaseCeiling, c.Level
		if c.ISA == "sve" && params["vl"] == "" {
			k.SkipReason = "the length of the SVE vectors is unknown here"
		} else if _, err := b.o.Ops.New(opName, params, d); err != nil {
			return fmt.Errorf("%s: %w", k.ID, err)
		}
		c.Threads, c.Device = t, b.o.Device
		out = append(out, Probe{Case: k, Ceiling: c, Main: main})
		return nil
	}
	for _, t := range threads {
		for _, p := range b.o.Peaks {
			unit := "GFLOPS"
			if !p.DType.Float() {
				unit = "GOPS"
			}
			params, err := peakParams(p, t)
			if err != nil {
				return nil, err
			}
			c := record.Ceiling{Kind: record.CeilingCompute, ISA: p.ISA, DType: p.DType, Unit: unit}
			if err := add(c, "peak", p.DType, params, t, p.DType == record.FP32); err != nil {
				return nil, err
			}
		}
		for _, l := range b.levels(t) {
			bytes := b.probeBytes(l, t)
			if bytes == 0 {
				continue
			}
			for _, a := range accessesOf(l.Name) {
				c := record.Ceiling{Kind: record.CeilingBandwidth, Level: l.Name, Access: a, Unit: "GB/s", CapacityBytes: l.Capacity}
				if err := add(c, "bandwidth", record.FP32, bandwidthParams(a, bytes), t, l.Name == "DRAM" && a == "read"); err != nil {
					return nil, err
				}
			}
		}
		c := record.Ceiling{Kind: record.CeilingLaunch, Unit: "ns"}
		if err := add(c, "dispatch", record.FP64, map[string]string{}, t, false); err != nil {
			return nil, err
		}
	}
	for _, l := range b.levels(1) {
		if bytes := b.probeBytes(l, 1); bytes > 0 {
			c := record.Ceiling{Kind: record.CeilingLatency, Level: l.Name, Unit: "ns", CapacityBytes: l.Capacity}
			if err := add(c, "chase", record.INT64, chaseParams(bytes), 1, false); err != nil {
				return nil, err
			}
		}
	}
	sweep, err := b.sweep(threads)
	for _, p := range sweep { // a size that is a ceiling's probe is asked once
		if !slices.ContainsFunc(out, func(x Probe) bool { return x.Case.ID == p.Case.ID }) {
			out = append(out, p)
		}
	}
	return out, err
}

// newProbe makes a case whose effort is the harness's own: always hot, by the stop rule.
func (b *builder) newProbe(ref record.ProgramRef, threads int) (record.Case, error) {
	o := *b
	o.o.Mode, o.o.Warmup, o.o.Trials, o.o.Kernel = record.Hot, 0, 0, ""
	return o.newCase(ref, threads)
}

// peakParams gives every thread one chunk of work: a chunk is what one output element proves.
func peakParams(p Peak, threads int) (map[string]string, error) {
	row, err := op.FindPeak(p.ISA, p.DType)
	if err != nil {
		return nil, err
	}
	params := map[string]string{"isa": p.ISA, "instructions": fmt.Sprint(row.Chunk * int64(threads))}
	if p.VL > 0 {
		params["vl"] = fmt.Sprint(p.VL)
	}
	return params, nil
}

func suiteOf(c record.Ceiling) string {
	if c.Kind == record.CeilingCompute {
		return "peak"
	}
	return c.Kind
}

func (b *builder) levels(threads int) []ceiling.Level {
	if threads == 1 {
		return b.o.Levels1
	}
	return b.o.Levels
}

// probeBytes is the working set that represents a level: half of it, twice what lies
// inside, and for DRAM four times the last-level cache. 0 when the level is unknown.
func (b *builder) probeBytes(l ceiling.Level, threads int) int64 {
	if l.Name == "DRAM" {
		n := (DRAMBytes(b.o.LLC) + 12287) / 12288 * 12288 // whole for 1, 2 and 3 arrays of fp32
		if b.o.Memory > 0 && n > b.o.Memory/10*8 {
			return 0
		}
		return n
	}
	var inner int64
	for _, x := range b.levels(threads) {
		if x.Name == l.Name {
			break
		}
		inner = x.Capacity
	}
	n := l.Capacity / 2
	if l.Name == "L3" && inner > 0 {
		// A last-level cache shared with strangers is theirs too: 16 × the inner level is
		// beyond its reach and likely still ours.
		n = min(n, 16*inner)
	}
	if n < 2*inner {
		n = l.Capacity * 3 / 4
	}
	return n / 4096 * 4096
}

// bandwidthParams repeats small working sets so that a launch moves at least 8 MiB.
func bandwidthParams(access string, bytes int64) map[string]string {
	return map[string]string{"access": access, "bytes": fmt.Sprint(bytes), "passes": fmt.Sprint(max(1, (8<<20)/max(1, bytes)))}
}

// chaseParams follows at least 16384 links, or as many as there are lines up to 65536.
func chaseParams(bytes int64) map[string]string {
	return map[string]string{"bytes": fmt.Sprint(bytes), "steps": fmt.Sprint(min(65536, max(16384, bytes/64)))}
}

// sweep plans read bandwidth and latency over working-set sizes from 8 KiB to four times
// the last-level cache, for the detection of plateaus. Two points per octave, one when quick.
// A point well inside a cache is one more probe of that level: on a shared host the part of
// the last-level cache that is ours may be much smaller than its half.
func (b *builder) sweep(threads []int) ([]Probe, error) {
	var out []Probe
	last := DRAMBytes(b.o.LLC)
	if last == 0 {
		return nil, nil
	}
	if b.o.Memory > 0 {
		last = min(last, b.o.Memory/10*8)
	}
	var sizes []int64
	for n := int64(8 << 10); n <= last; n *= 2 {
		sizes = append(sizes, n)
		if !b.o.Quick && n*3/2 <= last {
			sizes = append(sizes, n*3/2)
		}
	}
	for _, n := range sizes {
		if _, ok := b.o.Ops.Spec("bandwidth"); ok {
			t := slices.Max(threads)
			c, err := b.newProbe(record.ProgramRef{Op: "bandwidth", DType: record.FP32, Params: bandwidthParams("read", n)}, t)
			if err != nil {
				return nil, err
			}
			c.Suite, c.UseCase = "sweep", record.UseCaseSweep
			out = append(out, Probe{Case: c, Sweep: true, Ceiling: b.inside(record.Ceiling{Kind: record.CeilingBandwidth, Access: "read", Unit: "GB/s", Threads: t}, n)})
		}
		if _, ok := b.o.Ops.Spec("chase"); ok {
			c, err := b.newProbe(record.ProgramRef{Op: "chase", DType: record.INT64, Params: chaseParams(n)}, 1)
			if err != nil {
				return nil, err
			}
			c.Suite, c.UseCase = "sweep", record.UseCaseSweep
			out = append(out, Probe{Case: c, Sweep: true, Ceiling: b.inside(record.Ceiling{Kind: record.CeilingLatency, Unit: "ns", Threads: 1}, n)})
		}
	}
	return out, nil
}

// inside completes the ceiling of the cache that a working set of n bytes lies well inside:
// at least four times what the inner levels hold, so that none of it comes from there, and at
// most half of the level. The zero ceiling when n lies in no such range.
func (b *builder) inside(c record.Ceiling, n int64) record.Ceiling {
	var inner int64
	for _, l := range b.levels(c.Threads) {
		if l.Capacity > 0 && n >= 4*inner && n <= l.Capacity/2 {
			c.Level, c.CapacityBytes, c.Device = l.Name, l.Capacity, b.o.Device
			return c
		}
		inner += l.Capacity
	}
	return record.Ceiling{}
}
