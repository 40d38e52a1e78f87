package campaign

import (
	"strings"
	"testing"

	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Linear_Bias has the linear layer of Linear_Bias_ReLU and no stage that a library was not seen beside; of GELU nothing is known before its first pilot.
func TestALibraryIsTriedOnceOnTheStagesThatPatternsShare(t *testing.T) {
	cfg, _, workers := withLibrary(t, t.TempDir(), librarian{}, "acme packed", "acme blocked")
	shapes := cfg.Plan.Fusion[0].Shapes
	for _, name := range []string{"Linear_Bias", "Linear_Bias_GELU"} {
		more, err := fusion.Select(fusion.Builtin(), []string{name})
		if err != nil {
			t.Fatal(err)
		}
		more[0].DTypes, more[0].Shapes = []record.DType{record.FP32}, shapes
		cfg.Plan.Fusion = append(cfg.Plan.Fusion, more[0])
	}
	var pilots []string
	doc := mustRun(t, cfg)
	for _, r := range doc.Results {
		want := "unfused:acme packed"
		if strings.Contains(r.ID, "m=4") {
			want = "unfused:in place"
		}
		if !r.Status.Counts() || r.Arms[0].Name != want {
			t.Errorf("%s: %s, baseline %s, want %s", r.ID, r.Status, r.Arms[0].Name, want)
		}
		n, pattern := len(r.Candidates), strings.Split(r.ID, "/")[1]
		packed, blocked := r.Candidates[n-2], r.Candidates[n-1]
		if packed.Name != "acme packed" || packed.Status != record.OK || blocked.Status != record.Unsupported {
			t.Errorf("%s: candidates %+v", r.ID, r.Candidates)
		}
		if first := "tried in " + strings.Replace(r.ID, pattern, "Linear_Bias_ReLU", 1) + ","; !strings.Contains(packed.Reason, first) {
			pilots = append(pilots, r.ID)
		}
	}
	want := []string{"Linear_Bias_ReLU/fp32/m=3", "Linear_Bias_ReLU/fp32/m=4", "Linear_Bias_GELU/fp32/m=3"}
	if len(pilots) != len(want) {
		t.Fatalf("pilots of libraries in %v, want %v", pilots, want)
	}
	for i := range want {
		if !strings.Contains(pilots[i], want[i]) {
			t.Errorf("pilots of libraries in %v, want %v", pilots, want)
		}
	}
	if len(doc.Results) != 6 {
		t.Errorf("%d results", len(doc.Results))
	}
	measured := 0
	for _, w := range (*workers)[1:] { // the first is ridge's own
		for _, lib := range *w {
			if lib == "acme packed" {
				measured++
			}
		}
	}
	if visits := 3 * leastVisitsQuick; measured != len(want)+visits { // m=3 has the library's chain as its baseline
		t.Errorf("the library's chain was measured %d times, want %d pilots and %d visits", measured, len(want), visits)
	}
}

func TestStagesAreThoseOfWhichEveryWayIsKnown(t *testing.T) {
	b := op.Builtin()
	step := func(name string, params map[string]string) op.Step {
		o, err := b.New(name, params, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		return op.Step{Op: o}
	}
	linear := step("linear", map[string]string{"m": "3", "n": "7", "k": "5"})
	other := step("linear", map[string]string{"m": "4", "n": "7", "k": "5"})
	relu, gelu := step("relu", map[string]string{"rows": "3", "cols": "7"}), step("gelu", map[string]string{"rows": "3", "cols": "7"})
	ok := func(steps ...int) record.Result {
		return record.Result{Status: record.OK, Arms: []record.Arm{{}, {LibrarySteps: steps}}}
	}
	var s pilotsShown
	if got := s.stages([]string{"a"}, []op.Step{linear}); got != "" {
		t.Errorf("before any pilot: %q", got)
	}
	s.learn("a", []op.Step{linear, relu}, ok(0))
	s.learn("b", []op.Step{linear, relu}, record.Result{Status: record.Unsupported})
	s.learn("c", []op.Step{linear, relu}, record.Result{Status: record.Crashed})
	key := s.stages([]string{"a", "b"}, []op.Step{linear, relu})
	for name, c := range map[string]struct {
		ways  []string
		steps []op.Step
		same  bool // as key; else ""
	}{
		"the same program":                 {[]string{"a", "b"}, []op.Step{linear, relu}, true},
		"without the stage of ridge's own": {[]string{"a", "b"}, []op.Step{linear}, true},
		"a stage that nobody tried":        {[]string{"a", "b"}, []op.Step{linear, gelu}, false},
		"a way that crashed":               {[]string{"a", "c"}, []op.Step{linear, relu}, false},
		"no stage of a library's":          {[]string{"a", "b"}, []op.Step{relu}, false},
	} {
		if got := s.stages(c.ways, c.steps); c.same != (got == key) || !c.same && got != "" {
			t.Errorf("%s: %q, of the first %q", name, got, key)
		}
	}
	if got := s.stages([]string{"a"}, []op.Step{other}); got == key || got == "" {
		t.Errorf("another shape: %q", got)
	}
}
