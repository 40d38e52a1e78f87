//go:build cuda && linux && cgo

package cuda_test

import (
	"os"
	"strings"
	"testing"

	"ridge/cuda"
	"ridge/goharness/campaign"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/power"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// calibrate runs a quick campaign of some operations on the device of the tests, of little memory: nothing is DRAM-sized.
func calibrate(t *testing.T, operations ...string) record.Calibration {
	t.Helper()
	t.Setenv("RIDGE_FAKE_MEMORY", "25165824")
	t.Setenv("RIDGE_FAKE_SMS", "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ds, err := cuda.New().Devices()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := campaign.Run(t.Context(), campaign.Config{SkipPreflight: true, Affinity: "none", Accelerator: &ds[0],
		Launch: runner.Process([]string{exe}, []string{workerEnv + "=1"}), EnergyOf: campaign.EnergyOptions{Meters: []power.Source{}},
		Plan: plan.Options{Device: "cuda:0", Threads: 1, Quick: true, Ops: op.Builtin(), Operations: operations, Precisions: []record.DType{record.FP32},
			Peaks: campaign.Peaks(cuda.New().Kernels())}})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestACalibrationProbesTheDevicesCeilings(t *testing.T) {
	if testing.Short() {
		t.Skip("it probes for a minute in the CPU model")
	}
	doc := calibrate(t, "axpy")
	got := map[string]record.Ceiling{}
	for _, c := range doc.Ceilings {
		got[strings.Join(strings.Fields(strings.Join([]string{c.Kind, c.Level, c.ISA, string(c.DType), c.Access}, " ")), " ")] = c
	}
	const unmeasured = -1                         // rows that say why
	for name, theory := range map[string]float64{ // in the ceiling's unit; 0: measured only
		"compute simt fp64": 128 * 1.98, "compute simt fp32": 256 * 1.98, "compute simt fp16": 512 * 1.98, "compute simt int8": 0, "compute ex2 fp32": 16 * 1.98,
		"compute mma fp64": 256 * 1.98, "compute mma tf32": 2048 * 1.98, "compute mma fp16": 4096 * 1.98, "compute mma bf16": 4096 * 1.98,
		"compute mma int8": 8192 * 1.98, "compute mma u8s8": 8192 * 1.98,
		"bandwidth L2 read": 0, "bandwidth L2 write": 0, "bandwidth L2 nt_write": 0, "bandwidth L2 copy": 0, "bandwidth L2 triad": 0,
		"bandwidth L1 read": 0, "bandwidth shared read": 128 * 1.98, "latency L1": 0, "latency L2": 0, "launch": 0, "launch graph": 0, "launch persistent": 0, "launch priority": 0,
		"bandwidth host h2d": 0, "bandwidth host d2h": 0, "latency host h2d": 0, "latency host d2h": 0,
		"compute tensor 2:4 sparse bf16": unmeasured, "bandwidth DRAM read": unmeasured,
	} {
		c, there := got[name]
		if !there {
			t.Errorf("%s: no such ceiling", name)
			continue
		}
		if measured := c.Measured.Value > 0; measured != (theory != unmeasured) || !measured && c.Measured.Unavailable == "" {
			t.Errorf("%s: measured %+v", name, c.Measured)
		}
		if theory != unmeasured && (c.Theoretical.Value < theory*0.999 || c.Theoretical.Value > theory*1.001) {
			t.Errorf("%s: theoretical %+v, want %v", name, c.Theoretical, theory)
		}
		if theory > 0 && (c.Theoretical.Inputs["clock_ghz"] != 1.98 || c.Kind == record.CeilingCompute && (c.Held == nil || c.Held.ClockGHz <= 0 || c.Held.Source == "")) {
			t.Errorf("%s: the clock assumed %v, held %+v", name, c.Theoretical.Inputs, c.Held)
		}
		if c.Diagnosis == "" || c.Theoretical.Value == 0 && c.Theoretical.Unavailable == "" {
			t.Errorf("%s: %+v, %q", name, c.Theoretical, c.Diagnosis)
		}
	}
	beside := 0
	for _, r := range doc.Results {
		if r.Status == record.Invalid || r.Status == record.Wrong || r.Status == record.Crashed {
			t.Errorf("%s: %s: %s", r.ID, r.Status, r.Reason)
		}
		if r.Status.Counts() && r.Conditions.Board == nil {
			t.Errorf("%s: nothing is said of the device's sensors", r.ID)
		}
		if r.Op == "axpy" && r.Status.Counts() && r.Ceiling.MemoryLevel == "L2" && r.Ceiling.Fraction > 0 && r.Ceiling.Nominal != nil && r.Ceiling.Held != nil {
			beside++
		}
	}
	if beside == 0 {
		t.Error("no result stands beside the ceilings, the nominal clock and the clock held")
	}
	if w := strings.Join(doc.Summary.Warnings, "; "); !strings.Contains(w, "is simulated") {
		t.Errorf("warnings %q", w)
	}
}
