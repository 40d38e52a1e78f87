package report

import (
	"strings"
	"testing"

	"ridge/goharness/record"
)

// A launch that was verified and timed by one sample has no figure in any view.
func TestAVerificationHasNoFigureInAnyView(t *testing.T) {
	doc := sample(t)
	r := &doc.Results[0]
	if performance(r) == none || latency(r) == none || half(r) == none || performanceOf(r).value == 0 {
		t.Fatal("the sample's first result has no figures to leave out")
	}
	r.UseCase = record.UseCaseVerification
	for what, got := range map[string]string{"performance": performance(r), "latency": latency(r), "interval": half(r)} {
		if got != none {
			t.Errorf("%s %q", what, got)
		}
	}
	if f := performanceOf(r); f != (figure{}) {
		t.Errorf("on the page %+v", f)
	}
	var b strings.Builder
	benchLines(&b, r)
	if b.Len() > 0 {
		t.Errorf("benchfmt %q", b.String())
	}
	if s := record.Summarize(doc.Results[:1]).Suites[r.Suite]; s.BestGFLOPS != 0 || s.BestBandwidthGBps != 0 {
		t.Errorf("a best of the suite: %+v", s)
	}
}
