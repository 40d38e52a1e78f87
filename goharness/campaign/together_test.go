package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// patience bounds what would otherwise hang for ever; no test waits for it to pass.
const patience = time.Minute

// toysTogether are campaigns of n copies on each of some toys, at the same time.
func toysTogether(t *testing.T, dir string, toys, n int) (cfgs []Config, backends []*fakebackend.Backend, v *view) {
	t.Helper()
	v = &view{}
	for i := range toys {
		b := &fakebackend.Backend{}
		cfg, _ := toy(t, b, dir)
		b.Platform, cfg.Plan.Device, cfg.View, cfg.Concurrent = "toy", fmt.Sprintf("toy:%d", i), v, true
		for _, text := range copies(n) {
			k, err := plan.FromID(cfg.Plan.Ops, strings.Replace(text, "cpu", cfg.Plan.Device, 1))
			if err != nil {
				t.Fatal(err)
			}
			k.Quick, k.BudgetNS = true, 20e6
			cfg.Cases = append(cfg.Cases, k)
		}
		cfgs, backends = append(cfgs, cfg), append(backends, b)
	}
	return cfgs, backends, v
}

// meeting lets go when all of its guests are there at once.
type meeting struct {
	guests int
	mu     sync.Mutex
	there  int
	all    chan struct{}
}

func newMeeting(guests int) *meeting { return &meeting{guests: guests, all: make(chan struct{})} }

func (m *meeting) attend(t *testing.T) {
	m.mu.Lock()
	if m.there++; m.there == m.guests {
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
	case <-time.After(patience):
		t.Errorf("%d of %d devices are being measured at the same time", m.there, m.guests)
	}
}

func TestConcurrentDevicesAreMeasuredAtTheSameTime(t *testing.T) {
	for _, toys := range []int{2, 3} {
		cfgs, backends, v := toysTogether(t, t.TempDir(), toys, 3)
		// A case whose measurement ends on no device before it has begun on all.
		m := newMeeting(toys)
		for _, b := range backends {
			var once sync.Once
			b.Before = func(p op.Program) {
				if strings.Contains(fmt.Sprint(p.Steps[0].Op.Params()), "101") {
					once.Do(func() { m.attend(t) })
				}
			}
		}
		doc, err := RunEach(t.Context(), cfgs)
		if err != nil {
			t.Fatal(err)
		}
		if !doc.Summary.Complete || len(doc.Devices) != toys {
			t.Errorf("%d devices, %+v", len(doc.Devices), doc.Summary)
		}
		for i, cfg := range cfgs {
			device := cfg.Plan.Device
			if n, ceilings := of(t, doc, device); n != 3 || len(ceilings) < 5 || doc.Devices[i].ID != device {
				t.Errorf("%s: %d results, %d ceilings", device, n, len(ceilings))
			}
		}
		for _, r := range doc.Results {
			if !r.Status.Counts() {
				continue
			}
			var want []record.Concurrent
			for _, cfg := range cfgs {
				if d := cfg.Plan.Device; d != r.Device {
					want = append(want, record.Concurrent{Device: d, Case: strings.Replace(r.ID, r.Device, d, 1)})
				}
			}
			if got := r.Conditions.Concurrent; !slices.Equal(got, want) {
				t.Errorf("%s was measured beside %+v", r.ID, got)
			}
			if !strings.Contains(r.Reproduce, "--concurrent --device "+r.Device+",toy:") {
				t.Errorf("%s: %s", r.ID, r.Reproduce)
			}
		}
		for _, c := range doc.Ceilings {
			for _, p := range c.Probes {
				if len(p.Concurrent) != toys-1 {
					t.Errorf("%+v: a probe beside %v", c.Key(), p.Concurrent)
				}
			}
		}
		if len(v.results) != len(doc.Results) {
			t.Errorf("%d results were shown of %d", len(v.results), len(doc.Results))
		}
		if _, err := record.EncodeCalibration(doc); err != nil {
			t.Error(err)
		}
	}
}

// One after the other nothing of it is said.
func TestADeviceThatIsMeasuredAloneNamesNoOther(t *testing.T) {
	cfgs, _, _ := toysTogether(t, t.TempDir(), 2, 1)
	cfgs[0].Concurrent = false
	doc, err := RunEach(t.Context(), cfgs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Results {
		if len(r.Conditions.With()) > 0 || strings.Contains(r.Reproduce, "--concurrent") {
			t.Errorf("%s: %v, %s", r.ID, r.Conditions.With(), r.Reproduce)
		}
	}
}

// Who has ended goes on until the last has, so that nobody is measured beside a device that idles.
func TestAConcurrentLoadLastsUntilTheLastMeasurementEnds(t *testing.T) {
	g := newTogether([]string{"a", "b", "c"})
	kept, failed := make(chan string, 10), make(chan struct{})
	keep := func(device string) func() error {
		return func() error {
			select {
			case kept <- device:
			default: // often enough
			}
			return nil
		}
	}
	var wg sync.WaitGroup
	results := map[string]*record.Result{}
	for _, device := range []string{"a", "b", "c"} {
		r := &record.Result{Status: record.OK, Conditions: &record.Conditions{}}
		results[device] = r
		wg.Add(1)
		go func() {
			defer wg.Done()
			after := g.begin(t.Context(), device, device+"/x")
			switch device {
			case "a": // the last: it ends when it has seen b go on behind c's failure
				<-failed
				for range cap(kept) + 1 {
					select {
					case d := <-kept:
						if d != "b" {
							t.Errorf("%s kept going", d)
						}
					case <-time.After(patience):
						t.Error("nobody kept going")
					}
				}
				after(r, keep(device))
			case "b":
				after(r, keep(device))
			case "c": // it fails at once
				r.Status = record.Crashed
				after(r, nil)
				close(failed)
			}
		}()
	}
	wg.Wait()
	for device, with := range map[string]string{"a": "b+c", "b": "a+c", "c": "a+b"} {
		if got := strings.Join(results[device].Conditions.With(), "+"); got != with {
			t.Errorf("%s was measured beside %q", device, got)
		}
	}
	for _, x := range results["a"].Conditions.Concurrent {
		if (x.Device == "c") != strings.Contains(x.Cut, "its measurement failed") {
			t.Errorf("beside a: %+v", x)
		}
	}
}

// A program that cannot go on costs its own device a warning, and the others nothing.
func TestAConcurrentLoadThatFailsIsSaid(t *testing.T) {
	g := newTogether([]string{"a", "b"})
	failed := make(chan struct{})
	a, b := &record.Result{Status: record.OK, Conditions: &record.Conditions{}}, &record.Result{Status: record.OK, Conditions: &record.Conditions{}}
	var wg sync.WaitGroup
	wg.Add(2)
	go func() {
		defer wg.Done()
		after := g.begin(t.Context(), "a", "a/x")
		<-failed
		after(a, func() error { return nil })
	}()
	go func() {
		defer wg.Done()
		g.begin(t.Context(), "b", "b/x")(b, func() error { return errors.New("no more power") })
		close(failed)
	}()
	wg.Wait()
	if x := a.Conditions.Concurrent; len(x) != 1 || !strings.Contains(x[0].Cut, "no more power") {
		t.Errorf("beside a: %+v", x)
	}
	if len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "no more power") || b.Status != record.OK {
		t.Errorf("b: %s %v", b.Status, b.Warnings)
	}
}

// mortal is a launcher whose workers die with the case at which somebody says so, and cannot be started again.
func mortal(launch runner.Launcher, dead func(runner.Request) bool) runner.Launcher {
	gone := false
	return func(ctx context.Context) (runner.Worker, error) {
		if gone {
			return nil, errors.New("the bus lost it")
		}
		w, err := launch(ctx)
		return &dying{w, &gone, dead}, err
	}
}

type dying struct {
	runner.Worker
	gone *bool
	dead func(runner.Request) bool
}

func (d *dying) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	if *d.gone = *d.gone || d.dead(q); *d.gone {
		return runner.Reply{}, &runner.CrashError{Signal: "SIGBUS"}
	}
	return d.Worker.Do(ctx, q)
}

func TestAConcurrentDeviceThatIsLostLeavesTheOthers(t *testing.T) {
	dir := t.TempDir()
	cfgs, _, v := toysTogether(t, dir, 3, 4)
	at := cfgs[1].Cases[2].ID
	cfgs[1].Launch = mortal(cfgs[1].Launch, func(q runner.Request) bool { return q.Case != nil && q.Case.ID == at })
	doc, err := RunEach(t.Context(), cfgs)
	var gone *DeviceError
	if !errors.As(err, &gone) || gone.Device != "toy:1" || Interrupted(err) || !strings.Contains(err.Error(), "the bus lost it") || !v.heard("device toy:1 is left out") {
		t.Fatalf("%v; warnings %v", err, v.warned)
	}
	for device, want := range map[string]int{"toy:0": 4, "toy:1": 2, "toy:2": 4} {
		if n, _ := of(t, doc, device); n != want {
			t.Errorf("%d results of %s", n, device)
		}
	}
	for _, r := range doc.Results {
		with := "toy:1+toy:2"
		if n := r.Params["n"]; n == "102" || n == "103" { // it was lost with the first of these
			with = "toy:2"
		}
		if got := strings.Join(r.Conditions.With(), "+"); r.Device == "toy:0" && !r.Probe() && got != with {
			t.Errorf("%s was measured beside %q", r.ID, got)
		}
	}
	if doc.Summary.Complete || !slices.ContainsFunc(doc.Summary.Warnings, func(w string) bool { return strings.Contains(w, "toy:1: it was left out") }) {
		t.Errorf("%+v", doc.Summary)
	}
	again, _, w := toysTogether(t, dir, 3, 4)
	again[0].Resume = doc.RunID
	whole, err := RunEach(t.Context(), again)
	if n, _ := of(t, whole, "toy:1"); err != nil || n != 4 || !whole.Summary.Complete {
		t.Fatalf("there again: %v, %d results, %+v", err, n, whole.Summary)
	}
	if slices.ContainsFunc(w.started, func(id string) bool { return !strings.HasPrefix(id, "toy:1/") }) {
		t.Errorf("measured again: %v", w.started)
	}
	for _, k := range again[1].Cases[2:] { // nobody was left to measure beside
		if r := find(t, whole, k.ID); len(r.Conditions.With()) != 0 {
			t.Errorf("%s says that it was measured beside %v", r.ID, r.Conditions.With())
		}
	}
}

func TestAConcurrentRunThatIsInterruptedGoesOn(t *testing.T) {
	dir := t.TempDir()
	cfgs, _, v := toysTogether(t, dir, 2, 4)
	ctx, stop := context.WithCancel(t.Context())
	v.onStart = func(k record.Case) {
		if k.ID == cfgs[1].Cases[2].ID {
			stop()
		}
	}
	doc, err := RunEach(ctx, cfgs)
	if !Interrupted(err) || doc.Summary.Complete || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v, %+v", err, doc.Summary)
	}
	for _, id := range []string{"toy:0", "toy:1"} {
		if n, _ := of(t, doc, id); n < 1 || n > 3 {
			t.Errorf("%s: %d results before the interruption", id, n)
		}
	}
	for name, change := range map[string]func([]Config) []Config{
		"one after the other": func(c []Config) []Config { c[0].Concurrent = false; return c },
		"other devices":       func(c []Config) []Config { return []Config{c[1], c[0]} },
	} {
		other, _, _ := toysTogether(t, dir, 2, 4)
		other = change(other)
		other[0].Resume = doc.RunID
		if _, err := RunEach(t.Context(), other); err == nil || !strings.Contains(err.Error(), "planned with other options") {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, _, w := toysTogether(t, dir, 2, 4)
	again[0].Resume = doc.RunID
	whole, err := RunEach(t.Context(), again)
	if err != nil || !whole.Summary.Complete || whole.Summary.Resumed != len(doc.Results) || whole.RunID != doc.RunID {
		t.Fatalf("%v, %+v, %d results before", err, whole.Summary, len(doc.Results))
	}
	for _, r := range doc.Results {
		if slices.Contains(w.started, r.ID) {
			t.Errorf("%s was measured again", r.ID)
		}
	}
	for _, id := range []string{"toy:0", "toy:1"} {
		if n, _ := of(t, whole, id); n != 4 {
			t.Errorf("%s: %d results", id, n)
		}
	}
}

func TestAConcurrentRunRefusesWhatItCannotMeasure(t *testing.T) {
	two, _, _ := toysTogether(t, t.TempDir(), 2, 1)
	cpu, _, _ := toysTogether(t, t.TempDir(), 2, 1)
	cpu[1].Plan.Device = "cpu"
	energy, _, _ := toysTogether(t, t.TempDir(), 2, 1)
	energy[1].Energy = true
	for name, tc := range map[string]struct {
		cfgs []Config
		want string
	}{"one device": {two[:1], "several"}, "the cpu": {cpu, "the cpu launches"}, "energy": {energy, "energies"}} {
		if _, err := RunEach(t.Context(), tc.cfgs); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
