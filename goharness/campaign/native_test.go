//go:build cgo && linux

package campaign

import (
	"context"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"ridge/goharness/backend"
	"ridge/goharness/ceiling"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
)

func TestATinyCampaignOnThisMachine(t *testing.T) {
	host := NewWorkerHost(machine.Source{})
	levels := []ceiling.Level{{Name: "L1", Capacity: 32 << 10}}
	cfg := Config{SkipPreflight: true, DataDir: t.TempDir(), Command: []string{"test"}, Affinity: "scatter",
		Launch: runner.InProcess(&runner.Server{Backends: []backend.Backend{native.New()}, Ops: op.Builtin(), Host: host, Affinity: "scatter", Priority: "inherited"}),
		// Beside the raised workers of other tests this one, which is not raised, has a tenth of a CPU.
		Deadline: func(runner.Request, record.Case, *runner.Prepared) time.Duration { return 10 * time.Minute },
		Plan: plan.Options{Device: "cpu", Threads: 1, Quick: true, Ops: op.Builtin(), Levels: levels, Levels1: levels,
			Peaks: []plan.Peak{{ISA: "portable", DType: record.FP32}}}}
	// The cold one is large enough to rotate over twice any last-level cache within the sets that a rotation may have.
	for _, id := range []string{"cpu/gemm/fp32/m=32,n=32,k=32/threads=1/hot", "cpu/stream_copy/fp32/n=1000/threads=1/hot", "cpu/transpose/fp32/rows=333,cols=1025/threads=1/cold"} {
		c, err := plan.FromID(cfg.Plan.Ops, id)
		if err != nil {
			t.Fatal(err)
		}
		c.Quick, c.BudgetNS = true, 20e6
		cfg.Cases = append(cfg.Cases, c)
	}
	cfg.ProbesFor = cfg.Cases
	doc := mustRun(t, cfg)
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Validate(data); err != nil {
		t.Fatal(err)
	}
	if len(doc.Ceilings) != 3+len(plan.Accesses) { // one peak, the launch, the bandwidths and an update of the cache
		t.Errorf("%d ceilings", len(doc.Ceilings))
	}
	for _, k := range cfg.Cases {
		r := find(t, doc, k.ID)
		// Neighbours may have slowed the one portable probe, so the gate's verdict is not asked for here.
		if r.Time == nil || r.Verification == nil || !r.Verification.Passed || !r.Verification.Repeatable || r.Kernel == "" {
			t.Fatalf("%s: %s %s", r.ID, r.Status, r.Reason)
		}
		c := r.Conditions
		if c == nil || c.Threads != 1 || len(c.CPUs) != 1 || c.Compiler == "" || c.Priority != "inherited" || c.PageSize == "" {
			t.Errorf("%s: conditions %+v", r.ID, c)
		}
		for name, f := range map[string]record.Fact[float64]{"before": c.ClockBeforeGHz, "after": c.ClockAfterGHz} {
			if v, ok := f.Get(); !ok || v < 0.2 || v > 10 {
				t.Errorf("%s: clock %s %+v", r.ID, name, f)
			}
		}
		if r.Mode == record.Cold && c.BufferSets < 2 {
			t.Errorf("%s rotates %d sets", r.ID, c.BufferSets)
		}
	}
}

// Traps 11 and 22: aligned buffers, and pages touched before the window opens.
func TestTimedWindowsHaveAlignedBuffersAndNoPageFaults(t *testing.T) {
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	const elements = 4 << 20 // 16 MiB per array, 48 MiB in all
	o, err := op.Builtin().New("stream_triad", map[string]string{"n": "4194304"}, record.FP32)
	if err != nil {
		t.Fatal(err)
	}
	e, err := dev.Prepare(op.Single(o), backend.PrepareOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Release() }()
	if err := e.Fill(false, 0); err != nil {
		t.Fatal(err)
	}
	for _, x := range o.Tensors() {
		mem, _, _, err := e.ReadRaw(x.Name)
		if err != nil {
			t.Fatal(err)
		}
		if at := uintptr(unsafe.Pointer(&mem[0])); at%64 != 0 {
			t.Errorf("tensor %s begins at %#x, which is no multiple of 64", x.Name, at)
		}
	}
	faults := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return u.Minflt + u.Majflt
	}
	before := faults()
	if _, err := e.Measure(context.Background(), 1, 3); err != nil {
		t.Fatal(err)
	}
	if n, pages := faults()-before, int64(3*elements*4/4096); n > pages/100 {
		t.Errorf("%d page faults in a window over %d pages", n, pages)
	}
}
