package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// A file as system C's own tool writes it, of a cuda device.
const cudaFile = "../../testdata/record/graphs_cuda.json"

func cuda(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(cudaFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// imported reads a graphs file; the document must be valid and come back whole as JSON.
func imported(t *testing.T, text string) record.Calibration {
	t.Helper()
	doc, err := record.ImportGraphs(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	data := encode(t, doc)
	if err := record.Validate(data); err != nil {
		t.Fatal(err)
	}
	doc, err = record.ReadCalibration(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range doc.FusionProfiles {
		if err := record.ValidateFusion(f); err != nil {
			t.Fatal(err)
		}
	}
	return doc
}

// differences lists what two JSON values do not have in common, numbers to 12 digits.
func differences(a, b any, at string) []string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := keysOf(a)
		for k := range y {
			keys[k] = true
		}
		var out []string
		for k := range keys {
			v, here := x[k]
			w, there := y[k]
			if here != there {
				out = append(out, fmt.Sprintf("%s/%s: %v, then %v", at, k, v, w))
				continue
			}
			out = append(out, differences(v, w, at+"/"+k)...)
		}
		sort.Strings(out)
		return out
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		var out []string
		for i := range x {
			out = append(out, differences(x[i], y[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
		return out
	case float64:
		if y, ok := b.(float64); ok && math.Abs(x-y) <= 1e-12*math.Abs(x) {
			return nil
		}
	}
	if fmt.Sprint(a) != fmt.Sprint(b) {
		return []string{fmt.Sprintf("%s: %v, then %v", at, a, b)}
	}
	return nil
}

// What cannot come back of a file of our own is not in it: samples, conditions, verification,
// probes and their ceilings, results without a number in any precision, comparisons, the run's id.
func TestGraphsFileOfOurOwnComesBackWhole(t *testing.T) {
	doc := recordtest.Sample()
	doc.Results[0].Params["alpha"] = "1" // a default: no part of the id
	doc.Results[1].Params["alpha"] = "1"
	doc.Results[1].Time.MedianNS += 1.0 / 3 // no whole part of a millisecond
	text, first := export(t, doc)
	back := imported(t, string(text))
	again, second := export(t, back)
	if d := differences(first, second, ""); len(d) > 0 {
		t.Errorf("export → import → export changed\n%s", strings.Join(d, "\n"))
	}
	if string(again) != string(text) {
		t.Error("the text differs")
	}
	have := map[string]record.Result{}
	for _, r := range back.Results {
		have[r.ID] = r
	}
	compared := 0
	for _, r := range doc.Results {
		got, there := have[r.ID]
		if !there {
			continue
		}
		compared++
		if got.Kernel != r.Kernel || got.Status != r.Status || got.Reason != r.Reason || got.FLOPs != r.FLOPs || got.Bytes != r.Bytes || got.Items != r.Items || got.Suite != r.Suite {
			t.Errorf("%s came back as %+v", r.ID, got)
		}
		if r.Status.Counts() && (got.Time.MedianNS != r.Time.MedianNS || math.Abs(got.Time.RelHalfWidth-r.Time.RelHalfWidth) > 1e-9 || len(got.Warnings) > 0) {
			t.Errorf("%s: time %+v, warnings %q", r.ID, got.Time, got.Warnings)
		}
	}
	if compared != 7 || len(have) != 7 {
		t.Errorf("%d of %d results are those of the document", compared, len(have))
	}
	if d := differences(patternsOf(t, doc.FusionProfiles[0])["patterns"], patternsOf(t, back.FusionProfiles[0])["patterns"], ""); len(d) > 0 {
		t.Errorf("the fusion profile changed\n%s", strings.Join(d, "\n"))
	}
}

func patternsOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var f record.Fusion
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	sort.SliceStable(f.Patterns, func(i, j int) bool {
		a, b := f.Patterns[i], f.Patterns[j]
		return a.Pattern+string(a.DType)+b.Mode < b.Pattern+string(b.DType)+a.Mode
	})
	data, err := record.EncodeFusion(f)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// What cannot come back of a file of system C, and why.
var cudaChanges = []string{
	`^/metadata/calibration_date: `,                                            // it has no time zone: taken as UTC
	`^/fusion_profiles/\w+/extra_params/\w+: <nil>, then `,                     // ours are added; none of its own is lost
	`^/operation_profiles/.*/precision_results: <nil>, then map\[\]`,           // an empty object where it had none
	`^/precision_matrix/theoretical_peaks/fp8: 0, then <nil>`,                  // 0 is no peak
	`^/operation_profiles/.*/precision_results/\w+/(std|arithmetic)\w*: <nil>`, // filled in from the profile's own
}

func TestGraphsFileOfSystemCGivesTheSameProfilesAgain(t *testing.T) {
	text := cuda(t)
	var first map[string]any
	if err := json.Unmarshal([]byte(text), &first); err != nil {
		t.Fatal(err)
	}
	_, second := export(t, imported(t, text))
	known := regexp.MustCompile(strings.Join(cudaChanges, "|"))
	for _, d := range differences(first, second, "") {
		if !known.MatchString(d) {
			t.Error(d)
		}
	}
	third, _ := export(t, imported(t, text))
	if fourth, _ := export(t, imported(t, string(third))); !bytes.Equal(third, fourth) {
		t.Error("a second time through changes the file")
	}
}

func TestGraphsImportSaysWhatAFileOfSystemCDoesNot(t *testing.T) {
	doc := imported(t, cuda(t))
	if d := doc.Devices; len(d) != 1 || d[0].ID != "cuda:0" || d[0].Name != "Example Board (GPU)" || doc.Host.Arch != "arm64" || doc.Tool.Name != "branes-ai/graphs" {
		t.Errorf("devices %+v of %q by %+v", d, doc.Host.Arch, doc.Tool)
	}
	if n, _ := doc.Host.CPU.Cores.Get(); n != 6 || doc.Host.Kernel.Unavailable == "" || doc.Host.CPU.Threads.Unavailable == "" {
		t.Errorf("host %+v", doc.Host)
	}
	status := map[record.Status]int{}
	for _, r := range doc.Results {
		status[r.Status]++
		id, err := record.ParseCaseID(r.ID)
		if err != nil || id.Device != "cuda:0" || strings.Contains(r.ID, "733") || strings.Contains(r.ID, "best_precision") {
			t.Errorf("%s: %v: an id holds no measured value", r.ID, err)
		}
		if r.Status.Counts() {
			if r.Time.MedianNS != r.Time.MeanNS || r.Status != record.Noisy || len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "the mean stands for it") {
				t.Errorf("%s: %s, median %v of mean %v, warnings %q", r.ID, r.Status, r.Time.MedianNS, r.Time.MeanNS, r.Warnings)
			}
			if r.Verification != nil {
				t.Errorf("%s is called verified", r.ID)
			}
			continue
		}
		if r.Time != nil || r.GFLOPS != 0 || r.Reason == "" {
			t.Errorf("%s: %s with %v, reason %q", r.ID, r.Status, r.Time, r.Reason)
		}
	}
	if status[record.Noisy] != 4 || status[record.Unsupported] != 3 || len(doc.Results) != 7 {
		t.Errorf("statuses %v", status)
	}
	var f record.Fusion
	if err := json.Unmarshal(doc.FusionProfiles[0], &f); err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Patterns {
		s := p.Shapes[0]
		if s.Verdict != "inconclusive" || !strings.Contains(s.Reason, "no interval") || p.Recommendation.Verdict != "inconclusive" || s.SpeedupCI95 != [2]float64{} || s.Speedup <= 1 {
			t.Errorf("%s: %+v", p.Pattern, s)
		}
	}
	ceilings := map[string]string{}
	for _, c := range doc.Ceilings {
		ceilings[c.Kind+" "+string(c.DType)] = fmt.Sprintf("%.0f %.0f", c.Theoretical.Value, c.Measured.Value)
	}
	want := map[string]string{"compute fp32": "1280 881", "compute fp16": "2560 2082", "compute bf16": "2560 0", "compute int8": "5120 0", "bandwidth ": "68 38"}
	for k, v := range want {
		if ceilings[k] != v {
			t.Errorf("ceiling %s: %q, want %q", k, ceilings[k], v)
		}
	}
}

// Ids are those of what was asked for: they do not change with what was measured.
func TestGraphsImportGivesTheSameIDsForOtherMeasurements(t *testing.T) {
	ids := func(text string) string {
		var out []string
		for _, r := range imported(t, text).Results {
			out = append(out, r.ID)
		}
		sort.Strings(out)
		return strings.Join(out, "\n")
	}
	text := cuda(t)
	other := strings.NewReplacer("733.125", "512.5", "best_precision=fp16", "best_precision=fp32", `"best_precision": "fp16"`, `"best_precision": "fp32"`,
		`"mean_latency_ms": 2.9,`, `"mean_latency_ms": 2.91,`).Replace(text)
	if a, b := ids(text), ids(other); a != b {
		t.Errorf("ids\n%s\nbecame\n%s", a, b)
	}
}

func TestGraphsImportTakesFieldsInAnyOrderAndWithoutWhatIsOptional(t *testing.T) {
	const least = `{"operation_profiles":{"relu_x":{"mean_latency_ms":2,"operation_type":"relu","measured_gflops":null,"input_shape":null,"extra_params":null,"precision_results":null}},
"fusion_profiles":{"A_B":{"speedup_factor":1.5,"fused_latency_ms":2,"unfused_latency_ms":3,"fusion_pattern":"A_B","unfused_gflops":1,"fused_gflops":1.5}},
"precision_matrix":null,"metadata":{"calibration_date":"2026-01-02T03:04:05Z","hardware_name":"","gpu_clock":null,"cpu_clock":null,"preflight":null},"later_field":[1,{"a":null}]}`
	doc := imported(t, least)
	if len(doc.Results) != 1 || doc.Results[0].ID != "cpu/relu/fp32/key=relu_x/threads=0/hot" || len(doc.FusionProfiles) != 1 || len(doc.Ceilings) != 0 {
		t.Errorf("results %+v", doc.Results)
	}
	export(t, doc)
	if doc := imported(t, `{"metadata":{"hardware_name":"x","calibration_date":"2026-01-02T03:04:05"},"operation_profiles":{}}`); len(doc.Results) != 0 || doc.Devices[0].ID != "cpu" {
		t.Errorf("document %+v", doc)
	}
}

func TestGraphsImportErrorsNameTheKeyInOneLine(t *testing.T) {
	good := cuda(t)
	own, _ := export(t, recordtest.Sample())
	in := func(text, from, to string) string {
		t.Helper()
		if !strings.Contains(text, from) {
			t.Fatalf("the file has no %q", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	c := func(from, to string) string { return in(good, from, to) }
	o := func(from, to string) string { return in(string(own), from, to) }
	for name, x := range map[string]struct{ text, want string }{
		"empty":                {"", "not JSON: the text ends at byte 0"},
		"cut":                  {good[:len(good)/2], "not JSON: the text ends"},
		"list":                 {"[]", "got a list, expected an object"},
		"nothing":              {"{}", "metadata: missing"},
		"no operations":        {`{"metadata":{"hardware_name":"x","calibration_date":"2026-01-02T03:04:05"}}`, "operation_profiles: missing"},
		"text after it":        {good + "{}", "text after the document"},
		"NaN":                  {c(`"mean_latency_ms": 2.9`, `"mean_latency_ms": NaN`), `size=1024_medium"].mean_latency_ms: not JSON: invalid character 'N'`},
		"Infinity":             {c(`"measured_bandwidth_gbps": `, `"measured_bandwidth_gbps": Infinity, "x": `), "measured_bandwidth_gbps: not JSON"},
		"negative":             {c(`"mean_latency_ms": 2.9`, `"mean_latency_ms": -2.9`), `mean_latency_ms: got the number -2.9, expected a number from 0`},
		"huge":                 {c(`"mean_latency_ms": 2.9`, `"mean_latency_ms": 1e300`), "mean_latency_ms: got the number 1e300"},
		"beyond a float":       {c(`"theoretical_peak_gflops": 1280.0`, `"theoretical_peak_gflops": 1e999`), "theoretical_peak_gflops: got the number 1e999"},
		"wrong type":           {c(`"mean_latency_ms": 2.9`, `"mean_latency_ms": "2.9"`), `mean_latency_ms: got the text "2.9", expected a number`},
		"a count with a point": {c(`"num_trials": 10`, `"num_trials": 10.5`), "num_trials: got the number 10.5, expected a whole number"},
		"operations a list":    {c(`"operation_profiles": {`, `"operation_profiles": [], "x": {`), "operation_profiles: got a list, expected an object"},
		"key twice":            {c(`"cpu_count": 6`, `"cpu_count": 6, "cpu_count": 7`), "metadata.cpu_count: the key is there twice"},
		"profile twice":        {c(`"fusion_profiles": {`, `"fusion_profiles": {"A": 1, "A": 2, `), "fusion_profiles.A: the key is there twice"},
		"no time":              {c(`"mean_latency_ms": 2.9`, `"mean_latency_ms": null`), "mean_latency_ms: got null, expected a time above 0"},
		"time out of order":    {c(`"min_latency_ms": 2.87`, `"min_latency_ms": 2.95`), "min_latency_ms 2.95 is above mean_latency_ms 2.9"},
		"no type":              {c(`"operation_type": "matmul"`, `"operation_type": null`), "operation_type: missing or null"},
		"odd type":             {c(`"operation_type": "matmul"`, `"operation_type": "mat/mul"`), "operation_type: "},
		"unknown precision":    {c(`"fp16": {`, `"fp17": {`), `fp17: unknown precision "fp17"`},
		"other precision":      {c(`"precision": "fp16"`, `"precision": "bf16"`), `precision: got the text "bf16", expected "fp16"`},
		"no date":              {c(`"calibration_date": "2026`, `"calibration_date": "at noon 2026`), "metadata.calibration_date: "},
		"check":                {c(`"status": "warning"`, `"status": "fine"`), `preflight.checks[0].status: got the text "fine"`},
		"gpu clock":            {c(`"sm_clock_mhz": 918,`, ``), "metadata.gpu_clock.sm_clock_mhz: missing"},
		"core clock":           {c(`1344.0,`, `"fast",`), "current_freq_mhz: got"},
		"reduction":            {c(`"memory_reduction": 0.`, `"memory_reduction": 3.`), "memory_reduction: got"},
		"operators":            {c(`"num_operators": 3`, `"num_operators": 4`), "num_operators: got the number 4, expected 3"},
		"no latency":           {c(`"fused_latency_ms": 1.0`, `"fused_latency_ms": null`), "fusion_profiles.Linear_Bias_ReLU.fused_latency_ms: missing or null"},
		"case id":              {o(`"case_id": "cpu/copy`, `"case_id": "copy`), `extra_params.case_id: case id`},
		"other op":             {o(`"operation_type": "copy"`, `"operation_type": "relu"`), "case_id: the case is of copy, operation_type is relu"},
		"other device":         {o(`"device_type": "cpu"`, `"device_type": "cuda"`), "metadata.device_type is cuda"},
		"status":               {o(`"status": "unsupported"`, `"status": "ok"`), "status: ok goes not with the precision's numbers"},
		"interval":             {o(`"ci95_ns": [10358400`, `"ci95_ns": [11000000`), "results.fp32.ci95_ns: 1.1e+07 to"},
		"verdict":              {o(`"verdict": "moderate"`, `"verdict": "splendid"`), "verdict: got"},
		"wrong list":           {o(`"suite": "memory"`, `"suite": 5`), "results.fp32.suite: got number, expected string"},
	} {
		_, err := record.ImportGraphs(strings.NewReader(x.text))
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 800 {
			t.Errorf("%s: error %v, want one line with %q", name, err, x.want)
		}
	}
}

// A hostile file costs neither memory nor time.
func TestGraphsImportBoundsWhatItReads(t *testing.T) {
	for want, text := range map[string]string{
		"nested more than 32 deep":           `{"a":` + strings.Repeat("[", 1<<20),
		"more than 1000000 values":           `{"a":[` + strings.Repeat("0,", 1<<21),
		"longer than 16777216 bytes":         strings.Repeat(" ", 17<<20),
		"more than 16 dimensions":            `{"metadata":{"hardware_name":"x","calibration_date":"2026-01-02T03:04:05Z"},"operation_profiles":{"a":{"operation_type":"relu","input_shape":[` + strings.Repeat("1,", 20) + `1]}}}`,
		"is more work than a count can hold": `{"metadata":{"hardware_name":"x","calibration_date":"2026-01-02T03:04:05Z"},"operation_profiles":{"a":{"operation_type":"relu","measured_gflops":1e12,"mean_latency_ms":1e12}}}`,
	} {
		if _, err := record.ImportGraphs(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("error %.300v, want %q", err, want)
		}
	}
}

// A recommendation for a precision and mode of which the file has no shape is refused; it used to end in a panic.
func TestGraphsImportRefusesAdviceWithoutAShape(t *testing.T) {
	text := `{"metadata":{"hardware_name":"x","calibration_date":"2026-01-02T03:04:05"},"operation_profiles":{"relu":{"operation_type":"relu","mean_latency_ms":2}},` +
		`"fusion_profiles":{"A":{"fusion_pattern":"A","operators":["a"],"unfused_latency_ms":2,"fused_latency_ms":1,"speedup_factor":2,"unfused_gflops":1,"fused_gflops":2,` +
		`"extra_params":{"recommendations":[{"dtype":"int8","mode":"cold","verdict":"fuse","reason":"r"}]}}}}`
	if _, err := record.ImportGraphs(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "no shape of the pattern is in int8 and cold") {
		t.Errorf("%v", err)
	}
}

func FuzzImportGraphs(f *testing.F) {
	doc := recordtest.Sample()
	doc.Results = doc.Results[:4]
	own, err := record.ExportGraphs(doc)
	if err != nil {
		f.Fatal(err)
	}
	theirs, err := os.ReadFile(cudaFile)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add(theirs)
	f.Add(theirs[:len(theirs)/3])
	f.Add([]byte(`{"metadata":{"hardware_name":"x","calibration_date":"2026-01-02T03:04:05"},"operation_profiles":{"relu":{"operation_type":"relu","mean_latency_ms":2}},` +
		`"fusion_profiles":{"A":{"fusion_pattern":"A","operators":["a"],"unfused_latency_ms":2,"fused_latency_ms":1,"speedup_factor":2,"unfused_gflops":1,"fused_gflops":2}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := record.ImportGraphs(bytes.NewReader(data))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		text, err := record.EncodeCalibration(doc)
		if err != nil {
			t.Fatalf("a file that was read cannot be written as a document: %v", err)
		}
		if err := record.Validate(text); err != nil {
			t.Fatalf("a file that was read gives no valid document: %v", err)
		}
		for _, p := range doc.FusionProfiles {
			if err := record.ValidateFusion(p); err != nil {
				t.Fatalf("a file that was read gives no valid fusion profile: %v", err)
			}
		}
		again, err := record.ExportGraphs(doc)
		if err != nil {
			t.Fatalf("a file that was read cannot be exported: %v", err)
		}
		if _, err := record.ImportGraphs(bytes.NewReader(again)); err != nil {
			t.Fatalf("what was exported cannot be read: %v\n%s", err, again)
		}
	})
}

// Few quartets of a noisy machine: the interval reaches from near 0 to a number that means no more than "unknown".
func TestAWideIntervalComesBack(t *testing.T) {
	for _, ci := range [][2]float64{{0, 10.5}, {1e-40, 3e40}, {0, math.MaxFloat64}} {
		doc := recordtest.Sample()
		f := recordtest.Fusion(doc)
		s := &f.Patterns[0].Shapes[0]
		s.SpeedupCI95, s.Status, s.Verdict, s.Reason = ci, record.Noisy, "inconclusive", "few quartets"
		data, err := record.EncodeFusion(f)
		if err != nil {
			t.Fatal(err)
		}
		doc.FusionProfiles = []json.RawMessage{data}
		text, _ := export(t, doc)
		var back record.Fusion
		if err := json.Unmarshal(imported(t, string(text)).FusionProfiles[0], &back); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range back.Patterns {
			for _, x := range p.Shapes {
				found = found || x.CaseID == s.CaseID && x.SpeedupCI95 == ci
			}
		}
		if !found {
			t.Errorf("%v did not come back", ci)
		}
	}
}
