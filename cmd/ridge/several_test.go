//go:build linux && cgo

package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ridge/goharness/history"
	"ridge/goharness/measure"
	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
	"ridge/goharness/record"
)

func TestSeveralDevicesEachHaveAFusionProfile(t *testing.T) {
	toys(t, 2)
	dir := t.TempDir()
	args := []string{"fusion", "--device", "toy:0,toy:1", "--patterns", "Add_ReLU", "--precision", "fp32", "--quick", "--trials", "3", "--data-dir", dir}
	code, stdout, stderr := ridge(t, append(args, "--output", filepath.Join(dir, "mine", "profiles.json"))...)
	if code != exitOK || strings.Index(stdout, "toy:0 (toy)") > strings.Index(stdout, "toy:1 (toy)") || !strings.Contains(stdout, "toy:0 (toy)") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	for _, device := range []string{"toy:0", "toy:1"} {
		name := filepath.Join(dir, "mine", "profiles."+strings.ReplaceAll(device, ":", "-")+".json")
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := record.ReadFusion(f)
		if err != nil || p.Device.ID != device || len(p.Patterns) != 1 || !p.Complete {
			t.Errorf("%s: %v, of %s, %d patterns", name, err, p.Device.ID, len(p.Patterns))
		}
		for _, s := range p.Patterns[0].Shapes {
			if !strings.HasPrefix(s.CaseID, device+"/") {
				t.Errorf("%s has %s", name, s.CaseID)
			}
		}
		if !strings.Contains(stderr, "document: "+name) {
			t.Errorf("where %s is was not said: %s", name, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "mine", "profiles.json")); err == nil {
		t.Error("there is a profile of no device")
	}
	// Both can be read back together, and from the history.
	code, stdout, stderr = ridge(t, "report", filepath.Join(dir, "mine", "profiles.toy-0.json"), filepath.Join(dir, "mine", "profiles.toy-1.json"), "--format", "csv")
	if code != exitOK {
		t.Errorf("report: exit code %d: %s%s", code, stdout, stderr)
	}
	doc, _, _ := ridge(t, "history", "show", "latest", "--data-dir", dir)
	if doc != exitOK {
		t.Errorf("history show: exit code %d", doc)
	}
	// Without --output they lie beside the journal.
	if code, _, stderr = ridge(t, args...); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "runs", "*-fusion.toy-?.json")); len(found) != 2 {
		t.Errorf("profiles %v: %s", found, stderr)
	}
	// Where journals and profiles are all that is left, the history takes both in.
	if err := os.Remove(filepath.Join(dir, "history.db")); err != nil {
		t.Fatal(err)
	}
	journals, _ := filepath.Glob(filepath.Join(dir, "runs", "*.jsonl"))
	taken, err := history.FromFiles(journals[len(journals)-1])
	if err != nil || len(taken.FusionProfiles) != 2 {
		t.Errorf("of %v: %d profiles, %v", journals, len(taken.FusionProfiles), err)
	}
	for _, bad := range [][]string{{"--output", "-"}, {"--json"}, {"--output", "/dev/null"}} {
		code, stdout, stderr := ridge(t, append(args, bad...)...)
		if code != exitUsage || len(lines(stderr)) != 1 || stdout != "" || !strings.Contains(stderr, bad[0]) || !strings.Contains(stderr, "a file of its own") {
			t.Errorf("%v: exit code %d: %s%s", bad, code, stdout, stderr)
		}
	}
}

func TestSeveralDevicesAreProfiledInOneFile(t *testing.T) {
	toys(t, 2)
	dir := t.TempDir()
	out := filepath.Join(dir, "both.pb.gz")
	code, stdout, stderr := ridge(t, "profile", "gemm", "--m", "8", "--n", "8", "--k", "8", "--precision", "fp32", "--quick", "--device", "toy:0,toy:1", "--output", out, "--data-dir", dir)
	if code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	p, err := readProfile(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	devices := map[string]int{}
	for _, s := range p.Sample {
		for _, d := range s.Label["device"] {
			devices[d]++
		}
	}
	if devices["toy:0"] == 0 || devices["toy:0"] != devices["toy:1"] {
		t.Errorf("samples by device: %v", devices)
	}
}

func TestSeveralDevicesAreVerifiedOneAfterTheOther(t *testing.T) {
	failed, _ := unverified([]record.Result{
		{ID: "cuda:0/x", Device: "cuda:0", KernelRequested: "k", Status: record.OK},
		{ID: "cuda:1/x", Device: "cuda:1", KernelRequested: "k", Status: record.Wrong, Reason: "y[3] is 4"},
	})
	if got := strings.Join(failed, "|"); got != "k: cuda:1/x: wrong: y[3] is 4" {
		t.Errorf("failed %q", got)
	}
}

// Each device has its own meter and its own trace.
func TestSeveralDevicesEachHaveTheirEnergy(t *testing.T) {
	if testing.Short() {
		t.Skip("two seconds for each window")
	}
	toys(t, 2)
	dir := t.TempDir()
	drawn := map[string]float64{"toy:0": 50, "toy:1": 150}
	metered(t, power.Source{Name: "toy", Platform: "toy", Open: func(_ context.Context, _ power.Env, d power.Device) (power.Meter, error) {
		return &powertest.Counter{Of: []power.Domain{{Name: "board", Unit: power.Joules, Scale: 1e-6, Range: 1 << 40, Interval: time.Millisecond}},
			Watts: []float64{drawn[d.ID]}, Start: []uint64{0}, Now: measure.MonotonicNow}, nil
	}})
	trace := filepath.Join(dir, "power.csv")
	doc := measured(t, sums("toy:0,toy:1", 1, "--energy", "--power-trace", trace)...)
	if len(doc.Results) != 2 || len(doc.Energies) != 2 || doc.Energy != nil {
		t.Fatalf("%d results, energies %+v, %+v", len(doc.Results), doc.Energies, doc.Energy)
	}
	for _, r := range doc.Results {
		e := r.Energy
		if !e.Known() || math.Abs(e.MeanWatts()-drawn[r.Device]) > 2*e.Uncertainty/(float64(e.WindowNS)/1e9) {
			t.Errorf("%s: %+v", r.ID, e)
		}
		if x := doc.EnergyOf(r.Device); x == nil || x.Measured != 1 || x.Idle == nil {
			t.Errorf("%s: %+v", r.Device, x)
		}
		text, err := os.ReadFile(filepath.Join(dir, "power."+strings.ReplaceAll(r.Device, ":", "-")+".csv"))
		if err != nil || !strings.Contains(string(text), `sustain,"`+r.ID) { // an id has commas
			t.Errorf("the trace of %s: %v %.300s", r.Device, err, text)
		}
	}
	if _, err := os.Stat(trace); err == nil {
		t.Error("there is a trace of no device")
	}
	code, _, stderr := ridge(t, sums("toy:0,toy:1", 1, "--energy", "--concurrent")...)
	if code != exitUsage || len(lines(stderr)) != 1 || !strings.Contains(stderr, "--concurrent with --energy") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// What is found holds for all devices of a kind: the first is searched, and the time is for all searches.
func TestSeveralDevicesAreTunedByKind(t *testing.T) {
	toys(t, 2)
	args := []string{"tune", "gemm", "--dry-run", "--device", "cpu,toy:all", "--threads", "1", "--data-dir", filepath.Join(t.TempDir(), "data")}
	code, stdout, stderr := ridge(t, append(args, "--budget", "100s")...)
	if code != exitOK && strings.Contains(stderr, "no parameters") {
		t.Skipf("no kernel of this CPU has parameters: %s", stderr)
	}
	cpu, toy := strings.Index(stdout, "(class large, 1 threads"), strings.Index(stdout, "(class toys, 1 threads")
	if code != exitOK || cpu < 0 || toy < cpu || !strings.Contains(stdout, "tile=7") || strings.Contains(stderr, "device toy:1:") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	for _, want := range []string{"device toy:1 is not searched: what is found on toy:0", "device cpu:", "device toy:0:"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in %s", want, stderr)
		}
	}
	code, _, stderr = ridge(t, append(args, "--budget", "6s")...)
	if code != exitUsage || !strings.Contains(stderr, "--budget 6s: expected at least") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A device that cannot be opened leaves its place to the next of its kind.
func TestTuningGoesOnWithTheNextDeviceOfAKind(t *testing.T) {
	t.Setenv(goneEnv, "toy:0")
	toys(t, 3)
	args := []string{"tune", "gemm", "--dry-run", "--threads", "1", "--data-dir", filepath.Join(t.TempDir(), "data"), "--device"}
	code, stdout, stderr := ridge(t, append(args, "toy:all")...)
	if code != exitFault || !strings.Contains(stdout, "(class toys, 1 threads") || !strings.Contains(stderr, "device toy:1:\n") || strings.Contains(stderr, "device toy:2:\n") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if said := lines(stderr); !strings.Contains(said[len(said)-1], "device toy:0") {
		t.Errorf("the last line does not name the device that is lost: %q", said)
	}
	code, stdout, stderr = ridge(t, append(args, "toy:0")...)
	if code == exitOK || stdout != "" || len(lines(stderr)) != 1 {
		t.Errorf("alone: exit code %d: %s%s", code, stdout, stderr)
	}
}
