package report

import (
	"strings"
	"testing"

	"ridge/goharness/record"
)

func TestTheFusionTableShowsTheBaselineAndALibrarysFusedPrimitive(t *testing.T) {
	shape := record.FusionShape{Pattern: "Linear_Bias_ReLU", Status: record.OK, Trials: 8, Speedup: 1.2, SpeedupCI95: [2]float64{1.1, 1.3}, Baseline: "onednn packed", Verdict: "moderate"}
	for _, c := range []struct {
		name  string
		fused *record.VendorFused
		want  string
	}{
		{"none", nil, ""},
		{"one", &record.VendorFused{Library: "onednn fused", Version: "3.2.0 (OpenMP)", LatencyMS: 0.5, Ratio: 1.25, RatioCI95: [2]float64{1.2, 1.3}},
			"onednn fused 3.2.0 (OpenMP): 0.5 ms, 1.25 of ridge's fused kernel's time (1.20–1.30)"},
	} {
		shape.VendorFused = c.fused
		var b strings.Builder
		if err := WriteFusion(&b, record.Fusion{Patterns: []record.FusionPattern{{Pattern: "Linear_Bias_ReLU", DType: record.FP32, Shapes: []record.FusionShape{shape}}}}, Options{Width: 160}); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, "onednn packed") || !strings.Contains(text, c.want) || c.fused == nil && strings.Contains(text, "ridge's fused kernel") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

func TestTheFusionTableShowsModelledAndWrittenBytes(t *testing.T) {
	for _, c := range []struct {
		reduction      float64
		unfused, fused int64
		want           string
	}{
		{0.4, 3000, 1000, "-40 % / -67 %"},
		{0.4, 1000, 1000, "-40 % / 0 %"}, // in place
		{0.4, 1000, 1100, "-40 % / +10 %"},
		{-0.1, 0, 0, "+10 %"}, // of an older document
		{0.4, 3000, 0, "-40 %"},
	} {
		s := record.FusionShape{Pattern: "Add_ReLU", Status: record.OK, Trials: 8, Speedup: 1.2, SpeedupCI95: [2]float64{1.1, 1.3}, Verdict: "moderate",
			MemoryReduction: c.reduction, UnfusedWritten: c.unfused, FusedWritten: c.fused}
		var b strings.Builder
		if err := WriteFusion(&b, record.Fusion{Patterns: []record.FusionPattern{{Pattern: "Add_ReLU", DType: record.FP32, Shapes: []record.FusionShape{s}}}}, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, " "+c.want+" ") || !strings.Contains(text, "moved/written") || strings.Count(text, "%") != strings.Count(c.want, "%") {
			t.Errorf("want %s: %s", c.want, text)
		}
	}
}

// Who acts on the lists has the size there.
func TestTheListOfPatternsToFuseBySizeHasTheSize(t *testing.T) {
	for _, c := range []struct {
		above bool
		want  string
	}{
		{true, "fuse by size: MLP fp32 from m 64\n"}, {false, "fuse by size: MLP fp32 up to m 8\n"},
	} {
		r := record.Recommendation{Verdict: "depends_on_size", Reason: "of 4 shapes 2 gain", Crossover: &record.Crossover{Parameter: "m", Between: [2]int64{8, 64}, FuseAbove: c.above, Value: 20}}
		f := record.Fusion{Patterns: []record.FusionPattern{{Pattern: "MLP", DType: record.FP32, Recommendation: r}}}
		var b strings.Builder
		if err := WriteFusion(&b, f, Options{Width: 160}); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, c.want) {
			t.Errorf("want %q: %s", c.want, text)
		}
	}
}
