package record_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"ridge/goharness/record"
)

// The documentation has a word on every field of a result's figures.
func TestMeasuringMdExplainsEveryFigure(t *testing.T) {
	text, err := os.ReadFile("../../docs/measuring.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	// Latency fields share a row that leaves out their common start.
	doc += strings.NewReplacer("`_", "`latency_", "_`", "_ms`").Replace(doc)
	for _, v := range []any{record.Time{}, record.Verification{}, record.ResultCeiling{}, record.LatencyMetrics{}, record.ThroughputMetrics{},
		record.MemoryMetrics{}, record.FLOPMetrics{}, record.PowerMetrics{}, record.BandwidthMetrics{}} {
		tp := reflect.TypeOf(v)
		for i := range tp.NumField() {
			name, _, _ := strings.Cut(tp.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(doc, name) {
				t.Errorf("docs/measuring.md says nothing of %s.%s", tp.Name(), name)
			}
		}
	}
	for _, s := range []record.Status{record.OK, record.Noisy, record.Invalid, record.Wrong, record.Unsupported, record.Crashed, record.TimedOut, record.Skipped} {
		if !strings.Contains(doc, "| `"+string(s)+"` |") {
			t.Errorf("docs/measuring.md has no row for status %s", s)
		}
	}
}
