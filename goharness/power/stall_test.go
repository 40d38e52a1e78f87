package power_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
)

// scripted is a sensor that is updated each 100 ms and shows what shows says of an update's time; a baseline of 2 s, a load from 3 s on,
// and a baseline after it from 9 s on.
func scripted(t *testing.T, scale float64, shows func(at time.Duration) float64) (load, after error) {
	t.Helper()
	clock := &powertest.Clock{}
	m := &powertest.Counter{Of: []power.Domain{{Name: "board", Unit: power.Watts, Scale: scale, Interval: 100 * time.Millisecond}},
		Draw: func(_ int, at time.Duration) float64 { return shows(at) }, Now: func() time.Duration { return clock.T }}
	o := power.NewObserver(m, clock.Power(), nil)
	if _, _, err := o.Idle(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	clock.T = 3 * time.Second
	if _, load = o.Measure(t.Context(), power.Plan{Windows: 2, Length: 2 * time.Second}, noPhase); load != nil {
		return load, nil
	}
	clock.T = 9 * time.Second
	_, _, after = o.Idle(t.Context(), 2*time.Second)
	return nil, after
}

func TestASensorThatSticksIsRefusedAndASteadyOneIsNot(t *testing.T) {
	noise := func(at time.Duration, most float64) float64 { // -most to most, the same for all of an update
		n := uint64(at/(100*time.Millisecond))*0x9e3779b97f4a7c15 + 12345
		n ^= n >> 31
		return most * (2*float64(n*0xbf58476d1ce4e5b9>>11)/(1<<53) - 1)
	}
	draws := func(at time.Duration, noisy float64) float64 {
		if at < 3*time.Second || at >= 9*time.Second {
			return 80 + noise(at, noisy)
		}
		return 400 + noise(at, noisy)
	}
	for _, tc := range []struct {
		name        string
		scale       float64
		shows       func(at time.Duration) float64
		load, after string
	}{
		{"fine and alive", 1e-3, func(at time.Duration) float64 { return draws(at, 3) }, "", ""},
		{"fine, stuck within the load", 1e-3, func(at time.Duration) float64 { return draws(min(at, 5*time.Second), 3) }, "sensor board has shown 40", ""},
		{"fine, stuck before the load", 1e-3, func(at time.Duration) float64 { return draws(min(at, 2500*time.Millisecond), 3) }, "and its updates are 100ms apart: it stalled", ""},
		{"fine, stuck for half a second", 1e-3, func(at time.Duration) float64 {
			if at > 5*time.Second && at < 5500*time.Millisecond {
				at = 5 * time.Second
			}
			return draws(at, 3)
		}, "", ""},
		{"steps of 1 W, steady", 1, func(at time.Duration) float64 { return draws(at, 0.2) }, "", ""},
		{"steps of 1 W, restless without a load and steady under it", 1, func(at time.Duration) float64 {
			if at < 3*time.Second {
				return draws(at, 20)
			}
			return draws(at, 0.2)
		}, "", ""},
		{"steps of 1 W in milliwatts, steady", 1e-3, func(at time.Duration) float64 { return float64(int(draws(at, 1.2))) }, "", ""},
		{"steps of 1 W, stuck before the load", 1, func(at time.Duration) float64 { return draws(min(at, 2500*time.Millisecond), 2) }, "ever since the idle baseline, under load too", ""},
		{"steps of 1 W, a load of less than a step", 1, func(time.Duration) float64 { return 80.4 }, "ever since it was opened", ""},
		{"steps of 1 W, stuck under the load", 1, func(at time.Duration) float64 { return draws(min(at, 5*time.Second), 0.2) }, "", "ever since the load before"},
	} {
		load, after := scripted(t, tc.scale, tc.shows)
		for _, x := range []struct {
			when string
			err  error
			want string
		}{{"load", load, tc.load}, {"baseline after it", after, tc.after}} {
			if (x.err != nil) != (x.want != "") || x.err != nil && (!errors.Is(x.err, power.ErrNoData) || !strings.Contains(x.err.Error(), x.want)) {
				t.Errorf("%s, %s: %v, want %q", tc.name, x.when, x.err, x.want)
			}
		}
	}
}

// A clock of 1000 MHz for a quarter of the time and 2000 for the rest: whatever the readings, the mean is that of the time.
func TestClockAndTemperatureHaveTheirRangeAndMean(t *testing.T) {
	for _, unit := range []power.Unit{power.Joules, power.Watts} {
		clock := &powertest.Clock{}
		d := board()
		if unit == power.Joules {
			d = rapl("package-0")
		}
		m := &powertest.Counter{Of: []power.Domain{d}, Now: func() time.Duration { return clock.T },
			Draw: func(_ int, at time.Duration) float64 { return 100 + float64(at/(10*time.Millisecond)%7) },
			See: func(at time.Duration) power.Sensors {
				if at < 1700*time.Millisecond {
					return power.Sensors{ClockMHz: 1000, TemperatureC: 50}
				}
				return power.Sensors{ClockMHz: 2000, TemperatureC: 60}
			}}
		clock.T = 1000 * time.Millisecond
		ws, err := power.NewObserver(m, clock.Power(), nil).Measure(t.Context(), power.Plan{Windows: 2, Length: time.Second}, noPhase)
		if err != nil {
			t.Fatal(err)
		}
		got := power.Combine(ws)
		if r := got.Clock; r.Min != 1000 || r.Max != 2000 || r.Avg < 1700 || r.Avg > 1800 {
			t.Errorf("%s: clock %+v", unit, r)
		}
		if r := got.Temperature; r.Min != 50 || r.Max != 60 || r.Avg < 57 || r.Avg > 58 {
			t.Errorf("%s: temperature %+v", unit, r)
		}
		m.See = nil
		w, err := power.NewObserver(m, clock.Power(), nil).Window(t.Context(), time.Second)
		if err != nil || w.Clock != (power.Range{}) || w.Temperature != (power.Range{}) {
			t.Errorf("%s: without sensors %+v %+v, %v", unit, w.Clock, w.Temperature, err)
		}
	}
}

// A sensor that is updated each 500 ms, where 100 are stated: what the windows take grows once that was seen, and before, in the first window, it is one of
// ten updates in 5 s and not of fifty. Student's interval of ten values of 8 W deviation is ±5.9 W, half an update of 20 W are ±1 W, a step of 5 W.
func TestASlowSensorIsNotTakenForAFastOne(t *testing.T) {
	clock := &powertest.Clock{}
	m := &powertest.Counter{Of: []power.Domain{{Name: "board", Unit: power.Watts, Scale: 1, Interval: 100 * time.Millisecond}}, Now: func() time.Duration { return clock.T },
		Draw: func(_ int, at time.Duration) float64 { return []float64{90, 110, 97, 105}[at/(500*time.Millisecond)%4] }}
	o := power.NewObserver(m, clock.Power(), nil)
	plan := power.Plan{Windows: 2, Length: time.Second}
	stated := o.Needs(plan)
	w, _, err := o.Idle(t.Context(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if u := w.Uncertainty / w.Seconds(); u < 11 || u > 13 {
		t.Errorf("±%.2f W in the first window", u)
	}
	if more := o.Needs(plan) - stated; more < 1500*time.Millisecond || more > 1700*time.Millisecond { // of each, a longer wait before it and a later end
		t.Errorf("two windows take %v more", more)
	}
}
