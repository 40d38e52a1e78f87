package campaign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/ceiling"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// toyOps are all that the toy's probes and cases need; no dispatch, no chase.
func toyOps() *op.Registry {
	return op.NewRegistry(op.GemmSpec(), op.BandwidthSpec(), op.PeakSpec()).With(op.MemorySpecs()...).With(op.StreamSpecs()...)
}

// gbps and gflops of the fictitious machine: every launch takes the longer of both.
const (
	gbps   = 50.0
	gflops = 100.0
)

func toyNS(p op.Program, _ string) float64 {
	return max(1, float64(p.Bytes())/gbps, float64(p.FLOPs())/gflops)
}

// toy is a campaign over the fake backend on a fictitious machine without /sys and /proc:
// 4 KiB L1, 16 KiB L2, 64 KiB L3.
func toy(t testing.TB, b *fakebackend.Backend, dataDir string, ids ...string) (Config, *view) {
	if t != nil {
		t.Helper()
	}
	b.Platform = "cpu"
	if b.NS == nil {
		b.NS = toyNS
	}
	levels := []ceiling.Level{{Name: "L1", Capacity: 4 << 10}, {Name: "L2", Capacity: 16 << 10}, {Name: "L3", Capacity: 64 << 10}, {Name: "DRAM"}}
	v := &view{}
	cfg := Config{DataDir: dataDir, SkipPreflight: true, View: v, Launch: runner.InProcess(toyServer(b)), Command: []string{"ridge", "calibrate"},
		Tool:   record.Tool{Name: "ridge", Backends: []string{"cpu"}},
		Source: machine.Source{Root: filepath.Join(os.TempDir(), "ridge-no-such-root"), OS: "linux", Arch: "amd64", CPUID: func() machine.CPUID { return machine.CPUID{Vendor: "toy"} }, Affinity: func() ([]int, error) { return []int{0}, nil }},
		Plan: plan.Options{Device: "cpu", Threads: 1, Quick: true, Ops: toyOps(), Levels: levels, Levels1: levels, Memory: 128 << 10, // so that the sweep of the toy is short
			Peaks: []plan.Peak{{ISA: "portable", DType: record.FP32}}}}
	for _, id := range ids {
		c, err := plan.FromID(cfg.Plan.Ops, id)
		if err != nil {
			panic(err)
		}
		c.Quick, c.BudgetNS = true, 20e6
		cfg.Cases = append(cfg.Cases, c)
	}
	return cfg, v
}

func toyServer(b *fakebackend.Backend) *runner.Server {
	return &runner.Server{Backends: []backend.Backend{b}, Ops: toyOps()}
}

// copies are n small cases of different sizes.
func copies(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("cpu/stream_copy/fp32/n=%d/threads=1/hot", 100+i))
	}
	return out
}

// view keeps what it hears.
type view struct {
	mu      sync.Mutex
	results []string
	started []string
	warned  []string
	onStart func(record.Case)
}

func (v *view) Plan(int, int)  {}
func (v *view) Round(int, int) {}
func (v *view) Started(c record.Case) {
	v.started = append(v.started, c.ID)
	if v.onStart != nil {
		v.onStart(c)
	}
}
func (v *view) Result(r record.Result) { v.results = append(v.results, r.ID) }
func (v *view) Warn(f string, a ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.warned = append(v.warned, fmt.Sprintf(f, a...))
}

func (v *view) heard(text string) bool {
	for _, w := range v.warned {
		if strings.Contains(w, text) {
			return true
		}
	}
	return false
}

// find the result of a case that is no probe.
func find(t *testing.T, doc record.Calibration, id string) record.Result {
	t.Helper()
	for _, r := range doc.Results {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("the document has no result %s", id)
	return record.Result{}
}

func mustRun(t *testing.T, cfg Config) record.Calibration {
	t.Helper()
	doc, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
