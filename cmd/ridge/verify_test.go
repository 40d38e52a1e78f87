package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ridge/goharness/record"
)

func TestAKernelIsVerifiedInAllShapesOfItsOps(t *testing.T) {
	code, out, stderr := ridge(t, "verify", "--kernel", "peak_fp64_portable", "--quiet")
	if code != 0 || !strings.Contains(out, "1 kernels on cpu: 1 passed, 0 failed, 0 not verified; 1 cases") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
}

// One failure of several cases spoils a kernel; one that no shape suited is no failure and has not passed.
func TestAKernelThatFailsOrNeverRanDidNotPass(t *testing.T) {
	result := func(kernel string, s record.Status, reason string) record.Result {
		return record.Result{ID: "cuda:0/x", KernelRequested: kernel, Status: s, Reason: reason}
	}
	failed, unsuited := unverified([]record.Result{
		result("good", record.OK, ""), result("good", record.Unsupported, "not this shape"),
		result("bad", record.OK, ""), result("bad", record.Wrong, "y[3]\nis 4"), result("bad", record.Crashed, "later"),
		result("idle", record.Unsupported, "no shape"), result("idle", record.Skipped, "memory"),
		result("dead", record.TimedOut, "killed"), result("noisy", record.Noisy, "")})
	if got, want := strings.Join(failed, "|"), "bad: cuda:0/x: wrong: y[3] is 4|dead: cuda:0/x: timed_out: killed"; got != want {
		t.Errorf("failed %q, want %q", got, want)
	}
	if got, want := strings.Join(unsuited, "|"), "idle: cuda:0/x: unsupported: no shape"; got != want {
		t.Errorf("unsuited %q, want %q", got, want)
	}
}

// A kernel of a GPU that takes no shape is nobody's to have verified; one of the CPU may be made for arrays beyond the cache.
func TestKernelsOfGPUsMustTakeAShape(t *testing.T) {
	var results []record.Result
	for _, device := range []string{"cpu", "cuda:0"} {
		results = append(results, record.Result{ID: device + "/x", Device: device, KernelRequested: "idle", Status: record.Unsupported, Reason: "no shape"})
	}
	if got := strings.Join(mustTake(results), "|"); got != "idle: cuda:0/x: unsupported: no shape" {
		t.Errorf("%q", got)
	}
	if got := mustTake(results[:1]); got != nil {
		t.Errorf("of the CPU alone: %q", got)
	}
}

func TestVerificationUnderATool(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	tool := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\nout=$1; shift; \"$@\"; echo \"$2 ended\" >>\"$out\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := ridge(t, "verify", "--kernel", "peak_fp64_portable", "--quiet", "--under", tool+" "+report)
	if code != 0 || !strings.Contains(out, "1 passed, 0 failed") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if b, err := os.ReadFile(report); err != nil || string(b) != "worker ended\n" {
		t.Errorf("report %q: %v", b, err)
	}
	for _, bad := range []string{"", " ", "/nonexistent/tool --flag"} {
		if code, _, stderr := ridge(t, "verify", "--kernel", "peak_fp64_portable", "--quiet", "--under", bad); code != 2 || !strings.Contains(stderr, "--under") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("--under %q: exit code %d: %s", bad, code, stderr)
		}
	}
}
