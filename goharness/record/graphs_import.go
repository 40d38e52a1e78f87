package record

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// notInGraphs is why a fact of an imported document is unknown.
const notInGraphs = "a graphs file does not say"

// Bounds of the file's numbers: beyond them they are damage.
const (
	maxRate  = 1e12 // GFLOPS, GB/s
	maxMS    = 1e12
	maxRatio = 1e9
	maxCount = 1 << 40
)

// ImportGraphs makes a calibration of a graphs file, that of system C or ExportGraphs (16 MiB
// at most). Each precision of an operation profile becomes a result, each fusion profile a shape
// of a ridge.fusion/1 profile in FusionProfiles.
//
// The format has means and no medians: a result whose median extra_params does not tell has the
// mean in its place and a warning that says so, and is noisy, since nothing was verified and no
// interval is known. Fusion profiles without an interval are inconclusive. Ceilings are the
// file's theoretical peaks with its best operation of each precision, and its DRAM bandwidth.
//
// An error is one line that names the key and what was expected there.
func ImportGraphs(r io.Reader) (Calibration, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxGraphs+1))
	if err != nil {
		return Calibration{}, fmt.Errorf("reading the graphs file: %w", err)
	}
	return importGraphs(data)
}

func importGraphs(data []byte) (Calibration, error) {
	if len(data) > maxGraphs {
		return Calibration{}, fmt.Errorf("the graphs file is longer than %d bytes", maxGraphs)
	}
	tree, err := parseTree(data)
	if err != nil {
		return Calibration{}, err
	}
	m := graphsImport{}
	m.file = graphsNode{value: tree, first: &m.err}
	m.doc = Calibration{Schema: SchemaCalibration, Command: []string{}, FusionProfiles: []json.RawMessage{}}
	m.metadata()
	m.peaks()
	m.operations()
	m.fusions()
	m.ceilings()
	m.doc.Devices = []Device{m.device}
	if m.err != nil {
		return Calibration{}, m.err
	}
	d := &m.doc
	if err := keep(&d.Extra, graphsFileKey, m.kept); err != nil {
		return Calibration{}, err
	}
	d.Summary = Summarize(d.Results)
	d.Summary.Complete, d.Summary.Warnings = true, m.warnings
	if err := normalize(reflect.ValueOf(d), ""); err != nil {
		return Calibration{}, err
	}
	return m.doc, nil
}

// graphsImport is a file on its way to a document.
type graphsImport struct {
	file   graphsNode
	err    error // the first
	doc    Calibration
	kept   graphsFileKept
	device Device
	// deviceSeen: a case has said which device of the platform it is.
	deviceSeen bool
	threads    int // most of any result
	theory     graphsPeaks
	warnings   []string
}

// graphsPeaks are the file's theoretical peaks.
type graphsPeaks struct {
	gflops map[DType]float64
	gbps   float64
}

// maxWarnings bounds the summary's warnings about a file.
const maxWarnings = 20

func (m *graphsImport) warn(format string, a ...any) {
	switch len(m.warnings) {
	case maxWarnings:
		m.warnings = append(m.warnings, "graphs file: more of the kind is not listed")
	default:
		if len(m.warnings) < maxWarnings {
			m.warnings = append(m.warnings, "graphs file: "+oneLine(fmt.Sprintf(format, a...)))
		}
	}
}

func textOr(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

func (m *graphsImport) metadata() {
	meta := m.file.must("metadata")
	name, platform := meta.text("hardware_name"), textOr(meta.text("device_type"), "cpu")
	if name == nil {
		meta.must("hardware_name")
	}
	if err := checkToken(platform, ""); err != nil {
		meta.must("device_type").fail("%v", err)
	}
	m.device = Device{ID: platform, Platform: platform, Name: textOr(name, "")}
	if platform != "cpu" {
		m.device.ID += ":0"
	}
	d := &m.doc
	d.Created = m.date(meta.must("calibration_date"))
	d.RunID = "graphs-" + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == 'T' || r == 'Z' {
			return r
		}
		return -1
	}, d.Created)
	d.Tool = Tool{Name: graphsTool, Version: textOr(meta.text("calibration_tool_version"), "unknown")}
	if v, ok := strings.CutPrefix(d.Tool.Version, "ridge "); ok {
		d.Tool.Name, d.Tool.Version = "ridge", v
	}
	h := &d.Host
	h.CPU.Model = textOr(meta.text("cpu_model"), "")
	h.Arch = textOr(meta.text("platform_architecture"), "")
	for ours, theirs := range graphsArchs {
		if h.Arch == theirs {
			h.Arch = ours
		}
	}
	if n := meta.whole("cpu_count", 1, 1<<20); n != nil {
		h.CPU.Cores = Known(int(*n), "cpu_count of the graphs file")
	}
	if gb := meta.number("total_memory_gb", 0, 1<<30); gb != nil {
		h.Memory.TotalBytes = Known(int64(*gb*(1<<30)), "total_memory_gb of the graphs file")
	}
	m.keepMetadata(meta)
	m.hostClock(meta)
	m.preflight(meta)
	unknownFacts(reflect.ValueOf(h))
}

// date gives a date in RFC 3339. The format's tool writes its machine's time without a zone.
func (m *graphsImport) date(n graphsNode) string {
	s, _ := n.value.(string)
	if _, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return s
	}
	if _, err := time.Parse("2006-01-02T15:04:05.999999999", s); err == nil {
		m.warn("calibration_date has no time zone: taken as UTC")
		return s + "Z"
	}
	n.expected("a date and time as in 2026-01-02T03:04:05")
	return ""
}

// keepMetadata keeps what a calibration has no fields for. A file of our own says in some of
// these fields that no library was used, which an export says again.
func (m *graphsImport) keepMetadata(meta graphsNode) {
	k := &m.kept.Metadata
	count := func(name string) *int {
		if n := meta.whole(name, 0, maxCount); n != nil {
			i := int(*n)
			return &i
		}
		return nil
	}
	k.Warmup, k.Runs = count("num_warmup_runs"), count("num_measurement_runs")
	other := func(name, ours string) *string {
		s := meta.text(name)
		if s != nil && *s == ours {
			return nil
		}
		return s
	}
	k.Python, k.PyTorch, k.NumPy = other("python_version", notUsed), other("pytorch_version", notUsed), other("numpy_version", notUsed)
	k.Framework = other("framework", "ridge")
	if g, there := meta.field("gpu_clock"); there {
		for _, f := range []string{"mem_clock_mhz", "max_sm_clock_mhz", "max_mem_clock_mhz", "power_draw_watts", "power_limit_watts"} {
			g.number(f, 0, maxRatio)
		}
		g.number("temperature_c", -300, maxRatio)
		g.text("clock_policy")
		sm, method := g.must("sm_clock_mhz").float(0, maxRatio), g.text("query_method")
		if method == nil {
			g.must("query_method")
		}
		if sm != nil {
			m.device.Facts = map[string]string{"gpu_clock": fmt.Sprintf("%g MHz (%s)", *sm, oneLine(textOr(method, "")))}
		}
		k.GPUClock, _ = g.value.(map[string]any)
	}
	if c, there := meta.field("cpu_clock"); there {
		k.CPUClock, _ = c.value.(map[string]any)
	}
}

func (m *graphsImport) hostClock(meta graphsNode) {
	c, there := meta.field("cpu_clock")
	if !there {
		return
	}
	clock := &m.doc.Host.CPU.Clock
	method := c.text("query_method")
	if method == nil {
		c.must("query_method")
	}
	source := textOr(method, "")
	if mhz := c.must("current_freq_mhz").float(0, maxRatio); mhz != nil {
		clock.LoadedGHz = Known(*mhz/1e3, source)
	}
	for name, to := range map[string]*Fact[float64]{"min_freq_mhz": &clock.MinMHz, "max_freq_mhz": &clock.MaxMHz, "base_freq_mhz": &clock.BaseMHz} {
		if mhz := c.number(name, 0, maxRatio); mhz != nil {
			*to = Known(*mhz, source)
		}
	}
	for name, to := range map[string]*Fact[string]{"governor": &clock.Governor, "driver": &clock.Driver} {
		if s := c.text(name); s != nil {
			*to = Known(*s, source)
		}
	}
	if on := c.flag("turbo_enabled"); on != nil {
		clock.Turbo = Known(*on, source)
	}
	c.text("clock_policy")
	if per, there := c.field("per_core_freq_mhz"); there {
		for _, f := range per.items() {
			f.float(0, maxRatio)
		}
	}
}

func (m *graphsImport) preflight(meta graphsNode) {
	p, there := meta.field("preflight")
	if !there {
		return
	}
	to := &m.doc.Preflight
	to.Timestamp = textOr(p.text("timestamp"), "")
	yes := func(b *bool) bool { return b != nil && *b }
	to.Passed, to.Forced = yes(p.flag("passed")), yes(p.flag("forced"))
	checks, there := p.field("checks")
	if !there {
		return
	}
	for _, c := range checks.items() {
		k := Check{Name: textOr(c.text("name"), ""), Status: textOr(c.text("status"), ""), Message: textOr(c.text("message"), ""),
			Current: textOr(c.text("current_value"), ""), Expected: textOr(c.text("expected_value"), "")}
		switch k.Status {
		case "passed", "warning", "failed", "skipped":
		default:
			s, _ := c.field("status")
			s.expected("passed, warning, failed or skipped")
		}
		to.Checks = append(to.Checks, k)
	}
}

// ceilings makes ceilings of the theoretical peaks, beside the best operation of each precision.
func (m *graphsImport) ceilings() {
	matrix, there := m.file.field("precision_matrix")
	if !there {
		matrix.value = map[string]any{}
	}
	matrix.text("hardware_name")
	best := m.rates(matrix, "peak_gflops_by_precision", maxRate)
	m.rates(matrix, "speedup_vs_fp32", maxRatio)
	m.kept.Supported, m.kept.Unsupported = m.dtypes(matrix, "supported_precisions"), m.dtypes(matrix, "unsupported_precisions")
	all := map[DType]bool{}
	for d := range m.theory.gflops {
		all[d] = true
	}
	for d := range best {
		all[d] = true
	}
	for _, d := range m.kept.Unsupported {
		all[d] = true
	}
	for _, d := range sortedKeys(all) {
		c := Ceiling{Device: m.device.ID, Kind: CeilingCompute, DType: d, Threads: m.threads, Unit: "GFLOPS", Diagnosis: "of a graphs file: measured is its best operation, not a probe"}
		if !d.Float() {
			c.Unit = "GOPS"
		}
		c.set(m.theory.gflops[d], best[d])
		for i := range m.doc.Results {
			if r := &m.doc.Results[i]; r.DType == d && r.Status.Counts() && r.GFLOPS == best[d] && c.Measured.CaseID == "" && best[d] > 0 {
				c.Measured.CaseID = r.ID
			}
		}
		m.doc.Ceilings = append(m.doc.Ceilings, c)
	}
	gbps := 0.0
	if v := m.file.number("measured_bandwidth_gbps", 0, maxRate); v != nil {
		gbps = *v
	}
	if gbps > 0 || m.theory.gbps > 0 {
		c := Ceiling{Device: m.device.ID, Kind: CeilingBandwidth, Level: "DRAM", Threads: m.threads, Unit: "GB/s", Diagnosis: "of a graphs file, which does not say how it was measured"}
		c.set(m.theory.gbps, gbps)
		m.doc.Ceilings = append(m.doc.Ceilings, c)
	}
	for _, name := range []string{"best_measured_gflops", "avg_measured_gflops", "worst_measured_gflops"} {
		m.file.number(name, 0, maxRate)
	}
	for _, name := range []string{"bandwidth_efficiency", "best_efficiency", "avg_efficiency", "worst_efficiency"} {
		m.file.number(name, 0, maxRatio)
	}
}

// set fills in a ceiling's two values; 0 is a value that the file does not have.
func (c *Ceiling) set(theory, measured float64) {
	const none = "the graphs file has none"
	c.Theoretical, c.Measured = Theoretical{Unavailable: none}, Measured{Unavailable: none}
	if theory > 0 {
		c.Theoretical = Theoretical{Value: theory, Source: "graphs file"}
	}
	if measured > 0 {
		c.Measured = Measured{Value: measured}
	}
	if theory > 0 && measured > 0 {
		c.Ratio = measured / theory
	}
}

// peaks reads the theoretical peaks, which the efficiencies of operations need.
func (m *graphsImport) peaks() {
	if v := m.file.number("theoretical_bandwidth_gbps", 0, maxRate); v != nil {
		m.theory.gbps = *v
	}
	matrix, there := m.file.field("precision_matrix")
	if !there {
		matrix.value = map[string]any{}
	}
	m.theory.gflops = m.rates(matrix, "theoretical_peaks", maxRate)
	v := m.file.number("theoretical_peak_gflops", 0, maxRate)
	switch have := m.theory.gflops[FP32]; {
	case v == nil || *v == 0:
	case have == 0:
		m.theory.gflops[FP32] = *v
	case have != *v:
		m.warn("theoretical_peak_gflops is %g and that of fp32 in precision_matrix %g, which is taken", *v, have)
	}
}

// rates reads an object of numbers by precision.
func (m *graphsImport) rates(n graphsNode, name string, most float64) map[DType]float64 {
	out := map[DType]float64{}
	f, there := n.field(name)
	if !there {
		return out
	}
	names, fields := f.objects()
	for i, x := range fields {
		d := x.dtype(names[i])
		if x.value == nil {
			continue
		}
		if v := x.float(0, most); v != nil {
			out[d] = *v
		}
	}
	return out
}

func (m *graphsImport) dtypes(n graphsNode, name string) []DType {
	f, _ := n.field(name)
	var out []DType
	for i, s := range n.texts(name) {
		at := graphsNode{path: fmt.Sprintf("%s[%d]", f.path, i), first: n.first}
		out = append(out, at.dtype(s))
	}
	return out
}

// dtype checks the name of a precision.
func (n graphsNode) dtype(name string) DType {
	d := DType(name)
	if !d.Known() && d.Size() == 0 && !d.foreign() {
		n.fail("unknown precision %q", clip(name, 40))
	}
	return d
}

// unknownFacts gives every fact inside v that has no value the reason.
func unknownFacts(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			unknownFacts(v.Elem())
		}
	case reflect.Struct:
		if u := v.FieldByName("Unavailable"); strings.HasPrefix(v.Type().Name(), "Fact[") {
			if v.FieldByName("Value").IsNil() && u.String() == "" {
				u.SetString(notInGraphs)
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				unknownFacts(v.Field(i))
			}
		}
	}
}
