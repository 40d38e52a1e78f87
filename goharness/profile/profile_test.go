package profile

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	pprof "github.com/google/pprof/profile"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

var update = flag.Bool("update", false, "write the golden files")

// sources of the repository, as the binary embeds them, read once.
func sources(t *testing.T) *Sources {
	t.Helper()
	s, err := allSources()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var allSources = sync.OnceValues(func() (*Sources, error) { return NewSources("native", os.DirFS("../../native")) })

// document is the sample run with a kernel of the repository and energy in one result.
func document() record.Calibration {
	doc := recordtest.Sample()
	for i := range doc.Results {
		r := &doc.Results[i]
		if r.Op == "gemm" && r.Status == record.OK && len(r.Arms) == 0 {
			r.Kernel = "gemm_fp32_avx2_6x16"
			r.Energy = &record.Energy{Joules: 2, WindowNS: 1e9, Launches: 1000, Meter: "trace"}
			break
		}
	}
	return doc
}

func build(t *testing.T, doc record.Calibration) *pprof.Profile {
	t.Helper()
	// A made-up line number, so that the golden file does not change with the kernel's source.
	p, err := Calibration(doc, Options{Locate: func(k string) (Source, bool) {
		s, ok := sources(t).Locate(k)
		s.Line = 17
		return s, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// written is a file that holds a profile.
func written(t *testing.T, p *pprof.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f.pb.gz")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestProfileOfTheSampleIsTheGoldenOneAndStable(t *testing.T) {
	p := build(t, document())
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var first, again bytes.Buffer
	if err := Write(&first, p); err != nil {
		t.Fatal(err)
	}
	if err := Write(&again, build(t, document())); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), again.Bytes()) {
		t.Error("two profiles of the same document differ")
	}
	back, err := pprof.ParseData(first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/sample.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(back.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.String(); got != string(want) {
		t.Errorf("the profile differs from %s (go test -update writes it):\n%s", golden, got)
	}
}

func TestValuesAreThoseOfOneLaunch(t *testing.T) {
	doc := document()
	doc.Results = doc.Results[:0]
	full := document()
	for _, r := range full.Results {
		if r.Energy != nil && r.Energy.Joules > 0 {
			doc.Results = append(doc.Results, r)
		}
	}
	r := doc.Results[0]
	p := build(t, doc)
	if len(p.Sample) != 1 {
		t.Fatalf("%d samples, want 1", len(p.Sample))
	}
	s := p.Sample[0]
	want := []int64{1, round(r.Time.MedianNS), 2000, r.FLOPs, r.Bytes, round(r.Time.MedianNS - r.Ceiling.FloorNS)}
	for i, v := range want {
		if s.Value[i] != v {
			t.Errorf("%s is %d, want %d", p.SampleType[i].Type, s.Value[i], v)
		}
	}
	var stack []string
	for _, l := range s.Location {
		stack = append(stack, l.Line[0].Function.Name)
	}
	if got, want := strings.Join(stack, "; "), "gemm_fp32_avx2_6x16 compute; gemm_fp32_avx2_6x16; "; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; op gemm; suite "+r.Suite) {
		t.Errorf("stack %q", got)
	}
	if f := s.Location[0].Line[0].Function.Filename; f != "native/gemm/gemm_fp32_avx2_6x16_amd64.c" {
		t.Errorf("source file %q", f)
	}
	if got := s.NumLabel["m"]; len(got) != 1 || s.NumUnit["m"][0] != "elements" {
		t.Errorf("numeric label m is %v %v", got, s.NumUnit["m"])
	}
}

// The worker sustains each program by itself: each arm has its own joules.
func TestEachArmOfAComparisonHasItsEnergy(t *testing.T) {
	doc := document()
	doc.Results = slices.DeleteFunc(doc.Results, func(r record.Result) bool { return len(r.Arms) != 2 || !r.Status.Counts() })[:1]
	for i := range doc.Results[0].Arms {
		doc.Results[0].Arms[i].Energy = &record.Energy{Joules: float64(3 - i), Launches: 1000, WindowNS: 1e9}
	}
	p := build(t, doc)
	if len(p.Sample) != 2 || p.Sample[0].Value[2] != 3000 || p.Sample[1].Value[2] != 2000 || strings.Contains(strings.Join(p.Comments, "\n"), "energy:") {
		t.Errorf("%v", p)
	}
	doc.Results[0].Arms[1].Energy = nil
	doc.Results[0].Energy = &record.Energy{Unavailable: "the zone is gone"}
	if p = build(t, doc); p.Sample[1].Value[2] != 0 || !strings.Contains(strings.Join(p.Comments, "\n"), "1 of 2 samples have none and count 0: the zone is gone") {
		t.Errorf("%v", p)
	}
}

// As tables, comparisons and fusion profiles have them: the medians of all samples hold what a neighbour slowed.
func TestTheArmsOfAComparisonTakeTheTimesOfTheirRatio(t *testing.T) {
	doc := document()
	doc.Results = slices.DeleteFunc(doc.Results, func(r record.Result) bool { return len(r.Arms) != 2 || !r.Status.Counts() })[:1]
	r := &doc.Results[0]
	r.Ratio.Value, r.Arms[0].Time.MedianNS, r.Arms[1].Time.MedianNS = 4, 200e3, 200e3
	r.Arms[0].Time.SamplesNS, r.Arms[1].Time.SamplesNS = nil, nil
	p := build(t, doc)
	if a, b := p.Sample[0].Value[1], p.Sample[1].Value[1]; a != 400e3 || b != 100e3 {
		t.Errorf("%d and %d ns, want 400000 and 100000", a, b)
	}
	r.Ratio = nil
	if a, b := build(t, doc).Sample[0].Value[1], build(t, doc).Sample[1].Value[1]; a != 200e3 || b != 200e3 {
		t.Errorf("without a ratio: %d and %d ns, want the medians", a, b)
	}
}

// The fusion profile of the run has what the ceilings allow each of the two programs.
func TestEachArmOfAComparisonIsHeldAgainstItsOwnLimit(t *testing.T) {
	doc := document()
	doc.Results = slices.DeleteFunc(doc.Results, func(r record.Result) bool { return len(r.Arms) != 2 || !r.Status.Counts() })[:1]
	r := &doc.Results[0]
	profile := func(unfused, fused *record.FusionLimit) {
		text, err := record.EncodeFusion(record.Fusion{Schema: record.SchemaFusion, RunID: doc.RunID, Patterns: []record.FusionPattern{{
			Shapes: []record.FusionShape{{CaseID: r.ID, UnfusedLimit: unfused, FusedLimit: fused}}}}})
		if err != nil {
			t.Fatal(err)
		}
		doc.FusionProfiles = []json.RawMessage{text}
	}
	lost := func() [2]int64 {
		p := build(t, doc)
		return [2]int64{p.Sample[0].Value[5], p.Sample[1].Value[5]}
	}
	profile(&record.FusionLimit{FloorNS: 300e3, DispatchNS: 3e3}, &record.FusionLimit{FloorNS: 200e3, DispatchNS: 1e3})
	if got, want := lost(), [2]int64{round(r.Arms[0].Time.MedianNS - 303e3), round(r.Arms[1].Time.MedianNS - 201e3)}; got != want {
		t.Errorf("lost %v, want %v", got, want)
	}
	profile(nil, nil)
	if got := lost(); got != [2]int64{} {
		t.Errorf("without limits %v were lost", got)
	}
	doc.FusionProfiles = []json.RawMessage{[]byte("7")}
	if _, err := Calibration(doc, Options{}); err == nil || !strings.Contains(err.Error(), "fusion_profiles[0]") {
		t.Errorf("a damaged fusion profile: error %v", err)
	}
}

// Only where counters of the memory controllers saw some: the type is not there for nothing.
func TestMeasuredBytesAreASampleTypeOfTheirOwn(t *testing.T) {
	doc := document()
	if n := len(build(t, doc).SampleType); n != 6 {
		t.Errorf("%d sample types without measured bytes", n)
	}
	known := record.Known(123456.7, "8 counters of memory controllers")
	id := ""
	for i := range doc.Results {
		if r := &doc.Results[i]; r.Energy != nil && r.Energy.Joules > 0 {
			r.Energy.MeasuredBytes, id = &known, r.ID
		}
	}
	p := build(t, doc)
	if len(p.SampleType) != 7 || p.SampleType[6].Type != MeasuredBytes || p.SampleType[6].Unit != "bytes" {
		t.Fatalf("sample types %v", p.SampleType)
	}
	for _, s := range p.Sample {
		if want := map[bool]int64{true: 123457}[s.Label["case"][0] == id]; s.Value[6] != want {
			t.Errorf("%s: %d measured bytes, want %d", s.Label["case"][0], s.Value[6], want)
		}
	}
}

func TestWhatDoesNotRateAKernelIsCountedInTheComments(t *testing.T) {
	doc := document()
	id := doc.Results[0].ID
	doc.Results[0].UseCase = record.UseCaseVerification
	doc.Results[1].Ceiling.FloorNS = 1.01 * doc.Results[1].Time.MedianNS
	p := build(t, doc)
	text := strings.Join(p.Comments, "\n")
	for _, want := range []string{"left out: 1 results: status wrong", "left out: 1 results: verified and launched once, whose time is no figure", "energy: ",
		"time_over_roofline: 3 of 7 samples have no ceiling", "time_over_roofline: 1 of 7 samples are at least as fast as their ceiling"} {
		if !strings.Contains(text, want) {
			t.Errorf("comments lack %q:\n%s", want, text)
		}
	}
	if slices.ContainsFunc(p.Sample, func(s *pprof.Sample) bool { return s.Label["case"][0] == id }) {
		t.Errorf("%s, which was launched once to be verified, has a sample", id)
	}
	doc.Devices = append(doc.Devices, record.Device{ID: "cuda:0", Name: "NVIDIA H200"})
	if got, want := build(t, doc).Comments[0], "on Example CPU (Zen 3), cuda:0 NVIDIA H200"; !strings.HasSuffix(got, want) {
		t.Errorf("the first comment is %q, want it to end with %q", got, want)
	}
	for i := range doc.Results {
		doc.Results[i].Status = record.Invalid
	}
	if _, err := Calibration(doc, Options{}); err == nil || !strings.Contains(err.Error(), "none of its") {
		t.Errorf("a document without a counted result: error %v", err)
	}
}

// Documents of other tools name no kernels; a median of 0 is none. A label without text is not in the file.
func TestResultsWithoutAKernelsNameOrAMedianCompareAsTheOthers(t *testing.T) {
	doc := document()
	doc.Results[0].Kernel = ""
	doc.Results[1].Time.MedianNS = 0
	for i := range doc.Results {
		for n := range doc.Results[i].Arms {
			doc.Results[i].Arms[n].Kernels = nil
		}
	}
	p := build(t, doc)
	if text := strings.Join(p.Comments, "\n"); !strings.Contains(text, "left out: 1 results: not timed") {
		t.Errorf("a median of 0: %s", text)
	}
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	back, err := pprof.ParseData(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(back, p)
	if err != nil || len(c.OnlyOld)+len(c.OnlyNew) > 0 || !slices.ContainsFunc(c.Changes, func(k Change) bool { return k.Kernel == unnamed && k.Cases == 3 }) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestSourcesFindTheFileThatMakesAKernel(t *testing.T) {
	s := sources(t)
	for kernel, want := range map[string]struct{ file, line string }{
		"gemm_fp32_avx2_6x16":            {"native/gemm/gemm_fp32_avx2_6x16_amd64.c", "#define GEMM_NAME GEMM_KERNEL(gemm_fp32_avx2_6x16)"},
		"gemm_fp32_avx512_14x32_model":   {"native/gemm/gemm_fp32_avx512_14x32_amd64.c", "#define GEMM_NAME GEMM_KERNEL(gemm_fp32_avx512_14x32)"},
		"gemm_fp32_portable":             {"native/gemm/portable.c", "GEMM_FLOAT(gemm_fp32_portable,"},
		"swiglu_fp32_portable":           {"native/gemm/portable.c", "ridge_swiglu_##dtype##_portable"},
		"mlp_bf16_portable":              {"native/gemm/portable.c", "ridge_mlp_##dtype##_portable"},
		"binary_bf16_portable":           {"native/elementwise/portable.c", "ridge_binary_##D##_portable"},
		"conv2d_fp32_avx2":               {"native/conv/conv2d_fp32_avx2_amd64.c", "ridge_conv2d_fp32_avx2"},
		"conv2d_fp32_avx2_indirect":      {"native/conv/conv2d_fp32_avx2_indirect_amd64.c", "ridge_conv2d_fp32_avx2_indirect"},
		"unary_bf16_avx2_nt":             {"native/elementwise/elementwise_bf16_avx2_amd64.c", "EW_KERNELS_NT(bf16_avx2)|EW_KERNELS(bf16_avx2)"},
		"softmax_fp32_avx512":            {"native/reduction/norms_fp32_avx512_amd64.c", "RD_NORMS(fp32_avx512)"},
		"reduce_fp64_neon":               {"native/reduction/reduce_fp64_neon_arm64.c", "RD_REDUCE(fp64_neon)"},
		"copy_fp32_avx2":                 {"native/memory/stream_avx2_amd64.c", "##_avx2"},
		"copy_fp32_avx2_nt":              {"native/memory/stream_avx2_amd64.c", "##_avx2_nt"},
		"add_scalar_bf16_avx2":           {"native/memory/stream_avx2_amd64.c", "##_avx2"},
		"add_norm_fp32_avx2_nt":          {"native/reduction/norms_fp32_avx2_amd64.c", "fp32_avx2"},
		"stream_triad_fp64_avx512_nt":    {"native/memory/stream_avx512_amd64.c", "##_avx512"},
		"bandwidth_fp32_avx2":            {"native/memory/bandwidth_avx2_amd64.c", "##_avx2"},
		"attention_bf16_avx512bf16":      {"native/attention/attention_bf16_avx512bf16_amd64.c", "ridge_attention_bf16_avx512bf16"},
		"requantize_int8_avx2":           {"native/elementwise/requantize_int8_avx2_amd64.c", "RQ_KERNEL(avx2"},
		"transpose_fp32_avx2":            {"native/memory/transpose_fp32_avx2_amd64.c", "transpose_fp32_avx2"},
		"conv2d_fp32_depthwise_avx2":     {"native/conv/conv2d_fp32_depthwise_avx2_amd64.c", "conv2d_fp32_depthwise_avx2"},
		"conv2d_fp32_avx512_winograd43":  {"native/conv/conv2d_fp32_avx512_winograd43_amd64.c", "winograd43"},
		"attention_fp32_avx512_model":    {"native/attention/attention_fp32_avx512_model.c", "ridge_attention_fp32_avx512_model"},
		"binary_fp32_avx512_model":       {"native/elementwise/elementwise_fp32_avx512_model.c", "fp32_avx512_model"},
		"no_such_kernel_of_any_platform": {"", ""},
		"copy_fp32_engine":               {"", ""}, // of CUDA; oneDNN has an engine and copies
		"mkl_sgemm_fp32":                 {"native/vendor/mkl.c", "sgemm"},
		"onednn_matmul_fp32":             {"native/vendor/onednn.c", "EACH(name##_fp32"},
	} {
		got, ok := s.Locate(kernel)
		if ok != (want.file != "") || got.File != want.file {
			t.Errorf("%s: %v %v, want %s", kernel, got, ok, want.file)
			continue
		}
		if !ok {
			continue
		}
		text, err := os.ReadFile("../../" + got.File)
		if err != nil {
			t.Fatal(err)
		}
		line := strings.Split(string(text), "\n")[got.Line-1]
		found := false
		for _, w := range strings.Split(want.line, "|") {
			found = found || strings.Contains(line, w)
		}
		if !found {
			t.Errorf("%s: line %d of %s is %q, want %q", kernel, got.Line, got.File, line, want.line)
		}
	}
}

func TestEveryRegisteredKernelHasASourceInItsOwnFolder(t *testing.T) {
	s := sources(t)
	if len(s.family) < 300 {
		t.Fatalf("the families register %d kernels", len(s.family))
	}
	for kernel, family := range s.family {
		if got, ok := s.Locate(kernel); !ok || path.Dir(got.File) != "native/"+family {
			t.Errorf("%s of %s: source %v", kernel, family, got)
		}
	}
}

// Their entries have longer names: gemm_bf16_sm90_nn, gemm_bf16_sm90_nt.
func TestACUDAKernelHasItsSourceInTheFileOfItsName(t *testing.T) {
	s, err := NewSources("cuda", os.DirFS("../../cuda"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../cuda/*/*_*.cu")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d kernel files, %v", len(files), err)
	}
	for _, file := range files {
		kernel := strings.TrimSuffix(filepath.Base(file), ".cu")
		got, ok := s.Locate(kernel)
		if !ok || "../../"+got.File != file {
			t.Errorf("%s: source %v, want %s", kernel, got, file)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line := strings.Split(string(text), "\n")[got.Line-1]
		if code, _, _ := strings.Cut(line, "//"); !strings.Contains(code, kernel) {
			t.Errorf("%s: line %d is %q", kernel, got.Line, line)
		}
	}
}

// goPprof runs go tool pprof in the repository's root.
func goPprof(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool", "pprof"}, args...)...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go tool pprof %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func TestGoToolPprofReadsIt(t *testing.T) {
	doc := document()
	p, err := Calibration(doc, Options{Locate: sources(t).Locate})
	if err != nil {
		t.Fatal(err)
	}
	file := written(t, p)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"-top"}, []string{"Type: device_time", "gemm_fp32_avx2_6x16 compute"}},
		{[]string{"-sample_index=energy", "-top"}, []string{"Type: energy", "gemm_fp32_avx2_6x16 compute"}},
		{[]string{"-sample_index=time_over_roofline", "-top"}, []string{"Type: time_over_roofline"}},
		{[]string{"-sample_index=flop", "-top", "-cum"}, []string{"suite "}},
		{[]string{"-tags"}, []string{" dtype: Total", " threads: Total", " m: Total"}},
		{[]string{"-list=gemm_fp32_avx2_6x16 compute"}, []string{"gemm_fp32_avx2_6x16_amd64.c", "#define GEMM_NAME GEMM_KERNEL(gemm_fp32_avx2_6x16)"}},
		{[]string{"-tagfocus=dtype=fp32", "-top"}, []string{"gemm_fp32_avx2_6x16 compute"}},
		{[]string{"-tagfocus=threads=2", "-top"}, []string{"gemm_fp32_avx2_6x16 compute"}},
		{[]string{"-tagfocus=m=1024", "-top"}, []string{"gemm_fp32_avx2_6x16 compute"}},
		{[]string{"-comments"}, []string{"every case counts once"}},
	} {
		got := goPprof(t, append(c.args, file)...)
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("go tool pprof %s lacks %q:\n%s", strings.Join(c.args, " "), w, got)
			}
		}
	}
}
