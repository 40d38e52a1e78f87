package power_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
)

// simulation is one kind of sensor over random loads.
type simulation struct {
	name   string
	load   func(r *rand.Rand, l *powertest.Load)
	sensor func(r *rand.Rand, s *powertest.Simulated)
	delay  time.Duration // a tenth of the sleeps end late by up to this
	sticks bool          // trials may be refused; otherwise none of a thousand is
	least  float64       // share that lies inside of the uncertainty; 0: 0.95
}

// The baseline is over by loadFrom, from where on the load lasts for loadLasts at least.
const loadFrom, loadLasts = 3500 * time.Millisecond, 4500 * time.Millisecond

type outcome struct {
	trials, refused, inside int
	width                   float64 // relative uncertainty, mean
}

func (s simulation) run(t *testing.T, trials int, plan power.Plan) outcome {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 12))
	out := outcome{trials: trials}
	for range trials {
		clock := &powertest.Clock{}
		l := randomLoad(r)
		if s.load != nil {
			s.load(r, &l)
		}
		m := powertest.NewSimulated(r, func() time.Duration { return clock.T }, l)
		if s.sensor != nil {
			s.sensor(r, m)
		}
		c := clock.Power()
		sleep := c.Sleep
		c.Sleep = func(ctx context.Context, d time.Duration) error {
			if s.delay > 0 && r.IntN(10) == 0 {
				d += time.Duration(r.Int64N(int64(s.delay)))
			}
			return sleep(ctx, d)
		}
		o := power.NewObserver(m, c, nil)
		_, _, err := o.Idle(t.Context(), 2*time.Second)
		var ws []power.Window
		if err == nil {
			clock.T = max(clock.T, loadFrom)
			ends := clock.T + o.Needs(plan)
			ws, err = o.Measure(t.Context(), plan, r.Float64)
			if s.delay == 0 && clock.T > ends {
				t.Fatalf("%s: the windows took %v longer than the load is asked for", s.name, clock.T-ends)
			}
		}
		switch {
		case errors.Is(err, power.ErrNoData):
			out.refused++
			continue
		case err != nil:
			t.Fatal(err)
		}
		got, truth := power.Combine(ws), drawn(m, ws)
		if math.Abs(got.Joules-truth) <= got.Uncertainty {
			out.inside++
		}
		out.width += got.Uncertainty / got.Joules
	}
	out.width /= max(1, float64(trials-out.refused))
	return out
}

// drawn is what the load of a simulated meter took in the windows.
func drawn(m interface {
	True(from, to time.Duration) float64
}, ws []power.Window) float64 {
	joules := 0.0
	for _, w := range ws {
		joules += m.True(time.Duration(w.StartNS), time.Duration(w.EndNS))
	}
	return joules
}

func randomLoad(r *rand.Rand) powertest.Load {
	return powertest.Load{Idle: 70 + 60*r.Float64(), Level: 250 + 450*r.Float64(), From: loadFrom, Total: loadFrom + 12*time.Second, Sigma: 20 * r.Float64(),
		Drift: 8*r.Float64() - 4, Ripple: 15 * r.Float64(), Period: time.Duration((3 + 400*r.Float64()) * 1e6)}
}

func simulations() []simulation {
	steady := func(r *rand.Rand, l *powertest.Load) { l.Sigma, l.Ripple, l.Drift = 0.5*r.Float64(), 0, 0 }
	drifts := func(r *rand.Rand, l *powertest.Load) { l.Drift = 40*r.Float64() - 20 }
	coarse := func(_ *rand.Rand, s *powertest.Simulated) { s.Step = 1 }
	slow := func(_ *rand.Rand, s *powertest.Simulated) { s.Interval = 250 * time.Millisecond }
	averages := func(_ *rand.Rand, s *powertest.Simulated) { s.Averaging = time.Second }
	stuck := func(r *rand.Rand, s *powertest.Simulated) {
		s.StuckFrom, s.StuckFor = loadFrom+time.Duration(r.Int64N(int64(loadLasts))), time.Hour
	}
	anywhere := func(r *rand.Rand, s *powertest.Simulated) {
		s.StuckFrom, s.StuckFor = time.Duration(r.Int64N(int64(loadFrom+loadLasts))), time.Hour
	}
	aWhile := func(r *rand.Rand, s *powertest.Simulated) {
		s.StuckFrom, s.StuckFor = loadFrom+time.Duration(r.Int64N(int64(loadLasts-time.Second))), time.Second
	}
	all := func(fs ...func(*rand.Rand, *powertest.Simulated)) func(*rand.Rand, *powertest.Simulated) {
		return func(r *rand.Rand, s *powertest.Simulated) {
			for _, f := range fs {
				f(r, s)
			}
		}
	}
	return []simulation{
		{name: "good"},
		{name: "steps of 1 W", sensor: coarse},
		{name: "steps of 1 W, steady load", load: steady, sensor: coarse},
		{name: "updates each 250 ms, 100 stated", sensor: slow},
		{name: "means of 1 s", sensor: averages},
		{name: "means of 1 s in steps of 1 W, steady load", load: steady, sensor: all(averages, coarse)},
		{name: "polls up to 1 s late", delay: time.Second},
		{name: "power drifts", load: drifts},
		{name: "power drifts, polls up to 1 s late", load: drifts, delay: time.Second},
		{name: "power drifts, updates each 250 ms", load: drifts, sensor: slow},
		{name: "stuck from a moment of the load", sensor: stuck, sticks: true},
		{name: "stuck from any moment", sensor: anywhere, sticks: true},
		{name: "stuck from a moment, means of 1 s", sensor: all(averages, stuck), sticks: true},
		{name: "stuck for 1 s", sensor: aWhile, sticks: true},
		// What cannot always be told apart from a coarse sensor under a steady load.
		{name: "stuck for 1 s, steps of 1 W", sensor: all(coarse, aWhile), sticks: true, least: 0.9},
		{name: "stuck from a moment, steps of 1 W", sensor: all(coarse, stuck), sticks: true, least: 0.8},
		{name: "stuck from a moment, means of 1 s, 1 W", sensor: all(coarse, averages, stuck), sticks: true, least: 0.6},
	}
}

// TRIALS=2000 gives the figures of docs/energy.md.
func TestSensorsOfWattsStateTheirUncertainty(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of windows are simulated; the observer's goroutines meet the race detector in its other tests")
	}
	trials := 150
	if n, err := strconv.Atoi(os.Getenv("TRIALS")); err == nil {
		trials = n
	}
	for _, s := range simulations() {
		for _, windows := range []int{1, 2} {
			o := s.run(t, trials, power.Plan{Windows: windows, Length: 2 * time.Second})
			given := o.trials - o.refused
			t.Logf("%-42s %d of 2 s: %5.1f %% of %d inside ±%.2f %%, %d refused", s.name, windows, 100*float64(o.inside)/float64(max(1, given)), given, 100*o.width, o.refused)
			least := s.least
			if least == 0 {
				least = 0.95
			}
			if o.refused > trials/1000 && !s.sticks {
				t.Errorf("%s, %d windows: %d of %d trials refused", s.name, windows, o.refused, o.trials)
			}
			// Of few that are given the share says little; then it is of all that none is wrong.
			if of := max(given, o.trials/2); float64(given-o.inside) > (1-least)*float64(of) {
				t.Errorf("%s, %d windows: %d of %d inside", s.name, windows, o.inside, given)
			}
			if o.width > 0.12 {
				t.Errorf("%s, %d windows: ±%.1f %% says nothing", s.name, windows, 100*o.width)
			}
		}
	}
}

// beside is a counter of the true energy with the simulated sensor beside it.
type beside struct{ *powertest.Simulated }

func (m beside) Domains() []power.Domain {
	return []power.Domain{{Name: "board", Unit: power.Joules, Scale: 1e-3, Interval: 100 * time.Millisecond}}
}

func (m beside) Read(context.Context) (power.Reading, error) {
	at := m.Now()
	return power.Reading{Counts: []uint64{uint64(m.True(0, at/m.Stated*m.Stated) * 1e3)}, Sensors: power.Sensors{PowerWatts: m.Shows(at)}}, nil
}

// A sensor beside a counter is read more often than it is updated: its repeats are not independent.
func TestASecondSensorStatesItsUncertainty(t *testing.T) {
	const trials = 200
	for _, interval := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second} {
		r := rand.New(rand.NewPCG(13, 14))
		inside, width, wrong := 0, 0.0, 0
		for range trials {
			clock := &powertest.Clock{}
			l := randomLoad(r)
			l.From, l.Total = 0, 10*time.Second
			m := powertest.NewSimulated(r, func() time.Duration { return clock.T }, l)
			m.Interval = interval
			clock.T = time.Second
			ws, err := power.NewObserver(beside{m}, clock.Power(), nil).Measure(t.Context(), power.Plan{Windows: 2, Length: 2 * time.Second}, r.Float64)
			if err != nil {
				t.Fatal(err)
			}
			got, truth := power.Combine(ws), drawn(m, ws)
			if math.Abs(got.PowerWatts-truth/got.Seconds) <= got.PowerError {
				inside++
			}
			if got.Disagrees() != "" {
				wrong++
			}
			width += got.PowerError / got.PowerWatts / trials
		}
		t.Logf("updates each %v: %.1f %% of %d inside ±%.2f %%", interval, 100*float64(inside)/trials, trials, 100*width)
		if inside < trials*95/100 || wrong > 0 {
			t.Errorf("updates each %v: %d of %d inside, %d disagree", interval, inside, trials, wrong)
		}
	}
}
