package record_test

import (
	"encoding/json"
	"strings"
	"testing"

	"ridge/goharness/record"
)

// What was not measured has no figure in a document, not even 0.
func TestABaselineOrRooflineThatIsNotThereHasNoFigure(t *testing.T) {
	b, err := json.Marshal(record.EnergyReport{Device: "cpu", Idle: &record.IdleBaseline{Seconds: 2, Unavailable: "the counter stalled"},
		Roofline: []record.EnergyRoofline{{DType: "fp32", Cases: 3, Unavailable: "too few cases"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"watts", "pj_", "relative_error", "balance"} {
		if strings.Contains(string(b), field) {
			t.Errorf("%s in %s", field, b)
		}
	}
}
