package record

import (
	"fmt"
	"slices"
	"strings"
)

// UserPeaks are the peaks a user gave; 0 where none was given. They replace a theoretical
// peak in the efficiency fields of what is rated and judge nothing. Probes are limits
// themselves and stand against none.
type UserPeaks struct {
	GFLOPS float64
	GBps   float64 // 10⁹ bytes per second
	// DType is the precision that GFLOPS is the peak of: precisions differ by factors, so a
	// peak of one says nothing of another. "" means fp32; int8 serves both 8-bit products.
	DType DType
}

// compute reports whether the given arithmetic peak is that of a result.
func (u UserPeaks) compute(r *Result) bool {
	of := u.DType
	if of == "" {
		of = FP32
	}
	return u.GFLOPS > 0 && !r.Probe() && (r.ComputedIn() == of || r.DType == U8S8 && of == INT8)
}

// bandwidth reports whether the given bandwidth is that of a result: for working sets in DRAM.
func (u UserPeaks) bandwidth(r *Result) bool {
	return u.GBps > 0 && !r.Probe() && r.Ceiling != nil && r.Ceiling.MemoryLevel == "DRAM"
}

// FillMetrics derives the selected metric groups of a result (nil selects all) from its
// times, work and conditions and the run's ceilings. A group that cannot be known is left
// out. Results whose status does not count get no metrics.
func FillMetrics(r *Result, selected []string, ceilings []Ceiling, user UserPeaks) error {
	for _, g := range selected {
		if !slices.Contains(MetricGroups, g) {
			return fmt.Errorf("unknown metric group %q: expected some of %s", g, strings.Join(MetricGroups, ", "))
		}
	}
	r.Metrics = nil
	if !r.Status.Counts() || r.Time == nil || r.Time.MedianNS <= 0 {
		return nil
	}
	want := func(g string) bool { return selected == nil || slices.Contains(selected, g) }
	m := &Metrics{}
	if want("latency") {
		t := r.Time
		m.Latency = &LatencyMetrics{Mean: t.MeanNS / 1e6, Median: t.MedianNS / 1e6, Min: t.MinNS / 1e6, Max: t.MaxNS / 1e6,
			Std: t.StdNS / 1e6, P90: t.P90NS / 1e6, P95: t.P95NS / 1e6, P99: t.P99NS / 1e6}
	}
	if want("throughput") {
		m.Throughput = throughput(r)
	}
	if want("memory") {
		m.Memory = memory(r)
	}
	if want("flops") && r.FLOPs > 0 {
		m.FLOPs = flopMetrics(r, ceilings, user)
	}
	if want("power") {
		m.Power = power(r)
	}
	if want("bandwidth") && r.Bytes > 0 {
		m.Bandwidth = bandwidth(r, ceilings, user)
	}
	r.Metrics = m
	standByUser(r, user)
	return nil
}

// standByUser fills the fraction of the peaks that the user gave: of the compute peak for
// work in its precision, of the bandwidth for working sets in DRAM, the larger of the two.
func standByUser(r *Result, user UserPeaks) {
	floor := 0.0
	if user.compute(r) {
		floor = float64(r.Executed()) / user.GFLOPS
	}
	if user.bandwidth(r) {
		floor = max(floor, float64(r.Bytes)/user.GBps)
	}
	if floor <= 0 {
		return
	}
	if r.Ceiling == nil {
		r.Ceiling = &ResultCeiling{Bound: "unknown", Source: "user"}
	}
	r.Ceiling.UserFraction = floor / r.Time.MedianNS
}

// PeaksTooLow names the results that exceed a peak that the user gave: no result is wrong
// for that, the given peak is too low. One line for each peak, on its highest result.
func PeaksTooLow(results []Result, user UserPeaks) []string {
	var out []string
	say := func(flag string, given float64, unit string, rate func(*Result) float64) {
		var top *Result
		for i := range results {
			if r := &results[i]; r.Status.Counts() && r.Time != nil && rate(r) > given && (top == nil || rate(r) > rate(top)) {
				top = r
			}
		}
		if given > 0 && top != nil {
			out = append(out, fmt.Sprintf("%s %.4g is too low: %s reached %.4g %s, %.0f %% of it", flag, given, top.ID, rate(top), unit, 100*rate(top)/given))
		}
	}
	say("--peak-gflops", user.GFLOPS, "executed GFLOPS", func(r *Result) float64 {
		if !user.compute(r) {
			return 0
		}
		return float64(r.Executed()) / r.Time.MedianNS
	})
	say("--peak-bandwidth", user.GBps, "GB/s", func(r *Result) float64 {
		if !user.bandwidth(r) {
			return 0
		}
		return float64(r.Bytes) / r.Time.MedianNS
	})
	return out
}

// timed is the number of timed launches and the nanoseconds they took together.
func timed(t *Time) (launches int64, ns float64) {
	per := int64(max(1, t.Launches))
	for _, s := range t.SamplesNS {
		ns += s * float64(per)
	}
	return per * int64(len(t.SamplesNS)), ns
}

func throughput(r *Result) *ThroughputMetrics {
	n, ns := timed(r.Time)
	if ns <= 0 {
		return nil
	}
	m := &ThroughputMetrics{BatchesPerSec: float64(n) / ns * 1e9, TimePerBatch: ns / float64(n) / 1e6, Item: "launch"}
	items := int64(1)
	if r.Items > 0 {
		items, m.Item = r.Items, r.ItemUnit
	}
	m.TotalItems = items * n
	m.ItemsPerSec = float64(items) * m.BatchesPerSec
	return m
}

func memory(r *Result) *MemoryMetrics {
	c := r.Conditions
	if c == nil || c.PeakMemoryBytes == 0 {
		return nil
	}
	m := &MemoryMetrics{
		PeakMB: float64(c.PeakMemoryBytes) / 1e6, CPUStartMB: float64(c.MemoryBeforeBytes) / 1e6,
		CPUEndMB: float64(c.MemoryAfterBytes) / 1e6, GrowthMB: float64(c.MemoryAfterBytes-c.MemoryBeforeBytes) / 1e6,
	}
	if d := r.DeviceMemory; d != nil {
		start, end := float64(d.StartBytes)/1e6, float64(d.EndBytes)/1e6
		m.AllocatedStartMB, m.AllocatedEndMB = &start, &end
	}
	return m
}

func flopMetrics(r *Result, ceilings []Ceiling, user UserPeaks) *FLOPMetrics {
	g, run := float64(r.FLOPs)/r.Time.MedianNS, float64(r.Executed())/r.Time.MedianNS
	m := &FLOPMetrics{FLOPs: r.FLOPs, GFLOPS: g, TFLOPS: g / 1e3}
	measured := 0.0
	if r.Ceiling != nil {
		measured = r.Ceiling.ComputeGFLOPS
	}
	if measured > 0 {
		m.HardwareEfficiency = run / measured
	} else {
		m.Unavailable = "no compute ceiling was measured for this precision and thread count"
	}
	peak := theoreticalCompute(r, ceilings)
	switch {
	case user.compute(r):
		peak, m.PeakSource = user.GFLOPS, "user"
	case peak > 0:
		m.PeakSource = "theoretical"
	case measured > 0:
		peak, m.PeakSource = measured, "measured"
	}
	if peak > 0 {
		m.UtilizationPct = 100 * run / peak
	}
	return m
}

// theoreticalCompute is the theoretical peak for the result's precision, threads and, where
// it has one, ISA; 0 when nobody knows it.
func theoreticalCompute(r *Result, ceilings []Ceiling) float64 {
	best := 0.0
	for i := range ceilings {
		c := &ceilings[i]
		if c.Kind == CeilingCompute && c.Device == r.Device && c.DType == r.ComputedIn() && c.Threads == r.Threads &&
			(r.ISA == "" || c.ISA == r.ISA) && c.Theoretical.Unavailable == "" {
			best = max(best, c.Theoretical.Value)
		}
	}
	return best
}

// power needs a meter's energy over a window and the launches in it.
func power(r *Result) *PowerMetrics {
	e := r.Energy
	switch {
	case e == nil:
		return nil
	case e.Unavailable != "":
		return &PowerMetrics{Unavailable: e.Unavailable}
	case !e.Known():
		return &PowerMetrics{Unavailable: "the meter gave no energy for a window with launches in it"}
	}
	m := &PowerMetrics{EnergyJoules: e.Joules, AvgWatts: e.MeanWatts(), MaxWatts: e.MaxWatts, UncertaintyPct: 100 * e.Uncertainty / e.Joules}
	work := float64(r.FLOPs) * e.Launches
	m.OpsPerWatt = work / e.Joules // (operations/s) / W = operations / J
	m.GFLOPSPerWatt = work / e.Joules / 1e9
	m.ThroughputPerWatt = float64(max(1, r.Items)) * e.Launches / e.Joules
	if work > 0 {
		m.PJPerFLOP = e.Joules / work * 1e12
	}
	if bytes := float64(r.Bytes) * e.Launches; bytes > 0 {
		m.PJPerByte = e.Joules / bytes * 1e12
	}
	return m
}

func bandwidth(r *Result, ceilings []Ceiling, user UserPeaks) *BandwidthMetrics {
	m := &BandwidthMetrics{
		TransfersGB: float64(r.Bytes) / 1e9, Intensity: float64(r.FLOPs) / float64(r.Bytes), Traffic: "modelled",
	}
	if n, ns := timed(r.Time); ns > 0 {
		m.AvgGBps = float64(r.Bytes) * float64(n) / ns
	} else {
		m.AvgGBps = float64(r.Bytes) / r.Time.MedianNS
	}
	if r.Time.MinNS > 0 {
		m.PeakGBps = float64(r.Bytes) / r.Time.MinNS
	}
	c := r.Ceiling
	if c == nil {
		c = &ResultCeiling{}
	}
	m.PeakTheoretical = theoreticalBandwidth(r, c.MemoryLevel, ceilings)
	switch {
	case user.bandwidth(r):
		m.UtilizationPercent, m.PeakSource = 100*m.AvgGBps/user.GBps, "user"
	case c.MemoryGBps > 0:
		m.UtilizationPercent, m.PeakSource = 100*m.AvgGBps/c.MemoryGBps, "measured"
	default:
		m.Unavailable = "no bandwidth ceiling was measured for this level and thread count"
	}
	switch {
	case r.FLOPs == 0: // whatever the limits are
		m.MemoryBound = r.Bytes > 0
	case c.Bound == "memory", c.Bound == "compute":
		m.MemoryBound, m.ComputeBound = c.Bound == "memory", c.Bound == "compute"
	case m.Unavailable == "":
		m.Unavailable = "nobody can say which limit binds: one of the two was not measured"
	}
	return m
}

// theoreticalBandwidth is the theoretical peak of the level that a result's data come from, for its mix of reads and writes; 0 when nobody
// knows it. Memory's is of both together. A cache is read and written by ports of their own: the traffic takes as long as the
// busier of the two does. Between two levels nothing is faster than the inner one.
func theoreticalBandwidth(r *Result, level string, ceilings []Ceiling) float64 {
	level, _, _ = strings.Cut(level, "-")
	var read, write, either float64
	for i := range ceilings {
		x := &ceilings[i]
		if x.Kind != CeilingBandwidth || x.Device != r.Device || x.Level != level || level == "" || x.Threads != r.Threads || x.Theoretical.Unavailable != "" {
			continue
		}
		either = max(either, x.Theoretical.Value)
		switch x.Access {
		case "read":
			read = x.Theoretical.Value
		case "write":
			write = x.Theoretical.Value
		}
	}
	if level == "DRAM" || either == 0 {
		return either
	}
	ns := 0.0
	for _, part := range []struct {
		bytes int64
		peak  float64
	}{{r.ReadBytes, read}, {r.WriteBytes, write}} {
		if part.bytes == 0 {
			continue
		}
		if part.peak == 0 {
			return 0
		}
		ns = max(ns, float64(part.bytes)/part.peak)
	}
	if ns == 0 {
		return either
	}
	return float64(r.ReadBytes+r.WriteBytes) / ns
}

// Summarize counts results by status and finds the bests of each suite. Only results
// with a figure can be a best; GFLOPS bests come from floating-point precisions,
// bandwidth bests from cases whose working set lies in DRAM.
func Summarize(results []Result) Summary {
	s := Summary{Counts: map[Status]int{}, Suites: map[string]SuiteSummary{}}
	for i := range results {
		r := &results[i]
		s.Counts[r.Status]++
		if r.Probe() {
			continue // limits are not achievements
		}
		suite := r.Suite
		if suite == "" {
			suite = "other"
		}
		b := s.Suites[suite]
		b.Cases++
		if r.HasFigure() {
			if r.DType.Float() && r.GFLOPS > b.BestGFLOPS {
				b.BestGFLOPS, b.BestGFLOPSCase = r.GFLOPS, r.ID
			}
			if r.Ceiling != nil && r.Ceiling.MemoryLevel == "DRAM" && r.BandwidthGBps > b.BestBandwidthGBps {
				b.BestBandwidthGBps, b.BestBandwidthCase = r.BandwidthGBps, r.ID
			}
		}
		s.Suites[suite] = b
	}
	s.Scaling = scalings(results)
	return s
}
