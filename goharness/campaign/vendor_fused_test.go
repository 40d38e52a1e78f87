package campaign

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// The libraries' fused primitives of long launches are figures that verdicts do not wait for: they come behind all visits, where time is left.
func TestFusedPrimitivesOfLongLaunchesComeLast(t *testing.T) {
	for name, c := range map[string]struct {
		times  float64
		target time.Duration
		last   bool // the library's worker measures them behind everything else
		status record.Status
	}{
		"short launches":                 {1, 0, false, record.OK},
		"short launches, no time":        {1, time.Nanosecond, false, record.OK},
		"long launches":                  {100, 0, true, record.OK},
		"long launches, no time is left": {100, time.Nanosecond, false, record.Skipped},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, _, workers := withLibrary(t, t.TempDir(), librarian{times: c.times}, "acme packed")
			cfg.Target = c.target
			doc := mustRun(t, cfg)
			for _, r := range doc.Results {
				if len(r.VendorTried) != 1 || r.VendorTried[0].Status != c.status || (r.VendorFused != nil) != (c.status == record.OK) ||
					strings.Contains(r.VendorTried[0].Reason, "--budget") != (c.status == record.Skipped) {
					t.Errorf("%s: %+v, tried %+v", r.ID, r.VendorFused, r.VendorTried)
				}
			}
			var measured []string
			for _, w := range *workers {
				if slices.Contains(*w, "acme packed") {
					measured = *w
				}
			}
			fused := slices.DeleteFunc(slices.Clone(measured), func(s string) bool { return s != "acme fused" })
			if want := map[record.Status]int{record.OK: 2}[c.status]; len(fused) != want {
				t.Fatalf("the library measured %q, want %d fused primitives", measured, want)
			}
			if last := len(fused) == 2 && slices.Equal(measured[len(measured)-2:], fused); last != c.last {
				t.Errorf("the library measured %q: fused primitives last: %v, want %v", measured, last, c.last)
			}
		})
	}
}

// A library that was set aside before its turn came is among those tried, for that reason.
func TestFusedPrimitivesOfALibraryThatWasSetAsideAreSkipped(t *testing.T) {
	cfg, _, _ := withLibrary(t, t.TempDir(), librarian{times: 100}, "acme packed")
	launch := cfg.Launch
	cfg.Launch = func(ctx context.Context) (runner.Worker, error) {
		w, err := launch(ctx)
		return &crashing{Worker: w}, err
	}
	for _, r := range mustRun(t, cfg).Results {
		if len(r.VendorTried) != 1 || r.VendorTried[0].Status != record.Skipped || !strings.Contains(r.VendorTried[0].Reason, "set aside in this run: crashed") {
			t.Errorf("%s: tried %+v", r.ID, r.VendorTried)
		}
	}
}
