package ceiling

import (
	"fmt"
	"slices"

	"ridge/goharness/record"
)

// Slack of the compute gate: a result may exceed the best probe by this factor before it is
// suspect, since both carry noise.
const Slack = 1.05

// Finding is what the gate says about one result.
type Finding struct {
	Suspect bool
	Reason  string
	// Limits are the ceilings that could lift the limit, the likeliest first; their probes are
	// repeated before the result is called invalid.
	Limits []*record.Ceiling
}

// Judge holds a result against what is physically possible. Compute: more than Slack × the
// best probe that bounds the kernel's instruction set and dtype at its thread count. Memory,
// per level: faster than the bytes that cannot have stayed in the inner levels, at that
// level's best probe. Theoretical rows and peaks given by the user never judge.
func (m *Model) Judge(r *record.Result) Finding {
	if !r.Status.Counts() || r.Time == nil {
		return Finding{}
	}
	arms := []work{{[]string{r.ISA}, r.ComputedIn(), r.Time.MedianNS, r.Executed(), r.Bytes}}
	if len(r.Arms) > 0 {
		arms = nil // Time is that of the first arm
	}
	for _, a := range r.Arms {
		if a.Time != nil {
			isa := a.ISA
			if isa == "" {
				isa = r.ISA // a document from before arms had their own
			}
			isas := a.ISAs
			if len(isas) == 0 {
				isas = []string{isa}
			}
			arms = append(arms, work{isas, a.ComputedIn(r.DType), a.Time.MedianNS, a.Executed(), a.Bytes})
		}
	}
	for _, w := range arms {
		if !(w.ns > 0) {
			return Finding{Suspect: true, Reason: fmt.Sprintf("the median time is %v ns", w.ns)}
		}
		if f := m.judgeCompute(r, w); f.Suspect {
			return f
		}
		if f := m.judgeMemory(r, w); f.Suspect {
			return f
		}
	}
	return Finding{}
}

// work of one launch, the precision that it multiplies in, and its time.
type work struct {
	isas         []string // of its kernels
	dtype        record.DType
	ns           float64
	flops, bytes int64
}

// intPerFP32: where no integer probe exists, 8-bit products are bounded by four times the
// fp32 probe: a register holds four times as many 8-bit numbers, and no core starts more
// vector integer multiplications (vpmaddubsw, vpmaddwd) than fused multiply-adds in a cycle.
const intPerFP32 = 4

// computeLimit is the probe that bounds a kernel and the factor on it. A portable kernel is
// whatever the compiler made of it, so the best probe of any instruction set bounds it; one of tensor cores only the probe of its own.
func (m *Model) computeLimit(isa string, d record.DType, threads int) (*record.Ceiling, float64) {
	if record.TensorISA(isa) {
		return m.Compute(isa, d, threads), 1
	}
	if isa == "portable" {
		isa = ""
	}
	for _, try := range []string{isa, ""} {
		if c := m.Compute(try, d, threads); c != nil {
			return c, 1
		}
	}
	if d == record.INT8 || d == record.U8S8 {
		if c := m.Compute("", record.FP32, threads); c != nil {
			return c, intPerFP32
		}
	}
	return nil, 0
}

func (m *Model) judgeCompute(r *record.Result, w work) Finding {
	if w.flops == 0 || r.Suite == "peak" {
		return Finding{}
	}
	// Of several kernels the fastest one's limit bounds all: a program's product may widen bf16 to fp32, which Emerald Rapids multiplies twice
	// as fast as the bf16 pairs of its attention.
	var c *record.Ceiling
	factor := 0.0
	for _, isa := range w.isas {
		if x, f := m.computeLimit(isa, w.dtype, r.Threads); x != nil && (c == nil || f*x.Measured.Value > factor*c.Measured.Value) {
			c, factor = x, f
		}
	}
	if c == nil {
		return Finding{}
	}
	got := float64(w.flops) / w.ns
	if got <= Slack*factor*c.Measured.Value {
		return Finding{}
	}
	return Finding{Suspect: true, Limits: []*record.Ceiling{c},
		Reason: fmt.Sprintf("%.4g GFLOPS is above %.2f × the best %s %s probe of %.4g at %d threads", got, Slack*factor, c.ISA, c.DType, c.Measured.Value, r.Threads)}
}

// crossing is how many of the bytes that a launch moves must cross into a level from
// outside, when the levels inside it hold inner bytes. A launch counts each byte of its
// working set at most k = ⌈bytes / unique⌉ times; each time, at most inner bytes can still
// be there from the time before.
func crossing(bytes, workingSet, inner int64) int64 {
	unique := min(bytes, workingSet)
	if unique <= 0 {
		return 0
	}
	k := (bytes-1)/unique + 1
	if inner > 0 && k > bytes/inner {
		return 0
	}
	return max(0, bytes-k*inner)
}

// beyond is how many of a launch's bytes must leave the caches that hold something during it alone: each byte of the working set once, and
// of every further time what cannot have stayed.
func (m *Model) beyond(bytes, workingSet int64) int64 {
	unique := min(bytes, workingSet)
	if m.Within == 0 || unique <= 0 {
		return bytes
	}
	again := (bytes - 1) / unique
	if stays := min(m.Within, unique); again <= bytes/stays {
		return max(unique, bytes-again*stays)
	}
	return unique
}

// judgeMemory: what must cross a level's boundary goes no faster than the fastest sample of
// any probe of that level. Neighbours on a shared cache slow whole probes for minutes, and a
// median under them is no physical limit; a sample of 200 µs that was faster is a proof that
// the hardware can.
func (m *Model) judgeMemory(r *record.Result, w work) Finding {
	var inner int64
	bytes := m.beyond(w.bytes, r.WorkingSetBytes)
	for _, l := range m.levels(r.Threads) {
		cross := crossing(bytes, r.WorkingSetBytes, inner)
		if all := footprint(r); all > r.WorkingSetBytes && all > inner { // sets in turn: at most what the caches hold of all of them has stayed
			cross = max(cross, int64(float64(bytes)*float64(all-inner)/float64(all)))
		}
		if best, rate := m.fastest(l.Name, r.Threads); best != nil && cross > 0 {
			floor := float64(cross) / rate
			if w.ns*Slack < floor {
				return Finding{Suspect: true, Limits: m.alike(best, r),
					Reason: fmt.Sprintf("%.4g ns is less than the %.4g ns that %d bytes need through %s at its best probe (%s %.4g GB/s)", w.ns, floor, cross, l.Name, best.Access, rate)}
			}
		}
		inner += l.Capacity
	}
	return Finding{}
}

// fastest is the bandwidth ceiling of a level with the fastest sample of all its probes, and
// that sample's rate.
func (m *Model) fastest(level string, threads int) (best *record.Ceiling, rate float64) {
	for i := range m.list {
		x := &m.list[i]
		if x.Kind != record.CeilingBandwidth || x.Level != level || x.Threads != threads || x.Measured.Value == 0 {
			continue
		}
		top := x.Measured.Value
		for _, p := range x.Probes {
			top = max(top, p.Best)
		}
		if top > rate {
			best, rate = x, top
		}
	}
	return best, rate
}

// alike lists the measured bandwidths of best's level whose traffic resembles the result's,
// and best itself.
func (m *Model) alike(best *record.Ceiling, r *record.Result) []*record.Ceiling {
	var out []*record.Ceiling
	for _, a := range accesses(r) {
		c := *best
		c.Access = a
		if x := m.Find(c); x != nil && x != best && x.Measured.Value > 0 {
			out = append(out, x)
		}
	}
	return append(out, best)
}

// Reject makes a result invalid. Its times stay for the record; no summary counts it.
func Reject(r *record.Result, f Finding) {
	r.Status = record.Invalid
	r.Reason = f.Reason
	r.Ceiling = nil
}

// Review looks at all results together: odd ratios are warnings, never refusals.
func (m *Model) Review(results []record.Result) {
	for i := range results {
		r := &results[i]
		if !r.Status.Counts() || r.Ceiling == nil {
			continue
		}
		if r.Ceiling.Fraction > 1.02 {
			warn(r, fmt.Sprintf("%.2f of the measured ceiling: the probe of %s was slower than this kernel", r.Ceiling.Fraction, r.Ceiling.Bound))
		}
		if len(m.list) > 0 && r.FLOPs > 0 && r.Ceiling.ComputeGFLOPS == 0 && r.Suite != "peak" {
			warn(r, fmt.Sprintf("no arithmetic probe at %s and %d threads: its fraction of the peak is unknown", r.ComputedIn(), r.Threads))
		}
	}
}

// warn adds a warning once: a resumed run reviews the same results again.
func warn(r *record.Result, text string) {
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}
