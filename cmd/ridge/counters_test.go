//go:build linux && cgo && (amd64 || arm64)

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ridge/internal/fakeperf"
)

// fakeCounters: the processor counts 1000 instructions at each reading; cycles, which would lead the group, and misses are refused.
func fakeCounters() {
	fakeperf.Install(fakeperf.Script{PerMille: 1000, Events: []fakeperf.Event{
		{Type: 0, Config: 0, Err: syscall.EBUSY}, {Type: 0, Config: 1, Step: 1000}, {Type: 0, Config: 3, Err: syscall.ENOENT}}})
}

// From the counters in the worker to the sample types of the file and the lines that are printed.
func TestEveryHardwareEventIsASampleTypeOrALineThatSaysWhyNot(t *testing.T) {
	t.Setenv(fakeCountersEnv, "1")
	out := filepath.Join(t.TempDir(), "n.pb.gz")
	code, _, stderr := ridge(t, "profile", "--native", "gemm", "--m", "256", "--n", "256", "--k", "256", "--precision", "fp32", "--threads", "1", "--trials", "200", "--output", out, "--data-dir", t.TempDir())
	if code != exitOK && code != exitFault { // a busy machine may make the result invalid
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	p := readPprof(t, out)
	column := map[string]int{}
	for i, x := range p.SampleType {
		column[x.Type] = i
	}
	var ticks, counted int64
	for _, s := range p.Sample {
		ticks += s.Value[0]
		counted += s.Value[column["instructions"]]
	}
	if len(column) != 3 || column["instructions"] == 0 {
		t.Fatalf("sample types %v", p.SampleType)
	}
	// What came between a tick and one before it within the samples: 1000 each, of most ticks.
	if counted%1000 != 0 || counted < 1000 || counted > 1000*ticks {
		t.Errorf("%d instructions of %d ticks", counted, ticks)
	}
	for _, want := range []string{"not counted: cycles: perf_event_open: another user", "not counted: llc_misses: perf_event_open: this processor shows no such counter"} {
		n := 0
		for _, line := range lines(stderr) {
			if strings.HasPrefix(line, want) {
				n++
			}
		}
		if n != 1 || !strings.Contains(strings.Join(p.Comments, "\n"), want) {
			t.Errorf("%d lines %q in\n%s", n, want, stderr)
		}
	}
}
