package plan

import (
	"fmt"
	"slices"
	"strconv"

	"ridge/goharness/ceiling"
	"ridge/goharness/record"
)

// leastChase are the links that a launch follows at least, so that a small cache is walked
// often enough to time.
const leastChase = 16384

// mostChase are the links that a launch follows at most, where Options.Chase does not say: an eighth of a second from DRAM. The next launch goes on where it ended (op.Chase),
// so that together they visit every line of the largest buffer before they come back to one.
const mostChase = 1 << 19

// chaseParams follows every line of the buffer once, but leastChase links of a small one and mostChase of a large one.
func (o Options) chaseParams(bytes int64) map[string]string {
	most := o.Chase
	if most == 0 {
		most = mostChase
	}
	return map[string]string{"bytes": fmt.Sprint(bytes), "steps": fmt.Sprint(min(max(leastChase, bytes/64), most))}
}

// chaseLinkNS is a load from DRAM with a missing TLB entry on a virtual machine, in round
// figures: what a launch may take, for its budget.
const chaseLinkNS = 150

// firstLook are the samples after which a run asks whether its interval is narrow enough.
const firstLook = 10

// chaseTime is the time in ns that the budget of a chase needs for the samples of a first look.
func chaseTime(params map[string]string) int64 {
	steps, err := strconv.ParseInt(params["steps"], 10, 64)
	if err != nil {
		return 0
	}
	return firstLook * chaseLinkNS * steps
}

// quickSweep is the largest working set of the sweep when quick: one octave beyond the
// last-level cache. The probes of DRAM, over four times that cache, stand for those left out.
func (o Options) quickSweep() int64 { return 2 * max(o.LLC, 32<<20) }

// sweep plans read bandwidth and latency over working-set sizes from 8 KiB to four times
// the last-level cache, for the detection of plateaus. Two points per octave, one when quick, and reads at the ends of the caches.
// A point well inside a cache is one more probe of that level: on a shared host the part of
// the last-level cache that is ours may be much smaller than its half. Where no cache size
// is known the sweep is what tells the levels. The warnings name what it leaves out.
func (b *builder) sweep(threads []int) (out []Probe, warnings []string, err error) {
	last := max(DRAMBytes(b.o.LLC), leastDRAM)
	if most := b.o.Memory / 10 * 8; b.o.Memory > 0 && most < last {
		warnings = append(warnings, fmt.Sprintf("the cache sweep ends at %d bytes instead of %d: 80 %% of the free memory is %d", most, last, most))
		last = most
	}
	var sizes []int64
	for n := int64(8 << 10); n <= last; n *= 2 {
		sizes = append(sizes, n)
		if !b.o.Quick && n*3/2 <= last {
			sizes = append(sizes, n*3/2)
		}
	}
	all := slices.Max(threads)
	edges := ceiling.EdgeSizes(b.levels(all))
	add := func(ref record.ProgramRef, threads int, edge bool) error {
		if _, ok := b.o.Ops.Spec(ref.Op); !ok {
			return nil
		}
		k, err := b.newProbe(ref, threads)
		if err != nil {
			return err
		}
		k.Suite, k.UseCase = "sweep", record.UseCaseSweep
		near := b.o.Near
		if ref.Op == "chase" { // by one thread
			near = b.o.Near1
		}
		out = append(out, Probe{Case: k, Sweep: true, Edge: edge, Ceiling: sweepCeiling(k, b.levels(threads), near)})
		return nil
	}
	read := func(n int64) error {
		return add(record.ProgramRef{Op: "bandwidth", DType: record.FP32, Params: bandwidthParams("read", n, b.o.traffic(n))}, all, slices.Contains(edges, n))
	}
	for _, n := range edges {
		if slices.Contains(sizes, n) && !(b.o.Quick && n > b.o.quickSweep()) {
			continue
		}
		if err := read(n); err != nil {
			return nil, nil, err
		}
	}
	for _, n := range sizes {
		if b.o.Quick && n > b.o.quickSweep() {
			continue
		}
		if err := read(n); err != nil {
			return nil, nil, err
		}
		if err := add(record.ProgramRef{Op: "chase", DType: record.INT64, Params: b.o.chaseParams(n)}, 1, false); err != nil {
			return nil, nil, err
		}
	}
	return out, warnings, nil
}

// sweepCeiling is the ceiling of the cache that a point of the sweep lies well inside; the
// zero ceiling when there is none. near: what caches inside the levels hold during a launch.
func sweepCeiling(k record.Case, levels []ceiling.Level, near int64) record.Ceiling {
	n, err := strconv.ParseInt(k.Program.Params["bytes"], 10, 64)
	l, ok := ceiling.Inside(append([]ceiling.Level{{Capacity: near}}, levels...), n)
	if err != nil || !ok || l.Name == "" {
		return record.Ceiling{}
	}
	c := record.Ceiling{Kind: record.CeilingBandwidth, Access: "read", Unit: "GB/s"}
	if k.Program.Op == "chase" {
		c = record.Ceiling{Kind: record.CeilingLatency, Unit: "ns"}
	}
	c.Device, c.Threads, c.Level, c.CapacityBytes = k.Device, k.Threads, l.Name, l.Capacity
	return c
}

// SweepCeilings lists the points of the sweep with the ceilings of other levels than the
// plan's: those that the sweep itself has shown, for one thread and for all.
func SweepCeilings(probes []Probe, levels, levels1 []ceiling.Level) []Probe {
	var out []Probe
	for _, p := range probes {
		if !p.Sweep {
			continue
		}
		of := levels
		if p.Case.Threads == 1 {
			of = levels1
		}
		p.Ceiling = sweepCeiling(p.Case, of, 0)
		out = append(out, p)
	}
	return out
}
