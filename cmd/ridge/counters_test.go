//go:build linux && cgo && (amd64 || arm64)

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/power"
	"ridge/goharness/runner"
	"ridge/internal/fakeperf"
)

// risingCounter rises by 1000 with each reading.
type risingCounter uint64

func (c *risingCounter) Read() (uint64, error) { *c += 1000; return uint64(*c), nil }
func (c *risingCounter) Close() error          { return nil }

// fakeCounters: the memory controllers are those under the folder that fakeCountersEnv names; the processor counts 1000 instructions at each reading; cycles, which would lead the group, and misses are refused.
func fakeCounters() {
	controllers = func() (runner.Traffic, error) {
		return openTraffic(power.Env{Root: os.Getenv(fakeCountersEnv), Perf: func(uint32, uint64, int) (power.PerfCounter, error) { return new(risingCounter), nil }})
	}
	fakeperf.Install(fakeperf.Script{PerMille: 1000, Events: []fakeperf.Event{
		{Type: 0, Config: 0, Err: syscall.EBUSY}, {Type: 0, Config: 1, Step: 1000}, {Type: 0, Config: 3, Err: syscall.ENOENT}}})
}

// From the counters in the worker to the sample types of the file and the lines that are printed.
func TestEveryHardwareEventIsASampleTypeOrALineThatSaysWhyNot(t *testing.T) {
	root := t.TempDir()
	t.Setenv(fakeCountersEnv, root)
	dir := filepath.Join(root, "sys/bus/event_source/devices/amd_umc_0") // one controller, of two sockets
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"type": "31\n", "cpumask": "0,16\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
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
	var ticks, counted, dram int64
	for _, s := range p.Sample {
		ticks += s.Value[0]
		counted += s.Value[column["instructions"]]
		if n := s.Value[column[backend.DRAMBytes]]; n != 0 && s.Value[0] != 0 {
			t.Errorf("%d bytes of the memory controllers at an instruction", n)
		}
		dram += s.Value[column[backend.DRAMBytes]]
	}
	if calls := (dram + 1000) / (2 * 1000 * 64); len(column) == 4 && (calls < 1 || dram < calls*2*1000*64-calls || dram > calls*2*1000*64) {
		t.Errorf("%d bytes moved: expected 128000 with each call", dram)
	}
	if len(column) != 4 || column[backend.DRAMBytes] == 0 || column["instructions"] == 0 {
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
