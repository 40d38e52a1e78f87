package record

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Warnings and reasons of imported results.
const (
	noMedian    = "the median is not known: the mean stands for it, minimum and maximum for its interval, the maximum for the percentiles"
	notVerified = "of a graphs file: not verified, and no interval is known"
)

// graphsRow is one profile that is being read.
type graphsRow struct {
	n      graphsNode
	key    string
	kind   string // operation_type
	extra  graphsNode
	own    *CaseID // of a file of our own
	kept   graphsProfileKept
	batch  int64
	memory *bool
	bound  string // compute, memory or unknown
	main   graphsRates
}

// graphsRates are the numbers of a profile or of one of its precisions; nil where there are none.
type graphsRates struct {
	n                         graphsNode
	gops, gbps, intensity     *float64
	efficiency                *float64
	mean, std, least, longest *float64 // ms
	trials                    int64
}

func ratesOf(n graphsNode, gops string) graphsRates {
	r := graphsRates{n: n, gops: n.number(gops, 0, maxRate), gbps: n.number("achieved_bandwidth_gbps", 0, maxRate), intensity: n.number("arithmetic_intensity", 0, maxRate),
		efficiency: n.number("efficiency", 0, maxRatio), mean: n.number("mean_latency_ms", 0, maxMS), std: n.number("std_latency_ms", 0, maxMS),
		least: n.number("min_latency_ms", 0, maxMS), longest: n.number("max_latency_ms", 0, maxMS)}
	if t := n.whole("num_trials", 0, maxCount); t != nil {
		r.trials = *t
	}
	below := func(low string, a *float64, high string, b *float64) {
		if a != nil && b != nil && *a > *b*(1+1e-9) {
			n.fail("%s %g is above %s %g", low, *a, high, *b)
		}
	}
	below("min_latency_ms", r.least, "max_latency_ms", r.longest)
	below("min_latency_ms", r.least, "mean_latency_ms", r.mean)
	below("mean_latency_ms", r.mean, "max_latency_ms", r.longest)
	return r
}

// operations makes the results, profile by profile in the order of their keys.
func (m *graphsImport) operations() {
	names, fields := m.file.must("operation_profiles").objects()
	seen := map[string]string{}
	for i, n := range fields {
		if m.err != nil {
			return
		}
		for _, r := range m.profile(names[i], n) {
			if at, twice := seen[r.ID]; twice {
				n.fail("case %q is %s already", clip(r.ID, 200), at)
			}
			seen[r.ID] = n.path
			m.threads = max(m.threads, r.Threads)
			m.doc.Results = append(m.doc.Results, r)
		}
	}
}

func (m *graphsImport) profile(key string, n graphsNode) []Result {
	p := graphsRow{n: n, key: key, kind: textOr(n.text("operation_type"), "")}
	if p.kind == "" {
		n.must("operation_type").expected("a name")
	}
	if err := checkToken(p.kind, ""); err != nil {
		n.must("operation_type").fail("%v", err)
	}
	p.main = ratesOf(n, "measured_gflops")
	p.kept = graphsProfileKept{Key: key, Input: n.shape("input_shape"), Output: n.shape("output_shape")}
	if b := n.whole("batch_size", 0, maxCount); b != nil {
		p.batch = *b
	}
	p.memory, p.bound = n.flag("memory_bound"), "unknown"
	switch compute := n.flag("compute_bound"); {
	case p.memory == nil || compute == nil || *p.memory == *compute:
	case *compute:
		p.bound = "compute"
	default:
		p.bound = "memory"
	}
	p.readExtra()
	precisions, there := n.field("precision_results")
	names, fields := precisions.objects()
	if m.err != nil {
		return nil
	}
	if !there || len(fields) == 0 {
		return m.withoutPrecisions(p)
	}
	var out []Result
	main := m.mainPrecision(p, names, fields)
	for i, f := range fields {
		d := f.dtype(names[i])
		if s := f.text("precision"); s != nil && *s != names[i] {
			x, _ := f.field("precision")
			x.expected(strconv.Quote(names[i]) + ", as the key says")
		}
		if m.err == nil {
			out = append(out, m.precision(p, d, f, i == main))
		}
	}
	return out
}

// readExtra reads extra_params: whether the profile is of our own, by its case id.
func (p *graphsRow) readExtra() {
	var there bool
	p.extra, there = p.n.field("extra_params")
	if !there {
		p.extra.value = map[string]any{}
	}
	id := p.extra.text("case_id")
	if id == nil {
		p.kept.Extra, _ = p.extra.value.(map[string]any)
		return
	}
	at, _ := p.extra.field("case_id")
	c, err := ParseCaseID(*id)
	switch {
	case err != nil:
		at.fail("%v", err)
	case graphsType(c.Op) != p.kind:
		at.fail("the case is of %s, operation_type is %s", c.Op, p.kind)
	default:
		p.own = &c
	}
}

// withoutPrecisions is the one result of a profile that names no precision. Its tool measures
// in fp32 unless it says otherwise.
func (m *graphsImport) withoutPrecisions(p graphsRow) []Result {
	d := FP32
	if p.own != nil {
		d = p.own.DType
	}
	p.kept.NoPrecisions = true
	r := m.result(p, d, p.main, true)
	if p.own == nil {
		r.Warnings = append(r.Warnings, "the precision is not named: fp32 is assumed")
	}
	return []Result{r}
}

// mainPrecision finds the precision that the profile's own numbers are of; -1 without one.
func (m *graphsImport) mainPrecision(p graphsRow, names []string, fields []graphsNode) int {
	best := ""
	if p.own != nil {
		best = string(p.own.DType)
	} else if s := p.extra.text("best_precision"); s != nil {
		best = *s
	}
	same := func(a, b *float64) bool { return a != nil && b != nil && math.Abs(*a-*b) <= 1e-9*math.Abs(*b) }
	found := -1
	for i, f := range fields {
		x := ratesOf(f, "measured_gops")
		switch {
		case !same(x.mean, p.main.mean):
		case names[i] == best:
			return i
		case found < 0:
			found = i
		}
	}
	if found < 0 && m.err == nil && p.main.mean != nil {
		m.warn("%s: its own numbers are of none of its precisions and left out", p.n.path)
	}
	return found
}

// precision makes the result of one entry of precision_results.
func (m *graphsImport) precision(p graphsRow, d DType, n graphsNode, main bool) Result {
	x := ratesOf(n, "measured_gops")
	n.number("speedup_vs_fp32", 0, maxRatio)
	p.kept.TestSize = n.whole("test_size", 0, maxDim)
	reason := n.text("failure_reason")
	supported := n.flag("supported")
	if supported == nil {
		n.must("supported")
		return Result{}
	}
	if main { // an entry may leave out what the profile says
		for _, f := range []struct {
			to   **float64
			from *float64
		}{{&x.gbps, p.main.gbps}, {&x.intensity, p.main.intensity}, {&x.std, p.main.std}, {&x.least, p.main.least}, {&x.longest, p.main.longest}} {
			if *f.to == nil {
				*f.to = f.from
			}
		}
	}
	if *supported && x.mean != nil {
		return m.result(p, d, x, main)
	}
	r := m.empty(p, d)
	r.Status, r.Reason = Unsupported, textOr(reason, "")
	switch {
	case p.own != nil:
		status, text, _ := strings.Cut(r.Reason, ": ")
		if st := Status(status); slices.Contains(statuses, st) && !st.Counts() && (st == Unsupported) != *supported {
			r.Status, r.Reason = st, text
		}
	case *supported:
		r.Status = Skipped
		if r.Reason == "" {
			r.Reason = "the graphs file has no measurement of it"
		}
	case r.Reason == "":
		r.Reason = "the graphs file gives no reason"
	}
	m.carry(p, &r)
	m.keepProfile(p, &r, false)
	return r
}

// empty is a result up to its numbers.
func (m *graphsImport) empty(p graphsRow, d DType) Result {
	id, op := p.foreignID(d), opOf(p.kind)
	if p.own != nil {
		id, op = *p.own, p.own.Op
		id.DType = d
	}
	if p.own == nil {
		id.Device = m.device.ID
	}
	at, _ := p.extra.field("case_id")
	m.onDevice(at, id.Device)
	if err := id.Validate(); err != nil {
		p.n.fail("%v", err)
	}
	r := Result{ID: id.String(), Op: op, Suite: suiteOf(p.kind), DType: d, Device: id.Device, Threads: id.Threads, Mode: id.Mode, Batch: p.batch, Params: map[string]string{}}
	for _, x := range id.Params {
		r.Params[x.Name] = x.Value
	}
	return r
}

// onDevice takes the device of the first case for the file's, if its platform is the file's;
// all others must be of that one.
func (m *graphsImport) onDevice(at graphsNode, id string) {
	platform, _, _ := strings.Cut(id, ":")
	switch {
	case m.deviceSeen && id != m.device.ID:
		at.fail("the case is of device %s, others of %s", clip(id, 40), clip(m.device.ID, 40))
	case platform != m.device.Platform:
		at.fail("the case is of device %s, metadata.device_type is %s", clip(id, 40), clip(m.device.Platform, 40))
	}
	m.device.ID, m.deviceSeen = id, true
}

// result makes a result of numbers that were measured.
func (m *graphsImport) result(p graphsRow, d DType, x graphsRates, main bool) Result {
	r := m.empty(p, d)
	if x.mean == nil || *x.mean == 0 {
		f, _ := x.n.field("mean_latency_ms")
		f.expected("a time above 0")
		return r
	}
	or0 := func(v *float64) float64 {
		if v == nil {
			return 0
		}
		return *v
	}
	mean := nsOf(*x.mean)
	t := &Time{MedianNS: mean, MeanNS: mean, StdNS: nsOf(or0(x.std)), MinNS: mean, MaxNS: mean, SamplesNS: []float64{}, EffectiveN: float64(x.trials), StopRule: "trials"}
	if x.least != nil {
		t.MinNS = nsOf(*x.least)
	}
	if x.longest != nil {
		t.MaxNS = nsOf(*x.longest)
	}
	t.CI95NS = [2]float64{min(t.MinNS, mean), max(t.MaxNS, mean)}
	t.P90NS, t.P95NS, t.P99NS = t.MaxNS, t.MaxNS, t.MaxNS
	r.Status, r.Reason, r.Time, r.Warnings = Noisy, notVerified, t, []string{noMedian}
	r.GFLOPS, r.BandwidthGBps, r.ArithmeticIntensity = or0(x.gops), or0(x.gbps), or0(x.intensity)
	work := func(name string, rate float64) int64 {
		if rate*mean > 1<<62 {
			x.n.fail("%s times mean_latency_ms is more work than a count can hold", name)
			return 0
		}
		return int64(math.Round(rate * mean))
	}
	r.FLOPs, r.Bytes = work("measured_gflops", r.GFLOPS), work("achieved_bandwidth_gbps", r.BandwidthGBps)
	if !m.carry(p, &r) {
		m.rate(p, &r, x)
	}
	if t.MedianNS > 0 {
		t.RelHalfWidth = (t.CI95NS[1] - t.CI95NS[0]) / 2 / t.MedianNS
	}
	m.keepProfile(p, &r, main)
	return r
}

// rate holds a result against the file's theoretical peaks, its only limits.
func (m *graphsImport) rate(p graphsRow, r *Result, x graphsRates) {
	c := &ResultCeiling{Bound: p.bound, Source: "theoretical"}
	peak, rate := m.theory.gflops[r.DType], r.GFLOPS
	if r.FLOPs == 0 || streams(r) {
		peak, rate = m.theory.gbps, r.BandwidthGBps
	}
	if peak > 0 {
		c.Fraction = rate / peak
		c.FloorNS = c.Fraction * r.Time.MeanNS
		if x.efficiency != nil && math.Abs(*x.efficiency-c.Fraction) > 0.01*c.Fraction {
			m.warn("%s: efficiency %.3g, and %.4g are %.3g of the file's theoretical peak %g", x.n.path, *x.efficiency, rate, c.Fraction, peak)
		}
		if c.Fraction > 1.05 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("faster than the file's theoretical peak %g", peak))
		}
	}
	r.Ceiling = c
}

// carry fills in what extra_params tells of a result of our own; false when it tells nothing.
func (m *graphsImport) carry(p graphsRow, r *Result) bool {
	all, there := p.extra.field(graphsResultsKey)
	if p.own == nil || !there {
		return false
	}
	n, there := all.field(string(r.DType))
	if !there {
		return false
	}
	var c graphsCarried
	n.decode(&c)
	bad := func(name, format string, a ...any) {
		graphsNode{path: under(n.path, name), first: n.first}.fail(format, a...)
	}
	switch {
	case m.err != nil:
		return false
	case c.CaseID != r.ID:
		bad("case_id", "got %s, the profile's is %s", clip(c.CaseID, 200), clip(r.ID, 200))
	case !slices.Contains(statuses, c.Status):
		bad("status", "unknown status %q", clip(string(c.Status), 40))
	case c.Status.Counts() != (r.Time != nil):
		bad("status", "%s goes not with the precision's numbers", c.Status)
	case c.Computes != "" && !c.Computes.Known():
		bad("computes", "unknown precision %q", clip(string(c.Computes), 40))
	case min(c.FLOPs, c.ExecutedFLOPs, c.Bytes, c.WorkingSetBytes, c.Batch, c.Items) < 0:
		bad("flops", "a count is negative")
	}
	if k := c.Ceiling; k != nil && min(k.ComputeGFLOPS, k.MemoryGBps, k.FloorNS, k.Fraction, k.UserFraction) < 0 {
		bad("ceiling", "a number is negative")
	}
	r.Suite, r.UseCase, r.Kernel, r.ISA, r.Accumulate, r.Status, r.Reason = c.Suite, c.UseCase, c.Kernel, c.ISA, c.Accumulate, c.Status, c.Reason
	r.FLOPs, r.ExecutedFLOPs, r.Computes, r.Bytes, r.WorkingSetBytes, r.Items, r.ItemUnit, r.Batch = c.FLOPs, c.ExecutedFLOPs, c.Computes, c.Bytes, c.WorkingSetBytes, c.Items, c.ItemUnit, c.Batch
	r.Ceiling = c.Ceiling
	if len(c.Concurrent) > 0 {
		r.Conditions = &Conditions{Concurrent: c.Concurrent}
	}
	if len(c.Params) > 0 {
		r.Params = c.Params
	}
	if t := r.Time; t != nil {
		const most = maxMS * 1e6
		lo, hi := c.CI95NS[0], c.CI95NS[1]
		if !(c.MedianNS > 0 && 0 <= lo && lo <= c.MedianNS && c.MedianNS <= hi && hi <= most) {
			bad("ci95_ns", "%g to %g around the median %g: expected times around it", lo, hi, c.MedianNS)
		}
		for _, p := range []float64{c.MADNS, c.P90NS, c.P95NS, c.P99NS} {
			if !(p >= 0 && p <= most) {
				bad("p90_ns", "%g: expected a time", p)
			}
		}
		t.MedianNS, t.CI95NS, t.MADNS, t.P90NS, t.P95NS, t.P99NS = c.MedianNS, c.CI95NS, c.MADNS, c.P90NS, c.P95NS, c.P99NS
		r.Warnings = nil
	}
	return true
}

// keepProfile keeps a foreign profile's fields on a result, for an export.
func (m *graphsImport) keepProfile(p graphsRow, r *Result, main bool) {
	if p.own != nil || m.err != nil {
		return
	}
	p.kept.Main = main
	if err := keep(&r.Extra, graphsProfileKey, p.kept); err != nil {
		p.n.fail("%v", err)
	}
}

// nsOf is the time that ms is the quotient of, so that an export gives the same ms again.
func nsOf(ms float64) float64 {
	ns := ms * 1e6
	for _, n := range []float64{ns, math.Nextafter(ns, 0), math.Nextafter(ns, math.Inf(1))} {
		if n/1e6 == ms {
			return n
		}
	}
	return ns
}

// opOf is the op of an operation type that ridge has a name of its own for.
func opOf(kind string) string {
	for _, op := range []string{"gemm", "multiply", "layer_norm", "dot", "axpy", "gemv"} {
		if graphsType(op) == kind {
			return op
		}
	}
	return kind
}

// suiteOf is the suite in which results of an operation type are shown.
func suiteOf(kind string) string {
	for _, s := range []struct{ prefix, suite string }{
		{"stream_", "stream"}, {"blas", "blas"}, {"matmul", "gemm"}, {"conv", "conv"}, {"depthwise_conv", "conv"}, {"attention", "attention"}, {"flash_attention", "attention"},
		{"linear", "linear"}, {"softmax", "normalization"}, {"layernorm", "normalization"},
	} {
		if strings.HasPrefix(kind, s.prefix) {
			return s.suite
		}
	}
	return ""
}
