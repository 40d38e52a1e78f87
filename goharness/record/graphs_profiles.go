package record

import (
	"fmt"
	"strconv"
	"strings"
)

// graphsTypes maps ridge's op names to the operation types of the graphs file where the
// two differ.
func graphsType(op string) string {
	switch op {
	case "gemm":
		return "matmul"
	case "multiply":
		return "mul"
	case "layer_norm":
		return "layernorm"
	case "dot", "axpy":
		return "blas1_" + op
	case "gemv":
		return "blas2_" + op
	}
	return op
}

// graphsMember is a result with what it keeps of the profile that it was imported from.
type graphsMember struct {
	*Result
	kept *graphsProfileKept
}

// operations groups the results that differ only in precision into one profile. The
// profile's own numbers are those of fp32, or of the first precision that counts; of an
// imported profile those that they were.
func (x graphsExport) operations() (map[string]graphsOperation, error) {
	groups := map[string][]graphsMember{}
	for i := range x.doc.Results {
		r := &x.doc.Results[i]
		id, err := ParseCaseID(r.ID)
		if r.Device != x.device.ID || r.Probe() || r.UseCase == UseCaseVerification || err != nil || len(r.Arms) > 0 {
			continue
		}
		kept, there, err := keptOf[graphsProfileKept](r.Extra, graphsProfileKey)
		if err != nil {
			return nil, fmt.Errorf("graphs export: results[%d].%w", i, err)
		}
		_, rest, _ := strings.Cut(CaseID{Op: id.Op, Params: id.Params, Threads: id.Threads, Mode: id.Mode, Kernel: id.Kernel}.String(), "/")
		key, m := strings.Replace(rest, "//", "/", 1), graphsMember{Result: r} // op/params/threads=N/mode[@kernel]
		if there {
			key, m.kept = kept.Key, &kept
		}
		groups[key] = append(groups[key], m)
	}
	out := map[string]graphsOperation{}
	for key, rs := range groups {
		if main := mainResult(rs); main != nil {
			out[key] = x.operation(*main, rs)
		}
	}
	return out, nil
}

func mainResult(rs []graphsMember) *graphsMember {
	var best *graphsMember
	for i := range rs {
		m := &rs[i]
		if !m.Status.Counts() || m.Time == nil {
			continue
		}
		if m.kept != nil && m.kept.Main {
			return m
		}
		if best == nil || m.DType == FP32 {
			best = m
		}
	}
	return best
}

func (x graphsExport) operation(r graphsMember, group []graphsMember) graphsOperation {
	o := graphsOperation{
		float: r.DType.Float(), executed: executedGFLOPS(r.Result), Type: graphsType(r.Op), GFLOPS: r.GFLOPS, Efficiency: x.efficiency(r.Result), Bandwidth: r.BandwidthGBps,
		Intensity: r.ArithmeticIntensity, Batch: max(1, r.Batch),
		Mean: r.Time.MeanNS / 1e6, Std: r.Time.StdNS / 1e6, Min: r.Time.MinNS / 1e6, Max: r.Time.MaxNS / 1e6,
		Trials: trials(r.Time), Precision: map[string]graphsPrecision{},
	}
	if c := r.Ceiling; c != nil {
		if c.Bound == "memory" || c.Bound == "compute" {
			o.MemoryBound, o.ComputeBnd = yesNo(c.Bound == "memory")
		}
	}
	if r.kept != nil {
		o.Extra, o.Input, o.Output = r.kept.Extra, r.kept.Input, r.kept.Output
		if o.Extra == nil {
			o.Extra = map[string]any{}
		}
		if r.kept.NoPrecisions {
			return o
		}
	} else {
		o.Extra = operationExtra(r.Result, group)
		o.Input, o.Output = shapes(r.Result)
	}
	var fp32 *Result
	for _, p := range group {
		if p.DType == FP32 && p.Status.Counts() && p.Time != nil {
			fp32 = p.Result
		}
	}
	for _, p := range group {
		o.Precision[string(p.DType)] = x.precision(p, fp32)
	}
	return o
}

func yesNo(yes bool) (is, other *bool) {
	no := !yes
	return &yes, &no
}

// operationExtra says what the format has no fields for: of the profile's own numbers, the
// parameters, and each precision's case.
func operationExtra(r *Result, group []graphsMember) map[string]any {
	extra := map[string]any{"case_id": r.ID, "kernel": r.Kernel, "threads": r.Threads, "mode": r.Mode, "status": string(r.Status)}
	for k, v := range r.Params {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			extra[k] = n
		} else {
			extra[k] = v
		}
	}
	if r.Ceiling != nil {
		extra["fraction_of_measured_ceiling"] = r.Ceiling.Fraction
	}
	carried := map[DType]graphsCarried{}
	for _, p := range group {
		carried[p.DType] = carriedOf(p.Result)
	}
	extra[graphsResultsKey] = carried
	return extra
}

// precision is one entry of precision_results; fp32 is the profile's result in fp32, nil
// without one. A rate of 0 is one that nobody knows, but for work that is none.
func (x graphsExport) precision(r graphsMember, fp32 *Result) graphsPrecision {
	p := graphsPrecision{Precision: string(r.DType), Supported: r.Status != Unsupported, TestSize: testSize(r.Result)}
	if r.kept != nil {
		p.TestSize = r.kept.TestSize
	}
	if !r.Status.Counts() || r.Time == nil {
		reason := string(r.Status) + ": " + r.Reason
		if r.kept != nil {
			reason = r.Reason
		}
		p.FailureReason = &reason
		return p
	}
	ms := func(ns float64) *float64 { ns /= 1e6; return &ns }
	p.GOPS, p.Efficiency, p.Trials = &r.GFLOPS, x.efficiency(r.Result), trials(r.Time)
	p.Mean, p.Std, p.Min, p.Max = ms(r.Time.MeanNS), ms(r.Time.StdNS), ms(r.Time.MinNS), ms(r.Time.MaxNS)
	if r.ArithmeticIntensity > 0 || r.FLOPs == 0 {
		p.Intensity = &r.ArithmeticIntensity
	}
	if r.BandwidthGBps > 0 {
		p.Bandwidth = &r.BandwidthGBps
	}
	if fp32 != nil && r.Time.MedianNS > 0 {
		s := fp32.Time.MedianNS / r.Time.MedianNS
		p.Speedup = &s
	}
	return p
}

// efficiency is the fraction of a theoretical peak, as the format's own tool takes it: of DRAM
// bandwidth for STREAM and what only moves data, of compute otherwise.
func (x graphsExport) efficiency(r *Result) *float64 {
	if r.FLOPs > 0 && !streams(r) {
		run := executedGFLOPS(r)
		return quotient(&run, x.theoretical(r.ComputedIn()))
	}
	if c := r.Ceiling; c != nil && c.MemoryLevel != "" && c.MemoryLevel != "DRAM" { // a cache's traffic is no share of memory's
		return nil
	}
	_, peak := x.dram()
	return quotient(&r.BandwidthGBps, peak)
}

// executedGFLOPS is the rate at which a kernel computed, by an algorithm of fewer or more operations than the op has (Winograd's): what
// a peak can be held against.
func executedGFLOPS(r *Result) float64 {
	if r.FLOPs == 0 {
		return r.GFLOPS
	}
	return r.GFLOPS * float64(r.Executed()) / float64(r.FLOPs)
}

func streams(r *Result) bool { return strings.HasPrefix(r.Op, "stream_") }

// shapes gives the input and output shape as far as the parameters tell; nil otherwise.
func shapes(r *Result) (in, out []int64) {
	num := func(names ...string) []int64 {
		var v []int64
		for _, n := range names {
			x, err := strconv.ParseInt(r.Params[n], 10, 64)
			if err != nil {
				return nil
			}
			v = append(v, x)
		}
		return v
	}
	if v := num("b", "h", "s", "d"); v != nil {
		return v, v
	}
	if v := num("n", "c", "h", "w"); v != nil {
		return v, nil
	}
	if v := num("m", "k"); v != nil {
		return v, num("m", "n")
	}
	if v := num("rows", "cols"); v != nil {
		switch {
		case r.Op == "transpose":
			return v, []int64{v[1], v[0]}
		case r.Suite == "reduction":
			return v, nil
		}
		return v, v
	}
	if v := num("m", "n"); v != nil {
		return v, nil
	}
	return num("n"), nil
}

// testSize is the side of a GEMM, the only op for which the file's field has a meaning.
func testSize(r *Result) *int64 {
	if r.Op != "gemm" {
		return nil
	}
	var side int64
	for _, p := range []string{"m", "n", "k"} {
		if n, err := strconv.ParseInt(r.Params[p], 10, 64); err == nil {
			side = max(side, n)
		}
	}
	return &side
}
