//go:build cuda && linux && cgo

package cuda_test

import (
	"errors"
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

// Two GPUs in one run, each in a worker of its own; the second is well, or lost.
func TestSeveralGPUsAreMeasuredInOneRun(t *testing.T) {
	t.Setenv("RIDGE_FAKE_DEVICES", "2")
	t.Setenv("RIDGE_FAKE_SMS", "1") // a short clock under load
	for _, lost := range []string{"", "1"} {
		if lost != "" {
			t.Setenv("RIDGE_FAKE_LOST", lost)
		}
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		ds, err := cuda.New().Devices()
		if err != nil || len(ds) != 2 || ds[0].Facts["pci"] == ds[1].Facts["pci"] {
			t.Fatal(ds, err)
		}
		var cfgs []campaign.Config
		for i := range ds {
			k, err := plan.FromID(op.Builtin(), strings.Replace(copyCase, "cuda:0", ds[i].ID, 1))
			if err != nil {
				t.Fatal(err)
			}
			k.Warmup, k.Trials = 1, 5
			cfgs = append(cfgs, campaign.Config{SkipPreflight: true, NoProbes: true, Affinity: "none", Accelerator: &ds[i], DataDir: t.TempDir(), Cases: []record.Case{k},
				Launch: runner.Process([]string{exe}, []string{workerEnv + "=1"}), EnergyOf: campaign.EnergyOptions{Meters: []power.Source{}},
				Plan: plan.Options{Device: ds[i].ID, Threads: 1, Quick: true, Ops: op.Builtin()}})
		}
		doc, err := campaign.RunEach(t.Context(), cfgs)
		var gone *campaign.DeviceError
		if (lost == "") != (err == nil) || lost != "" && (!errors.As(err, &gone) || gone.Device != "cuda:1" || !strings.Contains(err.Error(), "CUDA_ERROR_DEVICE_UNAVAILABLE (46)")) {
			t.Fatalf("lost %q: %v", lost, err)
		}
		want := map[string]bool{"cuda:0": true, "cuda:1": lost == ""}
		for _, r := range doc.Results {
			if !want[r.Device] || r.Status != record.OK || !strings.HasPrefix(r.ID, r.Device+"/") || r.Conditions.Board == nil {
				t.Errorf("lost %q: %s: %s (%s)", lost, r.ID, r.Status, r.Reason)
			}
			if b := r.Conditions.Board; b != nil && !strings.Contains(strings.Join(b.Beside, " "), "one of 2 devices") {
				t.Errorf("%s: the other device is not mentioned: %+v", r.ID, b)
			}
			delete(want, r.Device)
		}
		if want["cuda:0"] || want["cuda:1"] || len(doc.Devices) != 2 || doc.Devices[0].Facts["pci"] == doc.Devices[1].Facts["pci"] {
			t.Errorf("lost %q: no results of %v; devices %+v", lost, want, doc.Devices)
		}
	}
}
