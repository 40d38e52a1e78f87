package toyview_test

import (
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
	"ridge/internal/toyview"
)

func TestTheToyViewShowsEveryCase(t *testing.T) {
	doc := recordtest.Sample()
	var b strings.Builder
	if err := toyview.View().Write(&b, []record.Calibration{doc}); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Results {
		if !strings.Contains(b.String(), r.ID+"\t"+string(r.Status)+"\n") {
			t.Errorf("%s is missing", r.ID)
		}
	}
}
