package campaign

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/power"
	"ridge/goharness/record"
	"ridge/internal/fakebackend"
)

// twoToys are campaigns of the same cases on toy:0 and on toy:1, which takes three times as long.
func twoToys(t *testing.T, dir string, n int) (cfgs []Config, backends [2]*fakebackend.Backend, v *view) {
	t.Helper()
	v = &view{}
	for i, id := range []string{"toy:0", "toy:1"} {
		slow := 1 + 2*float64(i)
		b := &fakebackend.Backend{NS: func(p op.Program, k string) float64 { return slow * toyNS(p, k) }}
		cfg, _ := toy(t, b, dir)
		b.Platform, cfg.Plan.Device, cfg.View = "toy", id, v
		for _, text := range copies(n) {
			k, err := plan.FromID(cfg.Plan.Ops, strings.Replace(text, "cpu", id, 1))
			if err != nil {
				t.Fatal(err)
			}
			k.Quick, k.BudgetNS = true, 20e6
			cfg.Cases = append(cfg.Cases, k)
		}
		cfgs, backends[i] = append(cfgs, cfg), b
	}
	return cfgs, backends, v
}

// of gives the number of results that are no probes, and the ceilings, of a device.
func of(t *testing.T, doc record.Calibration, device string) (results int, ceilings map[record.CeilingKey]float64) {
	t.Helper()
	for _, r := range doc.Results {
		if strings.HasPrefix(r.ID, device+"/") != (r.Device == device) {
			t.Errorf("%s is of device %s", r.ID, r.Device)
		}
		if r.Device == device && !r.Probe() {
			results++
		}
	}
	ceilings = map[record.CeilingKey]float64{}
	for _, c := range doc.Ceilings {
		if c.Device == device && c.Measured.Value > 0 {
			if !strings.HasPrefix(c.Measured.CaseID, device+"/") {
				t.Errorf("%+v was measured by %s", c.Key(), c.Measured.CaseID)
			}
			k := c.Key()
			k.Device = ""
			ceilings[k] = c.Measured.Value
		}
	}
	return results, ceilings
}

func TestADocumentKeepsItsDevicesApart(t *testing.T) {
	dir := t.TempDir()
	cfgs, _, v := twoToys(t, dir, 3)
	doc, err := RunEach(t.Context(), cfgs)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, d := range doc.Devices {
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, []string{"toy:0", "toy:1"}) || !doc.Summary.Complete || doc.Summary.Counts[record.OK]+doc.Summary.Counts[record.Skipped] != len(doc.Results) {
		t.Errorf("devices %v, %+v", ids, doc.Summary)
	}
	n, fast := of(t, doc, "toy:0")
	m, slow := of(t, doc, "toy:1")
	if n != 3 || m != 3 || len(fast) < 5 || len(slow) != len(fast) {
		t.Errorf("%d and %d results, %d and %d ceilings", n, m, len(fast), len(slow))
	}
	for k, v := range fast {
		if ratio := v / slow[k]; math.Abs(ratio-3) > 0.1 && math.Abs(1/ratio-3) > 0.1 { // of a bandwidth, of a latency
			t.Errorf("%+v: %v, on the slow device %v", k, v, slow[k])
		}
	}
	if at := slices.IndexFunc(v.started, func(id string) bool { return strings.HasPrefix(id, "toy:1/") }); at < 0 ||
		slices.ContainsFunc(v.started[at:], func(id string) bool { return strings.HasPrefix(id, "toy:0/") }) {
		t.Errorf("not one device after the other: %v", v.started)
	}
	if _, err := record.EncodeCalibration(doc); err != nil {
		t.Error(err)
	}
}

func TestADeviceThatIsLostLeavesTheOthers(t *testing.T) {
	for _, lost := range []int{0, 1} {
		id := []string{"toy:0", "toy:1"}[lost]
		cfgs, b, v := twoToys(t, t.TempDir(), 2)
		b[lost].Gone = []string{id}
		doc, err := RunEach(t.Context(), cfgs)
		var gone *DeviceError
		if !errors.As(err, &gone) || gone.Device != id || !strings.Contains(err.Error(), "it is lost") || Interrupted(err) {
			t.Fatalf("%s: %v", id, err)
		}
		here := []string{"toy:1", "toy:0"}[lost]
		if n, m := of(t, doc, here); n != 2 || len(m) == 0 || doc.Summary.Complete || len(doc.Devices) != 2 || !v.heard("device "+id+" is left out") {
			t.Errorf("%s lost: %d results and %d ceilings of %s, %+v, warnings %v", id, n, len(m), here, doc.Summary, v.warned)
		}
		if !slices.ContainsFunc(doc.Summary.Warnings, func(w string) bool { return strings.Contains(w, id+": it was left out") }) {
			t.Errorf("the document says %q", doc.Summary.Warnings)
		}
		// What is lacking can be measured when the device is there again.
		again, _, _ := twoToys(t, cfgs[0].DataDir, 2)
		again[0].Resume = doc.RunID
		whole, err := RunEach(t.Context(), again)
		if n, _ := of(t, whole, id); err != nil || n != 2 || !whole.Summary.Complete || whole.Summary.Resumed == 0 {
			t.Errorf("%s there again: %v, %d results, %+v", id, err, n, whole.Summary)
		}
	}
	cfgs, b, _ := twoToys(t, t.TempDir(), 2)
	b[0].Gone, b[1].Gone = []string{"toy:0"}, []string{"toy:1"}
	if _, err := RunEach(t.Context(), cfgs); err == nil || !strings.Contains(err.Error(), "no device is left") {
		t.Errorf("without any device: %v", err)
	}
}

// A kernel that fails on one device is not set aside on the other.
func TestAKernelIsSetAsideOnItsDeviceAlone(t *testing.T) {
	dir := t.TempDir()
	cfgs, b, v := twoToys(t, dir, 2)
	b[0].Fault = map[string]string{"stream_copy_fast": fakebackend.Fails}
	ctx, stop := context.WithCancel(t.Context())
	v.onStart = func(k record.Case) {
		if k.ID == cfgs[1].Cases[1].ID {
			stop()
		}
	}
	doc, err := RunEach(ctx, cfgs)
	if !Interrupted(err) || doc.Summary.Complete {
		t.Fatalf("%v, %+v", err, doc.Summary)
	}
	again, b2, w := twoToys(t, dir, 2)
	b2[0].Fault = b[0].Fault
	again[0].Resume = doc.RunID
	whole, err := RunEach(t.Context(), again)
	if err != nil || !whole.Summary.Complete || whole.Summary.Resumed != len(doc.Results) || whole.RunID != doc.RunID {
		t.Fatalf("%v, %+v, %d results before", err, whole.Summary, len(doc.Results))
	}
	for _, k := range again[0].Cases {
		if r := find(t, whole, k.ID); r.Kernel != "stream_copy_plain" {
			t.Errorf("%s ran %s", r.ID, r.Kernel)
		}
		if r := find(t, whole, strings.Replace(k.ID, "toy:0", "toy:1", 1)); r.Kernel != "stream_copy_fast" {
			t.Errorf("%s ran %s", r.ID, r.Kernel)
		}
	}
	for _, id := range w.started {
		if strings.HasPrefix(id, "toy:0/") {
			t.Errorf("%s was measured again", id)
		}
	}
}

func TestARunOverDevicesIsResumedWithTheSameDevices(t *testing.T) {
	dir := t.TempDir()
	cfgs, _, _ := twoToys(t, dir, 1)
	doc, err := RunEach(t.Context(), cfgs)
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := twoToys(t, dir, 1)
	again[0].Resume = doc.RunID
	for name, some := range map[string][]Config{"one": again[:1], "turned round": {again[1], again[0]}} {
		some[0].Resume = doc.RunID
		if _, err := RunEach(t.Context(), some); err == nil || !strings.Contains(err.Error(), "planned with other options") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each device has a meter of its own, and its joules are in its results.
func TestSeveralDevicesEachHaveAMeter(t *testing.T) {
	cfgs, _, v := twoToys(t, t.TempDir(), 2)
	drawn := map[string]float64{"toy:0": 50, "toy:1": 150}
	var opened []string
	for i := range cfgs {
		metered(&cfgs[i], nil)
		cfgs[i].EnergyOf.Meters = []power.Source{{Name: "toy", Platform: "cpu", Open: func(_ context.Context, _ power.Env, d power.Device) (power.Meter, error) {
			opened = append(opened, d.ID)
			return toyMeter(drawn[d.ID]), nil
		}}}
		cfgs[i].EnergyOf.Cases = []string{cfgs[0].Cases[0].ID, cfgs[1].Cases[1].ID, "toy:1/stream_copy/fp32/n=7/threads=1/hot"}
	}
	doc, err := RunEach(t.Context(), cfgs)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(opened, []string{"toy:0", "toy:1"}) {
		t.Errorf("meters of %v were opened", opened)
	}
	for _, id := range []string{cfgs[0].Cases[0].ID, cfgs[1].Cases[1].ID} {
		r := find(t, doc, id)
		if e := r.Energy; !e.Known() || math.Abs(e.MeanWatts()-drawn[r.Device]) > 2*e.Uncertainty/(float64(e.WindowNS)/1e9) {
			t.Errorf("%s: %+v", id, e)
		}
	}
	if doc.Energy != nil || len(doc.Energies) != 2 {
		t.Fatalf("the document's energies: %+v, %+v", doc.Energy, doc.Energies)
	}
	for i, device := range []string{"toy:0", "toy:1"} {
		e := doc.EnergyOf(device)
		if e != &doc.Energies[i] || e.Device != device || e.Measured != 1 || e.Idle == nil || math.Abs(e.Idle.Before-drawn[device]) > drawn[device]/4 {
			t.Errorf("%s: %+v", device, e)
		}
	}
	said := 0
	for _, w := range v.warned {
		if strings.Contains(w, "this run has no such case") {
			said++
		}
	}
	if said != 1 || !v.heard("n=7") { // by the device that it names
		t.Errorf("warnings %q", v.warned)
	}
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Validate(data); err != nil {
		t.Error(err)
	}
}
