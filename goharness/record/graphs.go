package record

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// The graphs export is the calibration file of branes-ai/graphs (REFERENCE §3). Its reader
// builds Python objects from the keys, so the export holds those keys and no other. A value
// that nobody knows is null. Keys are made of what was asked for, never of what was
// measured.

type graphsFile struct {
	Metadata             graphsMetadata             `json:"metadata"`
	TheoreticalGFLOPS    *float64                   `json:"theoretical_peak_gflops"`
	TheoreticalBandwidth *float64                   `json:"theoretical_bandwidth_gbps"`
	BestGFLOPS           *float64                   `json:"best_measured_gflops"`
	AvgGFLOPS            *float64                   `json:"avg_measured_gflops"`
	WorstGFLOPS          *float64                   `json:"worst_measured_gflops"`
	MeasuredBandwidth    *float64                   `json:"measured_bandwidth_gbps"`
	BandwidthEfficiency  *float64                   `json:"bandwidth_efficiency"`
	BestEfficiency       *float64                   `json:"best_efficiency"`
	AvgEfficiency        *float64                   `json:"avg_efficiency"`
	WorstEfficiency      *float64                   `json:"worst_efficiency"`
	Operations           map[string]graphsOperation `json:"operation_profiles"`
	Fusions              map[string]graphsFusion    `json:"fusion_profiles"`
	Precisions           graphsPrecisions           `json:"precision_matrix"`
}

type graphsMetadata struct {
	HardwareName   string           `json:"hardware_name"`
	Date           string           `json:"calibration_date"`
	ToolVersion    string           `json:"calibration_tool_version"`
	CPUModel       string           `json:"cpu_model"`
	CPUCount       any              `json:"cpu_count"`
	MemoryGB       any              `json:"total_memory_gb"` // 2³⁰ bytes, as its reader takes it
	PythonVersion  string           `json:"python_version"`
	PyTorchVersion string           `json:"pytorch_version"`
	NumPyVersion   string           `json:"numpy_version"`
	Warmup         *int             `json:"num_warmup_runs"`
	Runs           *int             `json:"num_measurement_runs"`
	DeviceType     string           `json:"device_type"`
	Architecture   string           `json:"platform_architecture"`
	Framework      string           `json:"framework"`
	GPUClock       any              `json:"gpu_clock,omitempty"`
	CPUClock       any              `json:"cpu_clock,omitempty"`
	Preflight      *graphsPreflight `json:"preflight,omitempty"`
}

// graphsGPUClock holds what the conditions of a device's cases tell of its clock.
type graphsGPUClock struct {
	SM          int64  `json:"sm_clock_mhz"`
	Method      string `json:"query_method"`
	Temperature *int64 `json:"temperature_c,omitempty"`
}

type graphsCPUClock struct {
	Current  float64 `json:"current_freq_mhz"`
	Method   string  `json:"query_method"`
	Min      any     `json:"min_freq_mhz,omitempty"`
	Max      any     `json:"max_freq_mhz,omitempty"`
	Base     any     `json:"base_freq_mhz,omitempty"`
	Governor any     `json:"governor,omitempty"`
	Driver   any     `json:"driver,omitempty"`
	Turbo    any     `json:"turbo_enabled,omitempty"`
}

type graphsPreflight struct {
	Timestamp string        `json:"timestamp"`
	Passed    bool          `json:"passed"`
	Forced    bool          `json:"forced"`
	Checks    []graphsCheck `json:"checks"`
}

type graphsCheck struct {
	Name     string `json:"name"`
	Status   string `json:"status"`
	Message  string `json:"message"`
	Current  string `json:"current_value,omitempty"`
	Expected string `json:"expected_value,omitempty"`
}

type graphsOperation struct {
	Type        string                     `json:"operation_type"`
	GFLOPS      float64                    `json:"measured_gflops"`
	Efficiency  *float64                   `json:"efficiency"`
	Bandwidth   float64                    `json:"achieved_bandwidth_gbps"`
	MemoryBound *bool                      `json:"memory_bound"`
	ComputeBnd  *bool                      `json:"compute_bound"`
	Intensity   float64                    `json:"arithmetic_intensity"`
	Batch       int64                      `json:"batch_size"`
	Input       []int64                    `json:"input_shape"`
	Output      []int64                    `json:"output_shape"`
	Mean        float64                    `json:"mean_latency_ms"`
	Std         float64                    `json:"std_latency_ms"`
	Min         float64                    `json:"min_latency_ms"`
	Max         float64                    `json:"max_latency_ms"`
	Trials      int                        `json:"num_trials"`
	Extra       map[string]any             `json:"extra_params"`
	Precision   map[string]graphsPrecision `json:"precision_results"`
	float       bool                       // the profile's own numbers are of floating-point work
	executed    float64                    // GFLOPS of what the kernel's algorithm executed
}

type graphsPrecision struct {
	Precision     string   `json:"precision"`
	Supported     bool     `json:"supported"`
	FailureReason *string  `json:"failure_reason"`
	GOPS          *float64 `json:"measured_gops"`
	Efficiency    *float64 `json:"efficiency"`
	Mean          *float64 `json:"mean_latency_ms"`
	Std           *float64 `json:"std_latency_ms"`
	Min           *float64 `json:"min_latency_ms"`
	Max           *float64 `json:"max_latency_ms"`
	Speedup       *float64 `json:"speedup_vs_fp32"`
	TestSize      *int64   `json:"test_size"`
	Trials        int      `json:"num_trials"`
	Intensity     *float64 `json:"arithmetic_intensity"`
	Bandwidth     *float64 `json:"achieved_bandwidth_gbps"`
}

type graphsPrecisions struct {
	HardwareName string             `json:"hardware_name"`
	Supported    []string           `json:"supported_precisions"`
	Unsupported  []string           `json:"unsupported_precisions"`
	Peak         map[string]float64 `json:"peak_gflops_by_precision"`
	Speedup      map[string]float64 `json:"speedup_vs_fp32"`
	Theoretical  map[string]float64 `json:"theoretical_peaks"`
}

// notUsed stands in the version fields of libraries that had no part in the run.
const notUsed = "not used"

// ExportGraphs gives the document as a calibration file of branes-ai/graphs. Such a file
// holds one device: a document of several must be cut down to one first.
//
// Peak probes and sweep points are no achievements: they stand in no profile and no
// precision's best. The best, mean and worst rates are of floating-point work alone.
//
// efficiency is the fraction of the theoretical peak, null where that is unknown; the
// fraction of the measured ceiling is in extra_params, with what else ImportGraphs needs to
// make the same results of the file. A fusion pattern stands under its name alone.
func ExportGraphs(doc Calibration) ([]byte, error) {
	device, err := graphsDevice(doc)
	if err != nil {
		return nil, err
	}
	x := graphsExport{doc: doc, device: device}
	if x.kept, _, err = keptOf[graphsFileKept](doc.Extra, graphsFileKey); err != nil {
		return nil, fmt.Errorf("graphs export: %w", err)
	}
	f := graphsFile{Metadata: x.metadata()}
	if f.Operations, err = x.operations(); err != nil {
		return nil, err
	}
	f.TheoreticalGFLOPS = x.theoretical(FP32)
	f.MeasuredBandwidth, f.TheoreticalBandwidth = x.dram()
	f.BandwidthEfficiency = quotient(f.MeasuredBandwidth, f.TheoreticalBandwidth)
	var gflops, efficiency []float64
	for _, k := range sortedKeys(f.Operations) {
		if p := f.Operations[k]; p.float && p.executed > 0 { // beside the theoretical peak: what was executed, not what another algorithm spared
			gflops = append(gflops, p.executed)
			if p.Efficiency != nil {
				efficiency = append(efficiency, *p.Efficiency)
			}
		}
	}
	f.WorstGFLOPS, f.AvgGFLOPS, f.BestGFLOPS = spread(gflops)
	f.WorstEfficiency, f.AvgEfficiency, f.BestEfficiency = spread(efficiency)
	if f.Fusions, err = x.fusions(); err != nil {
		return nil, err
	}
	f.Precisions = x.precisions(f.Metadata.HardwareName)
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("graphs export: %w", err)
	}
	return append(foldNumbers(data), '\n'), nil
}

func graphsDevice(doc Calibration) (Device, error) {
	switch len(doc.Devices) {
	case 0:
		return Device{}, fmt.Errorf("graphs export: the document names no device")
	case 1:
		return doc.Devices[0], nil
	}
	var names []string
	for _, d := range doc.Devices {
		names = append(names, d.ID)
	}
	return Device{}, fmt.Errorf("graphs export: the format holds one device and the document has %s: choose one", strings.Join(names, ", "))
}

// graphsExport is the document seen from the exported device.
type graphsExport struct {
	doc    Calibration
	device Device
	kept   graphsFileKept // of the file that the document was made of
}

func (x graphsExport) metadata() graphsMetadata {
	d := x.doc
	m := graphsMetadata{
		HardwareName: x.device.Name, Date: d.Created, ToolVersion: d.Tool.Name + " " + d.Tool.Version, CPUModel: d.Host.CPU.Model,
		PythonVersion: notUsed, PyTorchVersion: notUsed, NumPyVersion: notUsed, DeviceType: x.device.Platform,
		Architecture: graphsArch(d.Host.Arch), Framework: "ridge",
	}
	if d.Tool.Name == graphsTool {
		m.ToolVersion = d.Tool.Version
	}
	// cpu_count is that of cores, as the format's own tool counts.
	for _, f := range []Fact[int]{d.Host.CPU.Cores, d.Host.CPU.Threads} {
		if m.CPUCount == nil {
			m.CPUCount = known(f)
		}
	}
	if m.CPUCount == nil && x.device.Platform == "cpu" && x.device.Threads > 0 {
		m.CPUCount = x.device.Threads
	}
	total, _ := d.Host.Memory.TotalBytes.Get()
	if total == 0 && x.device.Platform == "cpu" {
		total = x.device.Memory
	}
	if total > 0 {
		m.MemoryGB = float64(total) / (1 << 30)
	}
	if p := d.Preflight; p.Timestamp != "" || len(p.Checks) > 0 {
		m.Preflight = &graphsPreflight{Timestamp: p.Timestamp, Passed: p.Passed, Forced: p.Forced, Checks: []graphsCheck{}}
		for _, c := range p.Checks {
			m.Preflight.Checks = append(m.Preflight.Checks, graphsCheck{c.Name, c.Status, c.Message, c.Current, c.Expected})
		}
	}
	x.clocks(&m)
	x.kept.Metadata.restore(&m)
	return m
}

// clocks fills in the fewest runs of a case and the clocks measured beside them.
func (x graphsExport) clocks(m *graphsMetadata) {
	var clocks, temperatures []float64
	for i := range x.doc.Results {
		r := &x.doc.Results[i]
		if r.Device != x.device.ID || r.Time == nil || !r.Status.Counts() {
			continue
		}
		// The stop rule decides per case; the file has room for one number: the fewest.
		m.Warmup = fewest(m.Warmup, r.Time.WarmupLaunches)
		m.Runs = fewest(m.Runs, trials(r.Time))
		if r.Conditions != nil {
			if ghz, ok := r.Conditions.ClockAfterGHz.Get(); ok {
				clocks = append(clocks, ghz)
			}
			if c, ok := r.Conditions.TemperatureC.Get(); ok {
				temperatures = append(temperatures, c)
			}
		}
	}
	sort.Float64s(clocks)
	sort.Float64s(temperatures)
	const method = "median over the cases, timed dependent-instruction chain after each"
	host := x.doc.Host.CPU.Clock
	switch {
	case x.device.Platform != "cpu":
		if len(clocks) == 0 {
			return
		}
		g := &graphsGPUClock{SM: int64(math.Round(clocks[len(clocks)/2] * 1e3)), Method: "median over the cases, read after each"}
		if len(temperatures) > 0 {
			c := int64(math.Round(temperatures[len(temperatures)/2]))
			g.Temperature = &c
		}
		m.GPUClock = g
	case len(clocks) > 0:
		m.CPUClock = graphsHostClock(clocks[len(clocks)/2]*1e3, method, host)
	default:
		if ghz, ok := host.LoadedGHz.Get(); ok {
			m.CPUClock = graphsHostClock(ghz*1e3, host.LoadedGHz.Source, host)
		}
	}
}

func graphsHostClock(mhz float64, method string, c Clock) *graphsCPUClock {
	return &graphsCPUClock{Current: math.Round(mhz*1e6) / 1e6, Method: method, Min: known(c.MinMHz), Max: known(c.MaxMHz), Base: known(c.BaseMHz),
		Governor: known(c.Governor), Driver: known(c.Driver), Turbo: known(c.Turbo)}
}

// graphsArchs are the names that the two give an architecture.
var graphsArchs = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

func graphsArch(arch string) string {
	if a := graphsArchs[arch]; a != "" {
		return a
	}
	return arch
}

// trials is the number of samples; of an imported time, which has none, the runs that it is of.
func trials(t *Time) int {
	if len(t.SamplesNS) == 0 {
		return int(t.EffectiveN)
	}
	return len(t.SamplesNS)
}

// known is a fact's value for the file, nil when nobody knows it.
func known[T any](f Fact[T]) any {
	v, ok := f.Get()
	if !ok {
		return nil
	}
	return v
}

func fewest(have *int, n int) *int {
	if have != nil && *have <= n {
		return have
	}
	return &n
}

// theoretical is the largest theoretical compute peak of a precision on the device.
func (x graphsExport) theoretical(d DType) *float64 {
	var best *float64
	for i := range x.doc.Ceilings {
		c := &x.doc.Ceilings[i]
		if c.Kind != CeilingCompute || c.Device != x.device.ID || c.DType != d || c.Theoretical.Unavailable != "" || c.Theoretical.Value <= 0 {
			continue
		}
		if best == nil || c.Theoretical.Value > *best {
			best = &c.Theoretical.Value
		}
	}
	return best
}

// dram is the best measured and the largest theoretical DRAM bandwidth.
func (x graphsExport) dram() (measured, theoretical *float64) {
	for i := range x.doc.Ceilings {
		c := &x.doc.Ceilings[i]
		if c.Kind != CeilingBandwidth || c.Device != x.device.ID || c.Level != "DRAM" {
			continue
		}
		if v := &c.Measured.Value; c.Measured.Unavailable == "" && *v > 0 && (measured == nil || *v > *measured) {
			measured = v
		}
		if v := &c.Theoretical.Value; c.Theoretical.Unavailable == "" && *v > 0 && (theoretical == nil || *v > *theoretical) {
			theoretical = v
		}
	}
	return measured, theoretical
}

func (x graphsExport) precisions(hardware string) graphsPrecisions {
	p := graphsPrecisions{HardwareName: hardware, Supported: []string{}, Unsupported: []string{},
		Peak: map[string]float64{}, Speedup: map[string]float64{}, Theoretical: map[string]float64{}}
	ran, refused := map[DType]bool{}, map[DType]bool{}
	all := map[DType]bool{}
	for i := range x.doc.Results {
		r := &x.doc.Results[i]
		if r.Device != x.device.ID || r.Probe() {
			continue
		}
		switch {
		case r.Status.Counts():
			ran[r.DType] = true
			if rate := executedGFLOPS(r); rate > p.Peak[string(r.DType)] {
				p.Peak[string(r.DType)] = rate
				all[r.DType] = true
			}
		case r.Status == Unsupported:
			refused[r.DType], all[r.DType] = true, true
		}
	}
	for i := range x.doc.Ceilings {
		if c := &x.doc.Ceilings[i]; c.Kind == CeilingCompute && c.Device == x.device.ID {
			all[c.DType] = true
		}
	}
	// The order of an imported file stays; formats that no user of ridge may name come last.
	var order []DType
	for _, d := range slices.Concat(x.kept.Supported, x.kept.Unsupported, Precisions, sortedKeys(all)) {
		if !slices.Contains(order, d) {
			order = append(order, d)
		}
	}
	for _, d := range order {
		switch {
		case ran[d]:
			p.Supported = append(p.Supported, string(d))
		case refused[d] || slices.Contains(x.kept.Unsupported, d):
			p.Unsupported = append(p.Unsupported, string(d))
		case slices.Contains(x.kept.Supported, d):
			p.Supported = append(p.Supported, string(d))
		}
		if t := x.theoretical(d); t != nil {
			p.Theoretical[string(d)] = *t
		}
		if base, v := p.Peak[string(FP32)], p.Peak[string(d)]; base > 0 && v > 0 {
			p.Speedup[string(d)] = v / base
		}
	}
	return p
}

func quotient(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	q := *a / *b
	return &q
}

// spread gives minimum, mean and maximum; nils of no values.
func spread(v []float64) (lo, mean, hi *float64) {
	if len(v) == 0 {
		return nil, nil, nil
	}
	l, h, sum := v[0], v[0], 0.0
	for _, f := range v {
		l, h, sum = min(l, f), max(h, f), sum+f
	}
	sum /= float64(len(v))
	return &l, &sum, &h
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
