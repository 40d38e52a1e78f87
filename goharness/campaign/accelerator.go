package campaign

import (
	"fmt"
	"strconv"

	"ridge/goharness/ceiling"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// simulated: the CPU stands in for the device, so that its times are those of no hardware, and nothing can be too fast.
func (c *campaign) simulated() bool {
	return c.cfg.Accelerator != nil && c.cfg.Accelerator.Facts[record.FactSimulated] != ""
}

// acceleratorPlan fills what the plan needs to know of a device with memory and caches of its own. One that the CPU stands in for shows no rate
// of any hardware: its probes are as short as they can be.
func acceleratorPlan(o *plan.Options, a record.Device) {
	o.LLC = fact(a, "l2_bytes")
	o.Levels = []ceiling.Level{{Name: ceiling.DRAM}}
	if o.LLC > 0 {
		o.Levels = []ceiling.Level{{Name: "L2", Capacity: o.LLC}, {Name: ceiling.DRAM}}
	}
	o.Levels1 = o.Levels
	if o.TotalMemory == 0 {
		o.TotalMemory = a.Memory
	}
	if o.Memory == 0 {
		o.Memory = a.Memory / 10 * 9 // the driver keeps some; what is free is asked before each case
	}
	sms := max(1, fact(a, "multiprocessors"))
	o.Near, o.Near1 = sms*mostLocal, mostLocal
	o.Traffic, o.NearTraffic = probeTraffic, probeNearTraffic
	if o.PeakChunks = warpsPerSM * sms; a.Facts[record.FactSimulated] != "" {
		o.PeakChunks, o.Traffic, o.NearTraffic = 1, 1<<20, 1<<20
	}
	o.Chase = mostLinks
	o.Extra = append(extraProbes(sms, fact(a, "shared_bytes_per_block"), o.NearTraffic), copyProbes(a.Facts[record.FactSimulated] != "")...)
}

// acceleratorModel sets the ceilings of a device, and its results, beside its published peaks. A device that does not say what the formulas need
// has none: everything is measured only.
func acceleratorModel(m *ceiling.Model, a record.Device) (*ceiling.GPU, error) {
	gpu, err := ceiling.GPUOf(a)
	m.Within, m.GPU = max(1, fact(a, "multiprocessors"))*mostLocal, &gpu
	return &gpu, err
}

// addUnprobed gives published peaks that no probe reaches rows of their own.
func (c *campaign) addUnprobed() {
	if c.setting.GPU == nil || len(c.plan.Probes) == 0 {
		return
	}
	for _, x := range c.setting.GPU.Unprobed() {
		x.Threads = c.cfg.Plan.Threads
		c.model.Add(x)
	}
}

// warpsPerSM fill a multiprocessor: 16 for each of its four schedulers.
const warpsPerSM = 64

// fact is a whole number among the device's facts; 0 when it is unknown.
func fact(d record.Device, name string) int64 {
	n, _ := strconv.ParseInt(d.Facts[name], 10, 64)
	return max(0, n)
}

const (
	// firstLevel of the working set that each multiprocessor reads, and a buffer that one thread follows links through: well inside
	// the 128 to 256 KiB that the first-level caches from 8.0 on have; as many as the kernel reads through them (32 KiB a block, four loads a thread).
	firstLevel, firstLevelChase = 64 << 10, 16 << 10
	// probeTraffic are the bytes that a launch moves, probeNearTraffic from first-level caches and shared memory: at 6 and 30 TB/s, an H200's, some 200 us,
	// beside the 4 us of two launches in a graph.
	probeTraffic, probeNearTraffic = 1 << 30, 8 << 30
	mostLinks                      = 1 << 16 // that a launch follows: 40 ms at 600 ns a link
	// mostLocal: no multiprocessor from 8.0 to 12.0 keeps more than this in its first-level cache, which is its shared memory too.
	mostLocal = 256 << 10
)

// extraProbes are the levels of a device that no working set of a case can be held against, since a cache of the first level and shared
// memory keep nothing between launches, and the ways of launching.
func extraProbes(sms, shared, traffic int64) []plan.Extra {
	passes := func(bytes int64) string { return fmt.Sprint(max(1, traffic/(sms*bytes))) }
	out := []plan.Extra{
		{Ceiling: record.Ceiling{Kind: record.CeilingBandwidth, Level: "L1", Access: "read", Unit: "GB/s", CapacityBytes: sms * firstLevel},
			Op: "bandwidth", DType: record.FP32, Params: map[string]string{"access": "read", "bytes": fmt.Sprint(sms * firstLevel), "passes": passes(firstLevel)}},
		{Ceiling: record.Ceiling{Kind: record.CeilingLatency, Level: "L1", Unit: "ns"},
			Op: "chase", DType: record.INT64, Params: map[string]string{"bytes": fmt.Sprint(firstLevelChase), "steps": "16384"}},
		{Ceiling: record.Ceiling{Kind: record.CeilingLaunch, Access: "graph", Unit: "ns"}, Op: "dispatch_graph", DType: record.FP64, Params: map[string]string{}},
		{Ceiling: record.Ceiling{Kind: record.CeilingLaunch, Access: "persistent", Unit: "ns"}, Op: "dispatch_persistent", DType: record.FP64, Params: map[string]string{}},
		{Ceiling: record.Ceiling{Kind: record.CeilingLaunch, Access: "priority", Unit: "ns"}, Op: "dispatch_priority", DType: record.FP64, Params: map[string]string{}},
	}
	if bytes := min(shared, 64<<10) / 2 / 16 * 16; bytes > 0 { // two blocks fit into a multiprocessor
		out = append(out, plan.Extra{Ceiling: record.Ceiling{Kind: record.CeilingBandwidth, Level: record.LevelShared, Access: "read", Unit: "GB/s", CapacityBytes: sms * shared},
			Op: "shared_memory", DType: record.INT32, Params: map[string]string{"blocks": fmt.Sprint(4 * sms), "bytes": fmt.Sprint(bytes), "passes": passes(4 * bytes)}})
	}
	return out
}

// copySizes of the probes of the link to the host; the first is so small that its time is that of a copy of nothing.
var copySizes = []int64{4, 64 << 10, 1 << 20, 16 << 20, 256 << 20}

// copyProbes are copies from and to page-locked memory of the host: of one number for the latency, of rising sizes for the bandwidth.
func copyProbes(short bool) []plan.Extra {
	var out []plan.Extra
	for _, access := range []string{record.AccessToDevice, record.AccessToHost} {
		for i, n := range copySizes {
			if short && n > 64<<10 {
				break
			}
			c := record.Ceiling{Kind: record.CeilingBandwidth, Level: record.LevelHost, Access: access, Unit: "GB/s"}
			if i == 0 {
				c.Kind, c.Unit = record.CeilingLatency, "ns"
			}
			out = append(out, plan.Extra{Ceiling: c, Op: "copy_" + access, DType: record.FP32, Params: map[string]string{"bytes": fmt.Sprint(n)}})
		}
	}
	return out
}
