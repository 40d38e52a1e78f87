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
