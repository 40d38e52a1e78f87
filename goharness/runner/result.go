package runner

import (
	"fmt"
	"slices"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

func describe(res *record.Result, p *Prepared) {
	res.Params = map[string]string{}
	for _, x := range p.Params {
		res.Params[x.Name] = x.Value
	}
	// Of a comparison, all figures outside of arms are the first arm's, as its time is.
	first := p.Arms[0]
	res.Kernel = first.Kernels[len(first.Kernels)-1]
	res.KernelParams = first.Params
	res.ISA = ISATag(first.ISA)
	res.Accumulate = p.Accumulate
	res.FLOPs, res.Bytes, res.WorkingSetBytes = p.FLOPs, p.Bytes, p.WorkingSetBytes
	res.ThreadsUsed = first.ThreadsUsed
	res.ExecutedFLOPs, res.PackedBytes, res.Computes = first.ExecutedFLOPs, first.PackedBytes, first.Computes
	res.Items, res.ItemUnit = p.Items, p.ItemUnit
	res.ReadBytes, res.WriteBytes, res.InputStreams = p.Traffic.ReadBytes, p.Traffic.WriteBytes, p.Traffic.Inputs
	if p.Bytes > 0 {
		res.ArithmeticIntensity = float64(p.FLOPs) / float64(p.Bytes)
	}
	res.Arms = nil
	if len(p.Arms) > 1 {
		for _, a := range p.Arms {
			res.Arms = append(res.Arms, record.Arm{Name: a.Name, Kernels: a.Kernels, Libraries: a.Libraries, LibrarySteps: a.LibrarySteps, KernelParams: a.Params, ISA: ISATag(a.ISA), ISAs: a.ISAs,
				FLOPs: a.FLOPs, ExecutedFLOPs: a.ExecutedFLOPs, Computes: a.Computes, Bytes: a.Bytes, BufferSets: a.Sets, ThreadsUsed: a.ThreadsUsed})
		}
	}
}

func timed(res *record.Result, m *Measured) {
	res.Status, res.Reason = record.OK, ""
	res.Time = &m.Times[0]
	for i := range res.Arms {
		res.Arms[i].Time = &m.Times[i]
	}
	res.Ratio = m.Ratio
	if !m.Converged {
		unsettled(res)
	}
	rates(res)
	c := m.Conditions
	res.Conditions = &c
	res.Warnings = append(res.Warnings, m.Warnings...)
	res.Energy = &record.Energy{Unavailable: "not asked for"}
}

// rates follow from the times.
func rates(res *record.Result) {
	for i := range res.Arms {
		a := &res.Arms[i]
		if t := a.Time.MedianNS; t > 0 {
			a.GFLOPS, a.BandwidthGBps = float64(a.FLOPs)/t, float64(a.Bytes)/t
		}
	}
	if t := res.Time.MedianNS; t > 0 {
		res.GFLOPS = float64(res.FLOPs) / t
		res.BandwidthGBps = float64(res.Bytes) / t
	}
}

// unsettled makes a result noisy and says how wide its interval is.
func unsettled(res *record.Result) {
	what, half := "median", res.Time.RelHalfWidth
	if res.Ratio != nil {
		what, half = fmt.Sprintf("ratio of %d quartets", len(res.Ratio.Quartets)), measure.HalfWidth(*res.Ratio)
	}
	width := fmt.Sprintf("%.2g", 100*half)
	if half >= 0.1 {
		width = fmt.Sprintf("%.0f", 100*half)
	}
	if !(half <= 1) { // few independent samples: the width itself says nothing
		width = "more than 100"
	}
	res.Status = record.Noisy
	res.Reason = "the interval of the " + what + " was still ±" + width + " % when the budget ended"
}

// Pool adds another visit to a comparison of the same programs by the same kernels (see measure.Pool, also for common). cuts and quick are the case's.
func Pool(res *record.Result, again record.Result, common float64, cuts []float64, quick bool) error {
	visit := func(r *record.Result) (v measure.Visit, err error) {
		if len(r.Arms) != 2 || r.Ratio == nil || r.Arms[0].Time == nil || r.Arms[1].Time == nil {
			return v, fmt.Errorf("pooling visits to %s: a result without two timed arms (%s)", res.ID, r.Status)
		}
		return measure.Visit{Ratio: *r.Ratio, Times: [2]record.Time{*r.Arms[0].Time, *r.Arms[1].Time}}, nil
	}
	a, err := visit(res)
	if err != nil {
		return err
	}
	b, err := visit(&again)
	if err != nil {
		return err
	}
	for i, x := range res.Arms {
		if y := again.Arms[i]; x.Name != y.Name || !slices.Equal(x.Kernels, y.Kernels) {
			return fmt.Errorf("pooling visits to %s: %s ran %v, then %v", res.ID, x.Name, x.Kernels, y.Kernels)
		}
	}
	v, err := measure.Pool(a, b, common)
	if err != nil {
		return err
	}
	// Slices and pointers of the result may be shared with what was shown before.
	res.Arms = slices.Clone(res.Arms)
	for i := range res.Arms {
		res.Arms[i].Time = &v.Times[i]
	}
	res.Ratio, res.Time = &v.Ratio, &v.Times[0]
	res.Status, res.Reason = record.OK, ""
	if !measure.Settled(v.Ratio, cuts, quick) {
		unsettled(res)
	}
	rates(res)
	res.Conditions = pooledConditions(res.Conditions, again.Conditions)
	return nil
}

// pooledConditions are those of the first visit with the counters of both and the last clock.
func pooledConditions(a, b *record.Conditions) *record.Conditions {
	if a == nil || b == nil {
		return a
	}
	out := *a
	add := func(to *record.Fact[int64], x record.Fact[int64]) {
		v, known := to.Get()
		if more, ok := x.Get(); ok && known {
			*to = record.Known(v+more, to.Source)
		}
	}
	add(&out.StealNS, b.StealNS)
	add(&out.RunDelayNS, b.RunDelayNS)
	add(&out.InvoluntarySwitches, b.InvoluntarySwitches)
	out.ClockAfterGHz, out.BarrierAfterNS = b.ClockAfterGHz, b.BarrierAfterNS
	before, known := a.BarrierBeforeNS.Get()
	if after, also := b.BarrierAfterNS.Get(); also && (!known || after < before) {
		out.TogetherOverAlone = b.TogetherOverAlone
	}
	return &out
}

func describeMismatch(m *record.Mismatch) string {
	if m == nil {
		return "the output differs from the expectation"
	}
	if len(m.Index) == 0 {
		return fmt.Sprintf("%s test: tensor %s: %s, want %s", m.Phase, m.Tensor, m.Got, m.Want)
	}
	return fmt.Sprintf("%s test: tensor %s%v is %s, want %s ± %.3g", m.Phase, m.Tensor, m.Index, m.Got, m.Want, m.Bound)
}

// ISATag names the instruction set that a kernel's required features amount to, in the
// vocabulary of the peak probes; "portable" when it requires none.
func ISATag(features []string) string {
	tags := []struct{ feature, tag string }{
		{"sm_100a", record.ISATcgen05}, {"sm_90a", record.ISAWgmma}, {"sm_90", record.ISAMma}, {"sm_80", record.ISAMma},
		{"amx-fp16", "amx"}, {"amx-int8", "amx"}, {"amx-bf16", "amx"}, {"avx512fp16", "avx512fp16"},
		{"avx512bf16", "avx512bf16"}, {"avx512vnni", "avx512vnni"}, {"avx512f", "avx512"}, {"avxvnni", "avxvnni"},
		{"avx2", "avx2"}, {"sse2", "sse2"}, {"sve", "sve"}, {"i8mm", "i8mm"}, {"bf16", "bf16arm"},
		{"dotprod", "dotprod"}, {"neon", "neon"},
	}
	for _, t := range tags {
		for _, f := range features {
			if f == t.feature {
				return t.tag
			}
		}
	}
	return "portable"
}
