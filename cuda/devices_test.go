//go:build cuda && linux && cgo

package cuda_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ridge/cuda"
	"ridge/goharness/campaign"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/power"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// gpus are the fake devices of this process, and a configuration that measures the same copy on each, by workers with a further environment.
func gpus(t *testing.T, n int, env func(device int) []string) (ds []record.Device, cfgs []campaign.Config) {
	t.Helper()
	t.Setenv("RIDGE_FAKE_DEVICES", strconv.Itoa(n))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if ds, err = cuda.New().Devices(); err != nil || len(ds) != n || ds[0].Facts["pci"] == ds[1].Facts["pci"] {
		t.Fatal(ds, err)
	}
	dir := t.TempDir()
	for i := range ds {
		k, err := plan.FromID(op.Builtin(), strings.Replace(copyCase, "cuda:0", ds[i].ID, 1))
		if err != nil {
			t.Fatal(err)
		}
		k.Warmup, k.Trials = 1, 5
		with := []string{workerEnv + "=1"}
		if env != nil {
			with = append(with, env(i)...)
		}
		cfgs = append(cfgs, campaign.Config{SkipPreflight: true, NoProbes: true, Affinity: "none", Accelerator: &ds[i], DataDir: dir, Cases: []record.Case{k},
			Launch: runner.Process([]string{exe}, with), EnergyOf: campaign.EnergyOptions{Meters: []power.Source{}},
			Plan: plan.Options{Device: ds[i].ID, Threads: 1, Quick: true, Ops: op.Builtin()}})
	}
	return ds, cfgs
}

// Two GPUs in one run, each in a worker of its own; the second is well, or lost.
func TestSeveralGPUsAreMeasuredInOneRun(t *testing.T) {
	t.Setenv("RIDGE_FAKE_SMS", "1") // a short clock under load
	for _, lost := range []string{"", "1"} {
		if lost != "" {
			t.Setenv("RIDGE_FAKE_LOST", lost)
		}
		_, cfgs := gpus(t, 2, nil)
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

// measuring is a worker that is asked to measure when all of them are.
type measuring struct {
	runner.Worker
	t     *testing.T
	asked *sync.WaitGroup
	once  sync.Once
}

func (m *measuring) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	if q.Verb == runner.VerbMeasure {
		m.once.Do(func() {
			m.asked.Done()
			all := make(chan struct{})
			go func() { m.asked.Wait(); close(all) }()
			select {
			case <-all:
			case <-time.After(time.Minute):
				m.t.Error("the workers are not all prepared at the same time")
			}
		})
	}
	return m.Worker.Do(ctx, q)
}

// GPUs at the same time: all workers are alive and prepared when the first is asked to measure.
func TestConcurrentGPUsAreMeasuredAtTheSameTime(t *testing.T) {
	t.Setenv("RIDGE_FAKE_SMS", "1")
	for _, n := range []int{2, 3} {
		ds, cfgs := gpus(t, n, nil)
		var asked sync.WaitGroup
		asked.Add(n)
		for i := range cfgs {
			launch := cfgs[i].Launch
			cfgs[i].Concurrent = true
			cfgs[i].Launch = func(ctx context.Context) (runner.Worker, error) {
				w, err := launch(ctx)
				return &measuring{Worker: w, t: t, asked: &asked}, err
			}
		}
		doc, err := campaign.RunEach(t.Context(), cfgs)
		if err != nil || len(doc.Results) != n || len(doc.Devices) != n || !doc.Summary.Complete {
			t.Fatalf("%v, %d results, %+v", err, len(doc.Results), doc.Summary)
		}
		for _, r := range doc.Results {
			var others []string
			for _, d := range ds {
				if d.ID != r.Device {
					others = append(others, d.ID)
				}
			}
			if got := r.Conditions.With(); r.Status != record.OK || !slices.Equal(got, others) {
				t.Errorf("%s: %s (%s) beside %v", r.ID, r.Status, r.Reason, got)
			}
		}
	}
}

// A kernel that faults on one GPU, and a GPU that cannot be opened, cost the others nothing.
func TestAConcurrentGPUThatFailsLeavesTheOthers(t *testing.T) {
	t.Setenv("RIDGE_FAKE_SMS", "1")
	t.Setenv("RIDGE_FAKE_LOST", "2")
	_, cfgs := gpus(t, 3, func(device int) []string {
		if device == 1 {
			return []string{"RIDGE_FAKE_FAIL=illegal:" + copyEntry + ":1"}
		}
		return nil
	})
	for i := range cfgs {
		cfgs[i].Concurrent = true
	}
	doc, err := campaign.RunEach(t.Context(), cfgs)
	var gone *campaign.DeviceError
	if !errors.As(err, &gone) || gone.Device != "cuda:2" || doc.Summary.Complete {
		t.Fatalf("%v, %+v", err, doc.Summary)
	}
	want := map[string]record.Status{"cuda:0": record.OK, "cuda:1": record.Crashed}
	for _, r := range doc.Results {
		if r.Status != want[r.Device] || r.Device == "cuda:1" && !strings.Contains(r.Reason, "CUDA_ERROR_ILLEGAL_ADDRESS") {
			t.Errorf("%s: %s (%s)", r.ID, r.Status, r.Reason)
		}
		if r.Device == "cuda:0" && len(r.Conditions.With()) != 0 { // the other never came to its measurement
			t.Errorf("%s beside %v", r.ID, r.Conditions.With())
		}
		delete(want, r.Device)
	}
	if len(want) != 0 {
		t.Errorf("no result of %v", want)
	}
}
