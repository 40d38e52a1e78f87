package record_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

func export(t *testing.T, doc record.Calibration) ([]byte, map[string]any) {
	t.Helper()
	data, err := record.ExportGraphs(doc)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return data, m
}

// The golden is the whole file that branes-ai/graphs reads: its keys are fixed by that reader.
func TestGraphsExportGolden(t *testing.T) {
	doc := recordtest.Sample()
	// What the host knows comes and goes with its types; the golden is of a host that knows nothing.
	doc.Host = record.Host{Arch: "amd64"}
	doc.Host.CPU.Model = "Example CPU (Zen 3)"
	data, _ := export(t, doc)
	golden(t, "../../testdata/record/graphs.json", data)
}

// keysOf are the keys of an object in the file.
func keysOf(v any) map[string]bool {
	keys := map[string]bool{}
	for k := range v.(map[string]any) {
		keys[k] = true
	}
	return keys
}

func TestGraphsExportHasExactlyTheKeysItsReaderTakes(t *testing.T) {
	_, m := export(t, recordtest.Sample())
	op := m["operation_profiles"].(map[string]any)["gemm/m=1024,n=1024,k=1024/threads=2/hot"].(map[string]any)
	for name, c := range map[string]struct {
		object any
		keys   string
		maybe  string // keys the reader has defaults for
	}{
		"top level": {m, "metadata theoretical_peak_gflops theoretical_bandwidth_gbps best_measured_gflops avg_measured_gflops worst_measured_gflops measured_bandwidth_gbps bandwidth_efficiency best_efficiency avg_efficiency worst_efficiency operation_profiles fusion_profiles precision_matrix", ""},
		"metadata":  {m["metadata"], "hardware_name calibration_date calibration_tool_version cpu_model cpu_count total_memory_gb python_version pytorch_version numpy_version num_warmup_runs num_measurement_runs device_type platform_architecture framework", "gpu_clock cpu_clock preflight"},
		"operation": {op, "operation_type measured_gflops efficiency achieved_bandwidth_gbps memory_bound compute_bound arithmetic_intensity batch_size input_shape output_shape mean_latency_ms std_latency_ms min_latency_ms max_latency_ms num_trials extra_params precision_results", ""},
		"precision": {op["precision_results"].(map[string]any)["bf16"], "precision supported failure_reason measured_gops efficiency mean_latency_ms std_latency_ms min_latency_ms max_latency_ms speedup_vs_fp32 test_size num_trials arithmetic_intensity achieved_bandwidth_gbps", ""},
		"fusion":    {m["fusion_profiles"].(map[string]any)["Linear_Bias_ReLU"], "fusion_pattern operators num_operators unfused_latency_ms unfused_gflops unfused_memory_bytes fused_latency_ms fused_gflops fused_memory_bytes speedup_factor memory_reduction gflops_improvement input_shape extra_params num_trials", ""},
		"matrix":    {m["precision_matrix"], "hardware_name supported_precisions unsupported_precisions peak_gflops_by_precision speedup_vs_fp32 theoretical_peaks", ""},
	} {
		have := keysOf(c.object)
		for _, k := range strings.Fields(c.keys) {
			if !have[k] {
				t.Errorf("%s: no %s", name, k)
			}
			delete(have, k)
		}
		for _, k := range strings.Fields(c.maybe) {
			delete(have, k)
		}
		if len(have) > 0 {
			t.Errorf("%s: keys its reader refuses: %v", name, have)
		}
	}
}

func TestGraphsExportKeysDoNotChangeWithTheMeasurements(t *testing.T) {
	keys := func(scale float64) string {
		doc := recordtest.Sample()
		for i := range doc.Results {
			if r := &doc.Results[i]; r.Time != nil {
				r.Time.MedianNS, r.GFLOPS, r.BandwidthGBps = r.Time.MedianNS*scale, r.GFLOPS/scale, r.BandwidthGBps/scale
			}
		}
		_, m := export(t, doc)
		var walk func(v any) string
		walk = func(v any) string {
			o, ok := v.(map[string]any)
			if !ok {
				return ""
			}
			s := ""
			for k := range o {
				s += fmt.Sprintf("%s{%s}", k, walk(o[k]))
			}
			return s
		}
		return fmt.Sprint(len(walk(m)), keysOf(m["operation_profiles"]), keysOf(m["fusion_profiles"]))
	}
	if a, b := keys(1), keys(1.37); a != b {
		t.Errorf("keys\n%s\nbecame\n%s", a, b)
	}
	data, _ := export(t, recordtest.Sample())
	if bad := regexp.MustCompile(`"[^"]*\d\.\d[^"]*":`).Find(data); bad != nil {
		t.Errorf("a key holds a decimal number: %s", bad)
	}
}

func TestGraphsExportLeavesOutWhatIsNotTrue(t *testing.T) {
	data, m := export(t, recordtest.Sample())
	ops := m["operation_profiles"].(map[string]any)
	for key := range ops {
		if strings.HasPrefix(key, "transpose") || strings.Contains(key, "m=33") {
			t.Errorf("an invalid or wrong result became the profile %s", key)
		}
	}
	if strings.Contains(string(data), "494901") {
		t.Error("the invalid bandwidth is in the file")
	}
	if m["theoretical_bandwidth_gbps"] != nil || m["bandwidth_efficiency"] != nil {
		t.Error("an unknown theoretical bandwidth is not null")
	}
	matrix := m["precision_matrix"].(map[string]any)
	if fmt.Sprint(matrix["unsupported_precisions"]) != "[bf16]" {
		t.Errorf("unsupported %v", matrix["unsupported_precisions"])
	}
	meta := m["metadata"].(map[string]any)
	for _, k := range []string{"python_version", "pytorch_version", "numpy_version"} {
		if meta[k] != "not used" {
			t.Errorf("%s is %v", k, meta[k])
		}
	}
}

// The published reductions of system C at the second size of each pattern, from its own
// byte formulas (REFERENCE §1.3): Linear (512,1024,1024), conv (4,128,128,28,3),
// attention (4,256,64).
func TestGraphsExportGivesThePublishedReductions(t *testing.T) {
	const mk, nk, n, mn = 512 * 1024, 1024 * 1024, 1024, 512 * 1024
	const in, w, cout, out = 4 * 128 * 28 * 28, 128 * 128 * 9, 128, 4 * 128 * 28 * 28
	const bsd, bss = 4 * 256 * 64, 4 * 256 * 256
	for pattern, c := range map[string]struct {
		unfused, fused int64
		percent        float64
	}{
		"Linear_Bias":        {mk + nk + n + 3*mn, mk + nk + n + mn, 33.3},
		"Linear_Bias_ReLU":   {mk + nk + n + 5*mn, mk + nk + n + mn, 50.0},
		"Conv2d_ReLU":        {in + w + cout + 3*out, in + w + cout + out, 45.8},
		"Conv2d_BN_ReLU":     {in + w + 5*out, in + w + cout + out, 62.8},
		"QK_AttentionScores": {2*bsd + 3*bss, 2*bsd + bss, 57.1},
		"FullAttention_SDPA": {4*bsd + 3*bss, 4 * bsd, 75.0},
	} {
		doc := recordtest.Sample()
		doc.FusionProfiles = []json.RawMessage{json.RawMessage(fmt.Sprintf(
			`{"patterns":[{"pattern":%q,"operators":["a","b"],"dtype":"fp32","shapes":[{"input_shape":[1],"unfused_bytes":%d,"fused_bytes":%d}]}]}`,
			pattern, 4*c.unfused, 4*c.fused))}
		_, m := export(t, doc)
		got := m["fusion_profiles"].(map[string]any)[pattern].(map[string]any)["memory_reduction"].(float64)
		if math.Abs(100*got-c.percent) > 0.05 {
			t.Errorf("%s: reduction %.2f %%, published %.1f", pattern, 100*got, c.percent)
		}
	}
}

// A time-out says nothing about the hardware: only status unsupported is unsupported.
func TestGraphsExportCallsOnlyTheUnsupportedUnsupported(t *testing.T) {
	for status, supported := range map[record.Status]bool{record.TimedOut: true, record.Crashed: true, record.Wrong: true, record.Unsupported: false} {
		doc := recordtest.Sample()
		doc.Results[1].Status, doc.Results[1].Reason = status, "because"
		_, m := export(t, doc)
		op := m["operation_profiles"].(map[string]any)["gemm/m=1024,n=1024,k=1024/threads=2/hot"].(map[string]any)
		p := op["precision_results"].(map[string]any)["int8"].(map[string]any)
		if p["supported"] != supported || p["failure_reason"] != string(status)+": because" || p["measured_gops"] != nil {
			t.Errorf("%s: %v", status, p)
		}
	}
}

func TestGraphsExportOfSeveralDevicesAsksForOne(t *testing.T) {
	doc := recordtest.Sample()
	doc.Devices = append(doc.Devices, record.Device{ID: "cuda:0"})
	if _, err := record.ExportGraphs(doc); err == nil || !strings.Contains(err.Error(), "cpu, cuda:0") {
		t.Errorf("error %v", err)
	}
	doc.Devices = nil
	if _, err := record.ExportGraphs(doc); err == nil {
		t.Error("a document without a device was exported")
	}
}

// A peak probe measures the limit; it is no operation that reached it.
func TestGraphsExportCountsNoProbeAndNoIntegerAsAnAchievement(t *testing.T) {
	doc := recordtest.Sample()
	var best float64
	probes := 0
	for i := range doc.Results {
		r := &doc.Results[i]
		if r.Probe() {
			probes++
			r.GFLOPS *= 1000
			continue
		}
		if r.Op == "gemm" && r.DType == record.INT8 { // a profile of its own, faster than all
			r.ID, r.Params = strings.Replace(r.ID, "m=1024", "m=1023", 1), map[string]string{"m": "1023", "n": "1024", "k": "1024"}
			r.GFLOPS = 5000
		}
		if r.Status.Counts() && r.DType.Float() {
			best = max(best, r.GFLOPS)
		}
	}
	if probes < 4 {
		t.Fatalf("the sample has %d probes", probes)
	}
	_, m := export(t, doc)
	if m["best_measured_gflops"] != best {
		t.Errorf("best %v, want %v", m["best_measured_gflops"], best)
	}
	for key, p := range m["operation_profiles"].(map[string]any) {
		if strings.HasPrefix(key, "peak/") || strings.HasPrefix(key, "bandwidth/") || strings.Contains(key, "bytes=16384") {
			t.Errorf("the probe %s became a profile: %v", key, p)
		}
	}
	matrix := m["precision_matrix"].(map[string]any)
	if peak := matrix["peak_gflops_by_precision"].(map[string]any); peak["fp32"] != best || peak["int8"] != 5000.0 || peak["u8s8"] != nil {
		t.Errorf("peaks by precision %v, want fp32 %v, int8 5000 and no u8s8, which only a probe ran", peak, best)
	}
}

// Beside a theoretical peak stands what was executed: Winograd's convolution spares operations, and passes no peak. A cache's traffic is no
// share of memory's.
func TestGraphsExportHoldsPeaksAgainstWhatWasExecuted(t *testing.T) {
	doc := recordtest.Sample()
	var cached string
	for i := range doc.Results {
		r := &doc.Results[i]
		if r.Op == "gemm" && r.DType == record.FP32 && r.Status.Counts() {
			r.GFLOPS *= 50 // of the operations that were asked for
			r.ExecutedFLOPs = r.FLOPs / 50
		}
		if r.FLOPs == 0 && !r.Probe() && r.BandwidthGBps > 0 && r.Status.Counts() && r.Ceiling != nil {
			r.Ceiling.MemoryLevel, cached = "L2", r.Op
		}
	}
	for i := range doc.Ceilings {
		if c := &doc.Ceilings[i]; c.Kind == record.CeilingBandwidth && c.Level == "DRAM" {
			c.Theoretical = record.Theoretical{Value: 100}
		}
	}
	_, before := export(t, recordtest.Sample())
	_, m := export(t, doc)
	for _, field := range []string{"best_measured_gflops", "avg_measured_gflops"} {
		if was, is := before[field].(float64), m[field].(float64); is > 1.01*was {
			t.Errorf("%s: %v, %v where nothing was spared", field, is, was)
		}
	}
	peak := func(m map[string]any) any {
		return m["precision_matrix"].(map[string]any)["peak_gflops_by_precision"].(map[string]any)["fp32"]
	}
	if is, was := peak(m).(float64), peak(before).(float64); is > 1.01*was {
		t.Errorf("peak of fp32 %v, %v where nothing was spared", is, was)
	}
	if cached == "" {
		t.Fatal("the sample has no stream")
	}
	for key, p := range m["operation_profiles"].(map[string]any) {
		if strings.HasPrefix(key, cached) && p.(map[string]any)["efficiency"] != nil {
			t.Errorf("%s from L2 has an efficiency of memory's bandwidth: %v", key, p.(map[string]any)["efficiency"])
		}
	}
}
