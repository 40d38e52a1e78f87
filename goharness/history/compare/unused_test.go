package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ridge/goharness/record"
)

// What a comparison does not read may be missing: it comes out the same, whatever its metric.
func TestComparisonsDoWithoutWhatTheyDoNotRead(t *testing.T) {
	text, err := os.ReadFile("../../../docs/benchmarks/zen5-turin/quick.json")
	if err != nil {
		t.Fatal(err)
	}
	read := func(text []byte, without ...string) *record.Calibration {
		d, err := record.ReadDocument(bytes.NewReader(text), without...)
		if err != nil {
			t.Fatal(err)
		}
		return d.Calibration
	}
	changed := read(text)
	changed.Tool.Version, changed.RunID = "later", "later"
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range changed.Results {
		r := &changed.Results[i]
		if i%5 == 0 {
			r.Kernel += "_other"
		}
		if i%7 == 0 && r.Conditions != nil {
			r.Conditions.Compiler, r.Conditions.Driver = "other", "other"
			r.Conditions.ClockBeforeGHz = record.Known(1.5, "test")
			r.Conditions.ClockAfterGHz = record.Known(1.5, "test")
		}
		if r.Time != nil {
			by := 0.8 + 0.4*rng.Float64()
			for j := range r.Time.SamplesNS {
				r.Time.SamplesNS[j] *= by
			}
			r.Time.MedianNS *= by
		}
	}
	later, err := record.EncodeCalibration(*changed)
	if err != nil {
		t.Fatal(err)
	}
	later = scrambled(t, later, rng)
	lean := read(text, Unused...)
	for _, r := range lean.Results {
		if r.Metrics != nil || r.Verification != nil || r.Conditions != nil && r.Conditions.PageSize != "" {
			t.Fatalf("%s: its unused fields were read", r.ID)
		}
	}
	for _, m := range Metrics {
		var want, got strings.Builder
		for out, without := range map[*strings.Builder][]string{&want: nil, &got: Unused} {
			c, err := Documents(read(text, without...), read(later, without...), Options{Metric: m})
			if err != nil {
				t.Fatal(err)
			}
			if err := Write(out, c, "json", true); err != nil {
				t.Fatal(err)
			}
			if err := Write(out, c, "table", true); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(want.String(), got.String()); d != "" {
			t.Errorf("%s (-whole +without):\n%s", m, d)
		}
	}
}

// scrambled is a document in which every figure and every text of a result's conditions is another in one result of four.
func scrambled(t *testing.T, text []byte, rng *rand.Rand) []byte {
	t.Helper()
	var doc map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var walk func(v any, texts bool) any
	walk = func(v any, texts bool) any {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				if k != "unavailable" {
					v[k] = walk(v[k], texts)
				}
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], texts)
			}
		case json.Number:
			if rng.IntN(4) == 0 {
				if i, err := v.Int64(); err == nil {
					return json.Number(fmt.Sprint(i/2 + 1))
				}
				x, _ := v.Float64()
				return json.Number(fmt.Sprint(x * (0.5 + rng.Float64())))
			}
		case string:
			if texts && rng.IntN(4) == 0 {
				return v + " changed"
			}
		}
		return v
	}
	for _, r := range doc["results"].([]any) {
		for name, v := range r.(map[string]any) {
			r.(map[string]any)[name] = walk(v, name == "conditions")
		}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
