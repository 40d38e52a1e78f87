package campaign

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/record"
	"ridge/internal/fakebackend"
)

// A case that the host ran with both CPUs on one core is measured again; one that it always runs so says it.
func TestAResultMeasuredOnOneCoreIsMeasuredAgain(t *testing.T) {
	ids := copies(leastBarriers + 4)
	marked := ids[leastBarriers+1]
	for _, tc := range []struct {
		name   string
		marked string
		shared int     // runs of the marked case on one core
		slower float64 // together over alone there
		full   bool
		again  int
		warned bool
	}{
		{"never", marked, 0, 2, false, 0, false},
		{"once", marked, 1, 2, false, 1, false},
		{"four times", marked, 4, 2, false, 4, false},
		{"always", marked, 100, 1.9, true, mostReplaced, true},
		{"always, and the run has no time for the last wait", marked, 100, 2, false, mostReplaced - 2, true},
		{"before anything is known", ids[1], 1, 2, false, 0, false},
		{"nearer each other, each on its own core", marked, 100, 1.05, false, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id, calls := "", 0 // the case in flight and its barriers: one before and one after each run
			onOne := func(run int) bool { return id == tc.marked && run <= tc.shared }
			b := &fakebackend.Backend{Barrier: func() float64 {
				calls++
				switch run, before := (calls+1)/2, calls%2 == 1; {
				case onOne(run) && before:
					return 35
				case id == ids[leastBarriers+2]:
					return 330 // further apart: that may last, and is no reason
				}
				return 75 + float64(calls%5)
			}, Together: func() float64 {
				if onOne((calls + 1) / 2) {
					return tc.slower
				}
				return 1.02
			}}
			cfg, v := toy(t, b, "", ids...)
			cfg.NoProbes, cfg.Plan.Quick = true, !tc.full
			var waits []time.Duration
			cfg.Sleep = func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}
			v.onStart = func(k record.Case) { id, calls = k.ID, 0 }
			doc := mustRun(t, cfg)
			again := 0
			for _, w := range v.warned {
				if strings.Contains(w, "on one core during "+tc.marked+": measuring it again") {
					again++
				}
			}
			if again != tc.again || len(v.warned) != again {
				t.Errorf("measured again %d times, want %d: %q", again, tc.again, v.warned)
			}
			want := []time.Duration{0, firstWait, 2 * firstWait, 4 * firstWait, mostWait, mostWait}[:tc.again]
			if !slices.Equal(waits, want) {
				t.Errorf("waited %v, want %v", waits, want)
			}
			for _, r := range doc.Results {
				warned := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "on one core while this was measured") })
				if warned != (tc.warned && r.ID == tc.marked) {
					t.Errorf("%s has warnings %q", r.ID, r.Warnings)
				}
			}
		})
	}
}
