package campaign

import (
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// The document of a run on an accelerator names that device and its clock, and holds nothing
// against the host's CPU or memory.
func TestARunOnAnAcceleratorIsNotDescribedAsTheHostsCPU(t *testing.T) {
	b := &fakebackend.Backend{IdleGHz: 1.98, LoadedGHz: 1.83}
	cfg, _ := toy(t, b, t.TempDir())
	b.Platform = "toy"
	cfg.Launch = runner.InProcess(&runner.Server{Backends: []backend.Backend{b}, Ops: op.Builtin()})
	cfg.Plan.Device = "toy"
	cfg.Accelerator = &record.Device{ID: "toy", Platform: "toy", Name: "an accelerator", Memory: 1 << 30, Facts: map[string]string{"multiprocessors": "132"}}
	cfg.Plan.ProbesOnly = true
	doc := mustRun(t, cfg)
	if len(doc.Devices) != 1 {
		t.Fatalf("devices %+v", doc.Devices)
	}
	d := doc.Devices[0]
	if d.Platform != "toy" || d.Name != "an accelerator" || d.Facts["multiprocessors"] != "132" ||
		d.Facts["measured_clock_mhz"] != "1980" || d.Facts["measured_clock_under_load_mhz"] != "1830" {
		t.Errorf("device %+v", d)
	}
	if len(cfg.Accelerator.Facts) != 1 {
		t.Error("the caller's facts were changed")
	}
	if _, known := doc.Host.CPU.Clock.IdleGHz.Get(); known {
		t.Error("the accelerator's clock is in the document as the CPU's")
	}
	if len(doc.Ceilings) != 0 {
		t.Errorf("ceilings %+v", doc.Ceilings)
	}
	if w := strings.Join(doc.Summary.Warnings, "\n"); !strings.Contains(w, "the ceilings of toy are not probed") {
		t.Errorf("warnings %q", w)
	}
}
