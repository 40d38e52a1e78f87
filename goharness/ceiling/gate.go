package ceiling

import (
	"fmt"

	"ridge/goharness/record"
)

// Slack of the compute gate: a result may exceed the best probe by this factor before it is
// suspect, since both carry noise.
const Slack = 1.05

// Finding is what the gate says about one result.
type Finding struct {
	Suspect bool
	Reason  string
	// Limits are the ceilings that the result exceeds; their probes are repeated before the
	// result is called invalid.
	Limits []*record.Ceiling
}

// Judge holds a result against what is physically possible. Compute: more than Slack × the
// best probe of the kernel's instruction set (or, where that has none, of any) at its dtype
// and thread count. Memory, per level: faster than the bytes that cannot have stayed in the
// inner levels, at that level's best probe. Theoretical rows and peaks given by the user
// never judge.
func (m *Model) Judge(r *record.Result) Finding {
	if !r.Status.Counts() || r.Time == nil {
		return Finding{}
	}
	if !(r.Time.MedianNS > 0) {
		return Finding{Suspect: true, Reason: fmt.Sprintf("the median time is %v ns", r.Time.MedianNS)}
	}
	times := []float64{r.Time.MedianNS}
	for i := range r.Arms {
		if r.Arms[i].Time != nil {
			times = append(times, r.Arms[i].Time.MedianNS)
		}
	}
	for _, ns := range times {
		if f := m.judgeCompute(r, ns); f.Suspect {
			return f
		}
		if f := m.judgeMemory(r, ns); f.Suspect {
			return f
		}
	}
	return Finding{}
}

func (m *Model) judgeCompute(r *record.Result, ns float64) Finding {
	if r.FLOPs == 0 || r.Suite == "peak" {
		return Finding{}
	}
	c := m.Compute(r.ISA, r.DType, r.Threads)
	if c == nil {
		c = m.Compute("", r.DType, r.Threads)
	}
	if c == nil {
		return Finding{}
	}
	got := float64(r.FLOPs) / ns
	if got <= Slack*c.Measured.Value {
		return Finding{}
	}
	return Finding{Suspect: true, Limits: []*record.Ceiling{c},
		Reason: fmt.Sprintf("%.4g GFLOPS is above %.2f × the best %s %s probe of %.4g at %d threads", got, Slack, c.ISA, c.DType, c.Measured.Value, r.Threads)}
}

// judgeMemory: a launch touches at least unique = min(bytes, working set) bytes. Of these at
// most the capacity of all inner levels can still be there from the launch before; the rest
// must cross the level's boundary, no faster than its best probe.
func (m *Model) judgeMemory(r *record.Result, ns float64) Finding {
	unique := min(r.Bytes, r.WorkingSetBytes)
	if unique <= 0 || r.UseCase == "ceiling" { // a probe sets the limit: copy may well exceed read
		return Finding{}
	}
	passes := float64(r.Bytes) / float64(unique)
	var inner int64
	for _, l := range m.levels(r.Threads) {
		best := m.Bandwidth(l.Name, r.Threads)
		if cross := unique - inner; best != nil && cross > 0 {
			floor := float64(cross) * passes / best.Measured.Value
			if ns*Slack < floor {
				return Finding{Suspect: true, Limits: []*record.Ceiling{best},
					Reason: fmt.Sprintf("%.4g ns is less than the %.4g ns that %d bytes need through %s at its best probe (%s %.4g GB/s)", ns, floor, int64(float64(cross)*passes), l.Name, best.Access, best.Measured.Value)}
			}
		}
		inner += l.Capacity
	}
	return Finding{}
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
		if r.Status.Counts() && r.Ceiling != nil && r.Ceiling.Fraction > 1.02 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%.2f of the measured ceiling: the probe of %s was slower than this kernel", r.Ceiling.Fraction, r.Ceiling.Bound))
		}
	}
	for i := range m.list {
		x := &m.list[i]
		if x.Ratio > 1.03 && x.Theoretical.Source != "user" && !lowerIsBetter(x.Kind) {
			x.Diagnosis = fmt.Sprintf("measured above the table's row: the row is wrong for this chip (%s), not the measurement", x.Theoretical.Source)
		}
	}
}
