//go:build cgo && linux

package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// A tool round the worker tells what it saw when the worker has ended: behind the last case, a case that was cut short, or one that hung.
func TestAToolRoundTheWorkerWritesItsReport(t *testing.T) {
	for _, tc := range []struct {
		name, kind string
		within     time.Duration // of a request; the hang's
		cancel     bool
	}{
		{"behind a case", "ok", time.Minute, false},
		{"behind a kernel that hangs", "hang", time.Second, false},
		{"when the run is ended in a case", "hang", time.Minute, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report")
			// The report says what came behind the worker's end: its words are the command's.
			tool := []string{"sh", "-c", `"$0" "$@"; sleep 0.3; echo "$1" >>"$REPORT"`}
			r := &runner.Runner{Launch: runner.Under(tool, []string{os.Args[0], "told"}, []string{"RIDGE_TEST_WORKER=1", "REPORT=" + report}),
				Deadline: func(_ runner.Request, _ record.Case, p *runner.Prepared) time.Duration {
					if p != nil {
						return tc.within
					}
					return time.Minute
				}}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if tc.cancel {
				time.AfterFunc(2*time.Second, stop)
			}
			c := faultCase(tc.kind)
			if tc.kind == "hang" {
				c.Program.Kernel = "fault_fp32_bad"
			}
			res, err := r.Run(ctx, c)
			if (err != nil) != tc.cancel {
				t.Fatal(err)
			}
			if want := map[string]record.Status{"ok": record.OK, "hang": record.TimedOut}[tc.kind]; !tc.cancel && res.Status != want && !(want == record.OK && res.Status.Counts()) {
				t.Errorf("%s (%s), want %s", res.Status, res.Reason, want)
			}
			r.Close()
			if b, err := os.ReadFile(report); err != nil || string(b) != "told\n" {
				t.Errorf("report %q: %v", b, err)
			}
		})
	}
}
