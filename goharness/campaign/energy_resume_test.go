package campaign

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
	"ridge/goharness/record"
	"ridge/internal/fakebackend"
)

// sockets is a meter of a package and its DRAM that draw so much.
func sockets(title string, pkg, dram float64) *powertest.Counter {
	counter := func(name string) power.Domain {
		return power.Domain{Name: name, Unit: power.Joules, Scale: 1e-6, Range: 1 << 32, Interval: time.Millisecond}
	}
	return &powertest.Counter{Title: title, Of: []power.Domain{counter("package-0"), counter("package-0/dram")}, Watts: []float64{pkg, dram}, Now: measure.MonotonicNow}
}

// interrupted is a run that ends once the first of its energies is in the journal.
func interrupted(t *testing.T, dir string, m *powertest.Counter, ids []string) record.Calibration {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg, _ := toy(t, &fakebackend.Backend{}, dir, ids...)
	m.Fail = func(context.Context, time.Duration) error {
		journals, _ := os.ReadDir(dir + "/runs")
		for _, j := range journals {
			if text, err := os.ReadFile(dir + "/runs/" + j.Name()); err == nil && strings.Contains(string(text), "with its energy") {
				cancel()
			}
		}
		return nil
	}
	metered(&cfg, m)
	doc, err := Run(ctx, cfg)
	if !errors.Is(err, ErrInterrupted) {
		t.Fatalf("not interrupted: %v", err)
	}
	return doc
}

func TestAnInterruptedRunSaysWhatItDidNotTake(t *testing.T) {
	ids := copies(3)
	doc := interrupted(t, t.TempDir(), sockets("toy", 50, 5), ids)
	if idle := doc.Energy.Idle; idle == nil || idle.Before <= 0 || idle.After != 0 || idle.Unavailable != "the run ended before the second baseline" {
		t.Errorf("idle %+v", idle)
	}
	known := 0
	for _, id := range ids {
		e := find(t, doc, id).Energy
		if e.Known() {
			known++
		} else if e.Unavailable != "no energy was taken before the run ended" {
			t.Errorf("%s: %q", id, e.Unavailable)
		}
	}
	if known != 1 {
		t.Errorf("%d energies", known)
	}
}

// A baseline without DRAM, or of another meter, is not what an energy with DRAM stands above.
func TestNetEnergyAfterAResumeNeedsABaselineOfTheSameTotal(t *testing.T) {
	for _, tc := range []struct {
		name  string
		meter *powertest.Counter
		want  string // of the energies of the interrupted run
	}{
		{"the same", sockets("toy", 50, 5), "the idle baseline was taken after the run was resumed"},
		{"another meter", sockets("other toy", 50, 5), "no net energy: it was measured by toy (package-0, package-0/dram) and the idle baseline, after the run was resumed, by other toy (package-0, package-0/dram)"},
		{"DRAM that no longer moves", sockets("toy", 50, 0), "no net energy: it was measured by toy (package-0, package-0/dram) and the idle baseline, after the run was resumed, by toy (package-0)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, ids := t.TempDir(), copies(3)
			first := interrupted(t, dir, sockets("toy", 50, 5), ids)
			for range 2 { // said once, however often the run is resumed
				cfg, _ := toy(t, &fakebackend.Backend{}, dir, ids...)
				cfg.Resume = first.RunID
				metered(&cfg, tc.meter)
				doc := mustRun(t, cfg)
				for _, id := range ids {
					e, earlier := find(t, doc, id).Energy, find(t, first, id).Energy.Known()
					warned := strings.Count(strings.Join(e.Warnings, "\n"), "the run was resumed")
					has := strings.Contains(strings.Join(e.Warnings, "\n"), tc.want)
					if !e.Known() || (e.NetJoules != nil) != (!earlier || tc.name == "the same") || has != earlier || warned > 1 {
						t.Errorf("%s, of the interrupted run: %v: net %v, warnings %q", id, earlier, e.NetJoules, e.Warnings)
					}
				}
			}
		})
	}
}

// A sensor that fails at one end of the windows gives no 0 there.
func TestTheClockAtBothEndsIsKnownOrAbsent(t *testing.T) {
	for _, tc := range []struct {
		clock, temperature [2]float64
		known              bool
	}{
		{[2]float64{3600, 3500}, [2]float64{50, 60}, true}, {[2]float64{3600, 0}, [2]float64{50, 0}, false}, {[2]float64{0, 3600}, [2]float64{0, 60}, false},
	} {
		c := &campaign{energy: &energy{observer: power.NewObserver(toyMeter(50), power.Clock{Now: measure.MonotonicNow, Sleep: power.Sleep}, nil)}}
		r := &record.Result{Time: &record.Time{MedianNS: 1e7}}
		e := c.energyRecord(r, 0, power.Total{Joules: 500, Uncertainty: 5, Seconds: 10, ClockMHz: tc.clock, TemperatureC: tc.temperature, Watts: []float64{50, 150}}, 1000, nil)
		if (e.ClockMHz != nil) != tc.known || (e.TemperatureC != nil) != tc.known {
			t.Errorf("%v MHz, %v °C: %v, %v", tc.clock, tc.temperature, e.ClockMHz, e.TemperatureC)
		}
	}
}
