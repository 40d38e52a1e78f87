package recordtest

import (
	"strconv"

	"ridge/goharness/record"
)

// Fusion is a small fusion profile of a document's machine and run: two precisions and both
// modes, a recommendation of each kind of answer, a shape that was not measured, and a pattern
// whose bytes the graphs format counts otherwise. Bytes follow the models of the pattern table.
func Fusion(doc record.Calibration) record.Fusion {
	f := record.Fusion{Schema: record.SchemaFusion, RunID: doc.RunID, Created: doc.Created, Tool: doc.Tool, Host: doc.Host, Device: doc.Devices[0], Complete: true}
	shape := func(pattern string, d record.DType, mode string, size []int64, names []string, unfusedMS, fusedMS float64, flops, unfused, fused int64) record.FusionShape {
		id := record.CaseID{Device: "cpu", Op: pattern, DType: d, Threads: 2, Mode: mode}
		s := record.FusionShape{Pattern: pattern, InputShape: size[:2], Params: map[string]string{}, Extra: map[string]int64{}, FLOPs: flops, UnfusedBytes: unfused, FusedBytes: fused,
			UnfusedMS: unfusedMS, FusedMS: fusedMS, MemoryReduction: 1 - float64(fused)/float64(unfused), Status: record.OK, Trials: 8,
			UnfusedGFLOPS: float64(flops) / unfusedMS / 1e6, FusedGFLOPS: float64(flops) / fusedMS / 1e6, Speedup: unfusedMS / fusedMS, Baseline: "in_place",
			UnfusedKernels: []string{"gemm_fp32_avx2_6x16", "bias_fp32_avx2"}, FusedKernels: []string{"gemm_fp32_avx2_6x16"}}
		for i, n := range names {
			text := strconv.FormatInt(size[i], 10)
			id.Params = append(id.Params, record.Param{Name: n, Value: text})
			s.Params[n], s.Extra[n] = text, size[i]
		}
		s.CaseID = id.String()
		s.Improvement = s.FusedGFLOPS/s.UnfusedGFLOPS - 1
		s.SpeedupCI95 = [2]float64{s.Speedup * 0.99, s.Speedup * 1.01}
		switch {
		case s.SpeedupCI95[0] >= 1.1:
			s.Verdict = "moderate"
		case s.SpeedupCI95[0] >= 0.95 && s.SpeedupCI95[1] < 1.1:
			s.Verdict = "minimal"
		default:
			s.Verdict = "inconclusive"
		}
		return s
	}
	linear := func(d record.DType, mode string, m, k, n int64, unfusedMS, fusedMS float64) record.FusionShape {
		e := d.Size()
		s := shape("Linear_Bias_ReLU", d, mode, []int64{m, k, n}, []string{"m", "k", "n"}, unfusedMS, fusedMS, 2*m*n*k+2*m*n, e*(m*k+n*k+n+5*m*n), e*(m*k+n*k+n+m*n))
		s.UnfusedLimit = &record.FusionLimit{Bound: "compute", FloorNS: 0.9e6 * unfusedMS, DispatchNS: 3e3, Fraction: 0.9 + 3e-3/unfusedMS}
		return s
	}
	pattern := func(operators []string, r record.Recommendation, shapes ...record.FusionShape) {
		id, _ := record.ParseCaseID(shapes[0].CaseID)
		f.Patterns = append(f.Patterns, record.FusionPattern{Pattern: shapes[0].Pattern, Operators: operators, DType: id.DType, Mode: id.Mode, Shapes: shapes, Recommendation: r})
	}
	large := linear(record.FP32, record.Hot, 1024, 2048, 2048, 0, 0)
	large.Status, large.Reason, large.Verdict, large.Trials = record.Skipped, "needs more memory than is free", "not measured", 0
	large.UnfusedGFLOPS, large.FusedGFLOPS, large.Speedup, large.Improvement, large.SpeedupCI95 = 0, 0, 0, 0, [2]float64{}
	large.UnfusedLimit, large.Baseline, large.UnfusedKernels, large.FusedKernels = nil, "", nil, nil
	relu := []string{"linear", "bias", "relu"}
	pattern(relu, record.Recommendation{Verdict: "fuse", Reason: "of 3 shapes 1 gain 1.1 or more"},
		linear(record.FP32, record.Hot, 128, 512, 512, 0.41, 0.35), linear(record.FP32, record.Hot, 512, 1024, 1024, 5.4, 5.2), large)
	pattern(relu, record.Recommendation{Verdict: "inconclusive", Reason: "of 1 shapes 1 are inconclusive"}, linear(record.FP32, record.Cold, 512, 1024, 1024, 6.5, 5.9))
	pattern(relu, record.Recommendation{Verdict: "depends_on_size", Reason: "one crossing",
		Crossover: &record.Crossover{Parameter: "m", Between: [2]int64{128, 512}, FuseAbove: true}}, linear(record.BF16, record.Hot, 2048, 1024, 1024, 5.1, 4.4))
	const n, c, k, hw, r = 4, 128, 128, 28, 3
	const in, w, out = n * c * hw * hw, k * c * r * r, n * k * hw * hw
	bn := shape("Conv2d_BN_ReLU", record.FP32, record.Hot, []int64{n, c, k, hw, r}, []string{"n", "c", "k", "hw", "r"}, 4.9, 4.1,
		2*out*c*r*r+3*out, 4*(in+w+5*k+5*out), 4*(in+w+k+out))
	bn.InputShape = []int64{n, c, hw, hw}
	graphs := 1 - float64(in+w+k+out)/float64(in+w+5*out)
	bn.GraphsReduction = &graphs
	pattern([]string{"conv2d", "batchnorm", "relu"}, record.Recommendation{Verdict: "fuse", Reason: "of 1 shapes 1 gain 1.1 or more"}, bn)
	return f
}
