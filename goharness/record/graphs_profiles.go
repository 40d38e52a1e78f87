package record

import (
	"encoding/json"
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

// operations groups the results that differ only in precision into one profile. The
// profile's own numbers are those of fp32, or of the first precision that counts.
func (x graphsExport) operations() map[string]graphsOperation {
	groups := map[string][]*Result{}
	for i := range x.doc.Results {
		r := &x.doc.Results[i]
		id, err := ParseCaseID(r.ID)
		if r.Device != x.device.ID || r.Probe() || err != nil || len(r.Arms) > 0 {
			continue
		}
		_, rest, _ := strings.Cut(CaseID{Op: id.Op, Params: id.Params, Threads: id.Threads, Mode: id.Mode, Kernel: id.Kernel}.String(), "/")
		key := strings.Replace(rest, "//", "/", 1) // op/params/threads=N/mode[@kernel]
		groups[key] = append(groups[key], r)
	}
	out := map[string]graphsOperation{}
	for key, rs := range groups {
		if main := mainResult(rs); main != nil {
			out[key] = x.operation(main, rs)
		}
	}
	return out
}

func mainResult(rs []*Result) *Result {
	var first *Result
	for _, r := range rs {
		if !r.Status.Counts() || r.Time == nil {
			continue
		}
		if r.DType == FP32 {
			return r
		}
		if first == nil {
			first = r
		}
	}
	return first
}

func (x graphsExport) operation(r *Result, group []*Result) graphsOperation {
	in, out := shapes(r)
	o := graphsOperation{
		float: r.DType.Float(), Type: graphsType(r.Op), GFLOPS: r.GFLOPS, Efficiency: x.efficiency(r), Bandwidth: r.BandwidthGBps,
		Intensity: r.ArithmeticIntensity, Batch: max(1, r.Batch), Input: in, Output: out,
		Mean: r.Time.MeanNS / 1e6, Std: r.Time.StdNS / 1e6, Min: r.Time.MinNS / 1e6, Max: r.Time.MaxNS / 1e6,
		Trials: len(r.Time.SamplesNS), Precision: map[string]graphsPrecision{},
		Extra: map[string]any{"case_id": r.ID, "kernel": r.Kernel, "threads": r.Threads, "mode": r.Mode, "status": string(r.Status)},
	}
	for k, v := range r.Params {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			o.Extra[k] = n
		} else {
			o.Extra[k] = v
		}
	}
	if c := r.Ceiling; c != nil {
		if c.ComputeGFLOPS > 0 && c.MemoryGBps > 0 {
			m := r.ArithmeticIntensity < c.ComputeGFLOPS/c.MemoryGBps
			n := !m
			o.MemoryBound, o.ComputeBnd = &m, &n
		}
		o.Extra["fraction_of_measured_ceiling"] = c.Fraction
	}
	for _, p := range group {
		o.Precision[string(p.DType)] = x.precision(p, r)
	}
	return o
}

func (x graphsExport) precision(r, main *Result) graphsPrecision {
	p := graphsPrecision{Precision: string(r.DType), Supported: r.Status != Unsupported, TestSize: testSize(r)}
	if !r.Status.Counts() || r.Time == nil {
		reason := string(r.Status) + ": " + r.Reason
		p.FailureReason = &reason
		return p
	}
	ms := func(ns float64) *float64 { ns /= 1e6; return &ns }
	p.GOPS, p.Efficiency, p.Trials = &r.GFLOPS, x.efficiency(r), len(r.Time.SamplesNS)
	p.Mean, p.Std, p.Min, p.Max = ms(r.Time.MeanNS), ms(r.Time.StdNS), ms(r.Time.MinNS), ms(r.Time.MaxNS)
	p.Intensity, p.Bandwidth = &r.ArithmeticIntensity, &r.BandwidthGBps
	if main.DType == FP32 && r.Time.MedianNS > 0 {
		s := main.Time.MedianNS / r.Time.MedianNS
		p.Speedup = &s
	}
	return p
}

// efficiency is the fraction of the theoretical peak that limits the op: compute where it
// does arithmetic, DRAM bandwidth where it only moves data.
func (x graphsExport) efficiency(r *Result) *float64 {
	if r.FLOPs > 0 {
		run := r.GFLOPS * float64(r.Executed()) / float64(r.FLOPs)
		return quotient(&run, x.theoretical(r.DType))
	}
	_, peak := x.dram()
	return quotient(&r.BandwidthGBps, peak)
}

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

type graphsFusion struct {
	Pattern         string          `json:"fusion_pattern"`
	Operators       []string        `json:"operators"`
	NumOperators    int             `json:"num_operators"`
	UnfusedMS       float64         `json:"unfused_latency_ms"`
	UnfusedGFLOPS   float64         `json:"unfused_gflops"`
	UnfusedBytes    int64           `json:"unfused_memory_bytes"`
	FusedMS         float64         `json:"fused_latency_ms"`
	FusedGFLOPS     float64         `json:"fused_gflops"`
	FusedBytes      int64           `json:"fused_memory_bytes"`
	Speedup         float64         `json:"speedup_factor"`
	MemoryReduction float64         `json:"memory_reduction"`
	Improvement     float64         `json:"gflops_improvement"`
	Input           []int64         `json:"input_shape"`
	Extra           json.RawMessage `json:"extra_params"`
	Trials          *int            `json:"num_trials"`
}

// fusionDocument is what the export reads of a ridge.fusion/1 document.
type fusionDocument struct {
	Patterns []struct {
		Pattern   string   `json:"pattern"`
		Operators []string `json:"operators"`
		DType     DType    `json:"dtype"`
		Shapes    []struct {
			Input         []int64         `json:"input_shape"`
			Params        map[string]any  `json:"params"`
			UnfusedMS     float64         `json:"unfused_latency_ms"`
			UnfusedGFLOPS float64         `json:"unfused_gflops"`
			UnfusedBytes  int64           `json:"unfused_bytes"`
			FusedMS       float64         `json:"fused_latency_ms"`
			FusedGFLOPS   float64         `json:"fused_gflops"`
			FusedBytes    int64           `json:"fused_bytes"`
			Speedup       float64         `json:"speedup_factor"`
			Trials        *int            `json:"num_trials"`
			Extra         json.RawMessage `json:"extra_params"`
			Reduction     *float64        `json:"graphs_memory_reduction"`
		} `json:"shapes"`
	} `json:"patterns"`
}

// graphsFusions lists every shape measured of every pattern; memory_reduction and
// gflops_improvement follow from the numbers beside them, unless the format counts bytes by a
// formula of its own.
func graphsFusions(profiles []json.RawMessage) (map[string]graphsFusion, error) {
	out := map[string]graphsFusion{}
	fp32 := map[string]bool{}
	for i, raw := range profiles {
		var d fusionDocument
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, fmt.Errorf("graphs export: fusion_profiles[%d]: %w", i, explainJSON(err))
		}
		for _, p := range d.Patterns {
			for _, s := range p.Shapes {
				if s.Trials != nil && *s.Trials == 0 {
					continue // not measured
				}
				f := graphsFusion{Pattern: p.Pattern, Operators: p.Operators, NumOperators: len(p.Operators),
					UnfusedMS: s.UnfusedMS, UnfusedGFLOPS: s.UnfusedGFLOPS, UnfusedBytes: s.UnfusedBytes,
					FusedMS: s.FusedMS, FusedGFLOPS: s.FusedGFLOPS, FusedBytes: s.FusedBytes, Speedup: s.Speedup,
					Input: s.Input, Extra: s.Extra, Trials: s.Trials}
				if f.Extra == nil {
					f.Extra = json.RawMessage("{}")
				}
				if s.UnfusedBytes > 0 {
					f.MemoryReduction = 1 - float64(s.FusedBytes)/float64(s.UnfusedBytes)
				}
				if s.Reduction != nil {
					f.MemoryReduction = *s.Reduction
				}
				if s.UnfusedGFLOPS > 0 {
					f.Improvement = (s.FusedGFLOPS - s.UnfusedGFLOPS) / s.UnfusedGFLOPS
				}
				key := p.Pattern + "/" + string(p.DType)
				for _, k := range sortedKeys(s.Params) {
					key += fmt.Sprintf("/%s=%v", k, s.Params[k])
				}
				if _, taken := out[key]; taken {
					return nil, fmt.Errorf("graphs export: fusion_profiles[%d]: %s is there twice", i, clip(key, 200))
				}
				out[key] = f
				if p.DType == FP32 || !fp32[p.Pattern] {
					out[p.Pattern], fp32[p.Pattern] = f, fp32[p.Pattern] || p.DType == FP32
				}
			}
		}
	}
	return out, nil
}
