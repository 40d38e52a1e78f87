package power_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
)

func board() power.Domain {
	return power.Domain{Name: "board", Unit: power.Watts, Scale: 1e-3, Interval: 10 * time.Millisecond}
}

var oneSecond = power.Plan{Windows: 2, Length: time.Second}

func noPhase() float64 { return 0 }

// A run that no longer wants a reading stops waiting for it; the meter, which answers in its own time, is used again.
func TestAReadingThatIsGivenUpDoesNotCostTheMeter(t *testing.T) {
	m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Watts: []float64{50}, Now: func() time.Duration { return time.Second },
		Fail: func(context.Context, time.Duration) error { time.Sleep(150 * time.Millisecond); return nil }}
	o := power.NewObserver(m, power.Clock{Now: func() time.Duration { return time.Second }, Sleep: power.Sleep}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, _ = o.Read(ctx)
	if err := o.Gone(); err != nil {
		t.Fatalf("the meter was given up: %v", err)
	}
	if _, err := o.Read(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestASensorThatNeverChangesGivesNoEnergy(t *testing.T) {
	for _, tc := range []struct {
		name string
		draw func(at time.Duration) float64
		want string
	}{
		{"frozen", func(time.Duration) float64 { return 75 }, "sensor board has shown 75 W ever since it was opened"},
		{"coarse, but alive", func(at time.Duration) float64 {
			if at > 2*time.Second {
				return 300
			}
			return 75
		}, ""},
	} {
		clock := &powertest.Clock{}
		m := &powertest.Counter{Of: []power.Domain{board()}, Draw: func(_ int, at time.Duration) float64 { return tc.draw(at) }, Now: func() time.Duration { return clock.T }}
		o := power.NewObserver(m, clock.Power(), nil)
		if _, _, err := o.Idle(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		clock.T = 3 * time.Second
		ws, err := o.Measure(t.Context(), oneSecond, noPhase)
		if tc.want == "" {
			if err != nil || len(ws) != 2 {
				t.Errorf("%s: %v", tc.name, err)
			}
		} else if len(ws) != 0 || !errors.Is(err, power.ErrNoData) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, %d windows", tc.name, err, len(ws))
		}
	}
}

// A sensor that shows 0 W, or more than any board under its limit, for a part of a window would lower or raise its mean.
func TestASensorThatFailsWithinAWindowGivesNoEnergy(t *testing.T) {
	for name, tc := range map[string]struct {
		draw float64
		want string
	}{"zeros": {0, "shows 0 W"}, "all bits set": {4294967.295, "shows 4.295e+06 W"}, "four times the limit": {2800, "shows 2800 W"}, "a peak": {1300, ""}} {
		clock := &powertest.Clock{}
		m := &powertest.Counter{Of: []power.Domain{board()}, Info: power.Facts{LimitWatts: 700}, Now: func() time.Duration { return clock.T }, Draw: func(_ int, at time.Duration) float64 {
			if at > 1500*time.Millisecond && at < 1530*time.Millisecond {
				return tc.draw
			}
			return 600
		}}
		ws, err := power.NewObserver(m, clock.Power(), nil).Measure(t.Context(), oneSecond, noPhase)
		if tc.want == "" && err != nil || tc.want != "" && (len(ws) > 1 || !errors.Is(err, power.ErrNoData) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %d windows, %v, want %q", name, len(ws), err, tc.want)
		}
	}
}

// A second sensor, a clock and a thermometer that show what cannot be are not shown.
func TestGarbageOfSensorsIsDropped(t *testing.T) {
	clock := &powertest.Clock{}
	m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Watts: []float64{50}, Now: func() time.Duration { return clock.T },
		See: func(time.Duration) power.Sensors {
			return power.Sensors{PowerWatts: 4e9, ClockMHz: math.NaN(), MemoryClockMHz: math.Inf(1), TemperatureC: 6553.5}
		}}
	o := power.NewObserver(m, clock.Power(), nil)
	o.Beside(func() power.Sensors { return power.Sensors{MemoryClockMHz: 2600, TemperatureC: -273} })
	ws, err := o.Measure(t.Context(), oneSecond, noPhase)
	if err != nil {
		t.Fatal(err)
	}
	got := power.Combine(ws)
	if got.MaxWatts > 60 || got.PowerWatts != 0 || got.ClockMHz != [2]float64{} || got.TemperatureC != [2]float64{} {
		t.Errorf("%+v", got)
	}
}

// What the meter itself shows comes before what the host does.
func TestSensorsBesideTheMeterFillWhatItLacks(t *testing.T) {
	m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Watts: []float64{50}, Now: func() time.Duration { return time.Second },
		See: func(time.Duration) power.Sensors {
			return power.Sensors{ClockMHz: 3200, Throttled: "thermal pressure: Heavy"}
		}}
	o := power.NewObserver(m, power.Clock{Now: func() time.Duration { return time.Second }, Sleep: power.Sleep}, nil)
	o.Beside(func() power.Sensors { return power.Sensors{ClockMHz: 800, TemperatureC: 61} })
	r, err := o.Read(t.Context())
	if err != nil || r.ClockMHz != 3200 || r.TemperatureC != 61 || r.Throttled != "thermal pressure: Heavy" {
		t.Errorf("%+v, %v", r.Sensors, err)
	}
}

// A thermometer whose driver hangs costs its own figure and nothing else; what reads for a trace ends when it is told to.
func TestASensorBesideTheMeterThatHangsIsGivenUp(t *testing.T) {
	patiently(t, func(stall time.Duration) error {
		began := time.Now()
		now := func() time.Duration { return 100*time.Since(began) + time.Second } // so that sensors are due at each reading
		m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Watts: []float64{50}, Now: now}
		heard := make(chan power.Reading, 3)
		o := power.NewObserver(m, power.Clock{Now: now, Sleep: power.Sleep}, func(r power.Reading) {
			select {
			case heard <- r:
			default: // enough were heard
			}
		})
		power.SetStall(o, stall)
		var asked atomic.Int32
		hung := make(chan struct{})
		defer close(hung)
		o.Beside(func() power.Sensors { asked.Add(1); <-hung; return power.Sensors{TemperatureC: 50} })
		stop := o.Follow(time.Millisecond)
		var failed error
		for n := 0; n < 3 && failed == nil; {
			select {
			case r := <-heard:
				if n++; r.TemperatureC != 0 {
					t.Errorf("%+v", r)
				}
			case <-time.After(10 * time.Millisecond):
				if failed = o.Gone(); failed == nil && time.Since(began) > stall+time.Minute {
					failed = errors.New("the readings stopped")
				}
			}
		}
		ended := make(chan struct{})
		go func() { stop(); o.Close(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(stall + time.Minute):
			return errors.New("the observer does not end")
		}
		if failed == nil && (asked.Load() != 1 || o.Gone() == nil) {
			t.Errorf("asked %d times, gone %v", asked.Load(), o.Gone())
		}
		return failed
	})
}

// Each reading takes a second: five of them, at 90 and 110 W in turn, are all that is known of a window of 5 s,
// however often the sensor was updated meanwhile. Student's interval of five is ±13.6 W.
func TestASlowMeterKnowsLess(t *testing.T) {
	clock := &powertest.Clock{}
	n := 0
	m := &powertest.Counter{Of: []power.Domain{board()}, Now: func() time.Duration { return clock.T },
		Draw: func(int, time.Duration) float64 { n++; return float64(90 + 20*(n%2)) },
		Fail: func(context.Context, time.Duration) error { clock.T += time.Second; return nil }}
	w, err := power.NewObserver(m, clock.Power(), nil).Window(t.Context(), 5*time.Second)
	if err != nil || w.Uncertainty < 5*10 {
		t.Errorf("%.4g ± %.3g J, %v", w.Joules, w.Uncertainty, err)
	}
}

func TestATraceHoldsNoGarbageAndNothingWithoutReadings(t *testing.T) {
	var out strings.Builder
	tr := power.NewTrace(&out, []power.Domain{board()}, 0)
	if err := tr.Flush(); err == nil || out.Len() != 0 {
		t.Errorf("without readings: %q, error %v", out.String(), err)
	}
	for i, mw := range []uint64{1, 80_000, math.MaxUint64, 90_000} {
		tr.Add(power.Reading{AtNS: int64(i) * 1e9, Counts: []uint64{mw}})
	}
	if err := tr.Flush(); err != nil {
		t.Fatal(err)
	}
	rows, err := power.ReadTrace(strings.NewReader(out.String()))
	if err != nil || len(rows) != 3 || rows[0].Watts != 80 || rows[1].HasWatts || rows[2].Watts != 90 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// One reading that fails leaves a gap, no end.
func TestATraceGoesOnAfterAReadingThatFails(t *testing.T) {
	began := time.Now()
	now := func() time.Duration { return time.Since(began) + time.Second }
	reads := 0
	m := &powertest.Counter{Of: []power.Domain{rapl("package-0")}, Watts: []float64{50}, Now: now, Fail: func(context.Context, time.Duration) error {
		if reads++; reads == 2 {
			return errors.New("try again")
		}
		return nil
	}}
	heard := make(chan struct{}, 1000)
	stop := power.NewObserver(m, power.Clock{Now: now, Sleep: power.Sleep}, func(power.Reading) { heard <- struct{}{} }).Follow(time.Millisecond)
	defer stop()
	for range 3 {
		select {
		case <-heard:
		case <-time.After(10 * time.Second):
			t.Fatal("no reading came after the one that failed")
		}
	}
}
