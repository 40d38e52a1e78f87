package record_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// withFusion is the sample with this profile in place of its own.
func withFusion(t *testing.T, profiles ...record.Fusion) record.Calibration {
	t.Helper()
	doc := recordtest.Sample()
	doc.FusionProfiles = nil
	for _, f := range profiles {
		text, err := record.EncodeFusion(f)
		if err != nil {
			t.Fatal(err)
		}
		doc.FusionProfiles = append(doc.FusionProfiles, text)
	}
	return doc
}

func fusionOf(t *testing.T, doc record.Calibration, pattern string) map[string]any {
	t.Helper()
	_, m := export(t, doc)
	f, _ := m["fusion_profiles"].(map[string]any)[pattern].(map[string]any)
	if f == nil {
		t.Fatalf("no profile %s in %v", pattern, keysOf(m["fusion_profiles"]))
	}
	return f
}

func TestTheSampleProfileFollowsItsSchema(t *testing.T) {
	text, err := record.EncodeFusion(recordtest.Fusion(recordtest.Sample()))
	if err != nil {
		t.Fatal(err)
	}
	if err := record.ValidateFusion(text); err != nil {
		t.Error(err)
	}
}

func TestGraphsExportHasAPatternUnderItsPlainNameAlone(t *testing.T) {
	_, m := export(t, recordtest.Sample())
	var names []string
	for k := range keysOf(m["fusion_profiles"]) {
		names = append(names, k)
	}
	slices.Sort(names)
	if fmt.Sprint(names) != "[Conv2d_BN_ReLU Linear_Bias_ReLU]" {
		t.Errorf("keys %v", names)
	}
}

// The largest shape is the one of most work, whatever the order of the shapes; fp32 comes
// before a larger shape of another precision, hot before cold, and what was not measured is none.
func TestGraphsExportPutsTheLargestShapeUnderThePlainName(t *testing.T) {
	sample := recordtest.Sample()
	of := func(change func(*record.Fusion)) record.Calibration {
		f := recordtest.Fusion(sample)
		change(&f)
		return withFusion(t, f)
	}
	relu := func(f *record.Fusion, keep func(p record.FusionPattern) bool) {
		f.Patterns = slices.DeleteFunc(f.Patterns, func(p record.FusionPattern) bool { return p.Pattern == "Linear_Bias_ReLU" && !keep(p) })
	}
	const large = "cpu/Linear_Bias_ReLU/fp32/m=512,k=1024,n=1024/threads=2/hot"
	for name, c := range map[string]struct {
		doc  record.Calibration
		want string
	}{
		"as it is": {of(func(*record.Fusion) {}), large},
		"shapes in the other order": {of(func(f *record.Fusion) {
			slices.Reverse(f.Patterns)
			for i := range f.Patterns {
				slices.Reverse(f.Patterns[i].Shapes)
			}
		}), large},
		"fp32 only cold": {of(func(f *record.Fusion) {
			relu(f, func(p record.FusionPattern) bool { return p.DType != record.FP32 || p.Mode == record.Cold })
		}), "cpu/Linear_Bias_ReLU/fp32/m=512,k=1024,n=1024/threads=2/cold"},
		"no fp32": {of(func(f *record.Fusion) {
			relu(f, func(p record.FusionPattern) bool { return p.DType != record.FP32 })
		}), "cpu/Linear_Bias_ReLU/bf16/m=2048,k=1024,n=1024/threads=2/hot"},
	} {
		f := fusionOf(t, c.doc, "Linear_Bias_ReLU")
		if got := f["extra_params"].(map[string]any)["case_id"]; got != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestGraphsExportListsEveryShapeUnderExtraParams(t *testing.T) {
	profile := recordtest.Fusion(recordtest.Sample())
	want := map[string]bool{}
	for _, p := range profile.Patterns {
		for _, s := range p.Shapes {
			if p.Pattern == "Linear_Bias_ReLU" {
				want[s.CaseID] = true
			}
		}
	}
	f := fusionOf(t, withFusion(t, profile), "Linear_Bias_ReLU")
	outer := keysOf(f)
	for _, v := range f["extra_params"].(map[string]any)["shapes"].([]any) {
		s := v.(map[string]any)
		if got := keysOf(s); fmt.Sprint(got) != fmt.Sprint(outer) {
			t.Errorf("a shape has the keys %v, a profile %v", got, outer)
		}
		extra := s["extra_params"].(map[string]any)
		id := extra["case_id"].(string)
		if !want[id] {
			t.Errorf("%s is there twice or was not measured for", id)
		}
		delete(want, id)
		if mode := extra["mode"].(string); !strings.HasSuffix(id, "/"+mode) {
			t.Errorf("%s is called %s", id, mode)
		}
		if skipped := extra["status"] == "skipped"; skipped != (s["fused_latency_ms"] == nil) {
			t.Errorf("%s: %v with the latency %v", id, extra["status"], s["fused_latency_ms"])
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestGraphsExportNamesConvolutionsAsItsReaderDoes(t *testing.T) {
	extra := fusionOf(t, recordtest.Sample(), "Conv2d_BN_ReLU")["extra_params"].(map[string]any)
	if extra["kernel_size"] != 3.0 || extra["in_channels"] != 128.0 || extra["out_channels"] != 128.0 {
		t.Errorf("extra_params %v", extra)
	}
}

func TestGraphsExportRefusesProfilesThatCannotStandInOneFile(t *testing.T) {
	f := recordtest.Fusion(recordtest.Sample())
	other := f
	other.Device.ID = "cuda:0"
	for want, doc := range map[string]record.Calibration{
		"Linear_Bias_ReLU fp32 hot map[k:512 m:128 n:512] is there twice": withFusion(t, f, f),
		"fusion_profiles[1]: it is of device cuda:0, the document of cpu": withFusion(t, f, other),
	} {
		if _, err := record.ExportGraphs(doc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	doc := withFusion(t)
	doc.FusionProfiles = []json.RawMessage{json.RawMessage(`{"patterns":[{"shapes":5}]}`)}
	if _, err := record.ExportGraphs(doc); err == nil || !strings.Contains(err.Error(), "fusion_profiles[0]: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
