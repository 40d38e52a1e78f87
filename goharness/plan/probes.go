package plan

import (
	"fmt"
	"slices"

	"ridge/goharness/ceiling"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Accesses of the bandwidth probes. From DRAM the non-temporal forms of copy and triad are
// probed too: they skip the read of the line to be written, so theirs is the higher limit. In a cache of a CPU an update in place is the
// highest one: each line comes once and leaves once, where a copy fetches the line that it writes as well.
var Accesses = []string{"read", "write", "nt_write", "copy", "triad"}

func accessesOf(level, device string) []string {
	switch {
	case level == "DRAM":
		return append(slices.Clone(Accesses), "nt_copy", "nt_triad")
	case device == "cpu":
		return append(slices.Clone(Accesses), "update")
	}
	return Accesses
}

// probes plans the ceilings: arithmetic peaks, bandwidth per level and access, latency over
// working-set size, and the team's dispatch.
func (b *builder) probes() ([]Probe, []string, error) {
	var out []Probe
	threads := []int{b.o.Threads}
	if b.o.Threads > 1 {
		threads = []int{1, b.o.Threads}
	}
	add := func(c record.Ceiling, opName string, d record.DType, params map[string]string, t int, main bool, skip string) error {
		if _, ok := b.o.Ops.Spec(opName); !ok {
			return nil
		}
		k, err := b.newProbe(record.ProgramRef{Op: opName, DType: d, Params: params}, t)
		if err != nil {
			return err
		}
		k.Suite, k.UseCase, k.Level = suiteOf(c), record.UseCaseCeiling, c.Level
		if k.SkipReason = skip; c.ISA == "sve" && params["vl"] == "" {
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
			params, err := peakParams(p, max(int64(t), b.o.PeakChunks))
			if err != nil {
				return nil, nil, err
			}
			c := record.Ceiling{Kind: record.CeilingCompute, ISA: p.ISA, DType: p.DType, Unit: unit}
			if err := add(c, "peak", p.DType, params, t, true, ""); err != nil {
				return nil, nil, err
			}
		}
		for _, l := range b.levels(t) {
			bytes, skip := b.probeBytes(l, t)
			if bytes == 0 {
				continue
			}
			if l.Name == ceiling.DRAM && bytes < b.o.Traffic && b.o.Traffic <= b.o.Memory/10*8 {
				bytes = b.o.Traffic / 12288 * 12288 // in one pass, so that nothing of it is read again
			}
			for _, a := range accessesOf(l.Name, b.o.Device) {
				c := record.Ceiling{Kind: record.CeilingBandwidth, Level: l.Name, Access: a, Unit: "GB/s", CapacityBytes: l.Capacity}
				main := l.Name == ceiling.DRAM && slices.Contains([]string{"read", "triad", "nt_triad"}, a)
				if err := add(c, "bandwidth", record.FP32, bandwidthParams(a, bytes, b.o.traffic(bytes)), t, main, skip); err != nil {
					return nil, nil, err
				}
			}
		}
		c := record.Ceiling{Kind: record.CeilingLaunch, Unit: "ns"}
		if err := add(c, "dispatch", record.FP64, map[string]string{}, t, false, ""); err != nil {
			return nil, nil, err
		}
	}
	for _, l := range b.levels(1) {
		bytes, skip := b.probeBytes(l, 1)
		if l.Name == "L3" {
			bytes = min(bytes, smallPagesReach)
		}
		if bytes > 0 {
			c := record.Ceiling{Kind: record.CeilingLatency, Level: l.Name, Unit: "ns", CapacityBytes: l.Capacity}
			if err := add(c, "chase", record.INT64, b.o.chaseParams(bytes), 1, false, skip); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, x := range b.o.Extra {
		if err := add(x.Ceiling, x.Op, x.DType, x.Params, b.o.Threads, false, ""); err != nil {
			return nil, nil, err
		}
	}
	sweep, warnings, err := b.sweep(threads)
	for _, p := range sweep { // a size that is a ceiling's probe is asked once
		if !slices.ContainsFunc(out, func(x Probe) bool { return x.Case.ID == p.Case.ID }) {
			out = append(out, p)
		}
	}
	return out, warnings, err
}

// newProbe makes a case whose effort is the harness's own: always hot, by the stop rule.
func (b *builder) newProbe(ref record.ProgramRef, threads int) (record.Case, error) {
	o := *b
	o.o.Mode, o.o.Warmup, o.o.Trials, o.o.Kernel = record.Hot, 0, 0, ""
	c, err := o.newCase(ref, threads)
	if ref.Op == "chase" {
		c.BudgetNS += chaseTime(ref.Params)
	}
	return c, err
}

// peakParams gives every thread one chunk of work, or a device so many: a chunk is what one output element proves.
func peakParams(p Peak, chunks int64) (map[string]string, error) {
	row, err := op.FindPeak(p.ISA, p.DType)
	if err != nil {
		return nil, err
	}
	params := map[string]string{"isa": p.ISA, "instructions": fmt.Sprint(row.Chunk * chunks)}
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

// smallPagesReach is what the second level of a TLB reaches in pages of 4 KiB: 2,048 entries since Sunny Cove and Zen 3, and the most that a
// chase through a cache may span. A guest's large pages do not help where its host backs them by small ones: on Granite Rapids a link costs
// 38 ns over 8 MiB and 143 ns over 16, in a cache of hundreds of MiB that reads both at one speed.
const smallPagesReach = 8 << 20

// noLLC is why nothing can be called DRAM-sized.
const noLLC = "the size of the last-level cache is unknown, so no working set can be called DRAM-sized"

// probeBytes is the working set that represents a level: half of it, twice what lies
// inside, and for DRAM four times the last-level cache. skip says why it cannot be probed;
// a level too small for any probe has 0 bytes.
func (b *builder) probeBytes(l ceiling.Level, threads int) (n int64, skip string) {
	if l.Name == ceiling.DRAM {
		n = (max(DRAMBytes(b.o.LLC), leastDRAM) + 12287) / 12288 * 12288 // whole for 1, 2 and 3 arrays of fp32
		switch {
		case b.o.LLC == 0:
			skip = noLLC
		case b.o.Memory > 0 && n > b.o.Memory/10*8:
			skip = fmt.Sprintf("a DRAM figure needs %d bytes, at least four times the last-level cache; 80 %% of the free memory is %d", n, b.o.Memory/10*8)
		}
		return n, skip
	}
	var inner, all int64
	for _, x := range b.levels(threads) {
		if x.Name == l.Name {
			break
		}
		inner = x.Capacity
		all += x.Capacity
	}
	n = l.Capacity / 2
	if l.Name == "L3" && inner > 0 {
		// A last-level cache shared with strangers is theirs too: 6 × the inner level is
		// beyond its reach and likely still ours.
		n = min(n, 6*inner)
	}
	if n < 2*inner {
		n = l.Capacity * 3 / 4
	}
	n = n / 4096 * 4096
	if n < all+all/4 {
		// Most of it would stay in the inner levels: theirs would be the figure.
		skip = fmt.Sprintf("the inner caches of %d threads hold %d bytes together, too much beside the %d of %s: no working set of its own is beyond them", threads, all, l.Capacity, l.Name)
	}
	return n, skip
}

// leastTraffic are the bytes that a bandwidth probe moves at least.
const leastTraffic = 8 << 20

// traffic of a launch over a working set.
func (o Options) traffic(bytes int64) int64 {
	if bytes <= o.Near/4 {
		return max(o.NearTraffic, o.Traffic, leastTraffic)
	}
	return max(o.Traffic, leastTraffic)
}

// bandwidthParams repeats small working sets so that a launch moves about so much traffic: half of it at least.
func bandwidthParams(access string, bytes, traffic int64) map[string]string {
	return map[string]string{"access": access, "bytes": fmt.Sprint(bytes), "passes": fmt.Sprint(max(1, traffic/max(1, bytes)))}
}
