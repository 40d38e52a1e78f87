package power_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
)

// sampled is a counter of what a sensor saw of a load in the first 25 of each 100 ms, as that of Hopper is.
type sampled struct {
	*powertest.Simulated
	offset time.Duration
	joules []float64 // by update
}

func (m *sampled) Domains() []power.Domain {
	return []power.Domain{{Name: "board", Unit: power.Joules, Scale: 1e-3, Interval: 100 * time.Millisecond, Jitter: 25 * time.Millisecond}}
}

func (m *sampled) Read(context.Context) (power.Reading, error) {
	const every, seen = 100 * time.Millisecond, 25 * time.Millisecond
	n := int((m.Now() - m.offset) / every)
	for k := len(m.joules); k <= n; k++ {
		from := m.offset + time.Duration(k-1)*every
		m.joules = append(m.joules, m.joules[k-1]+m.True(from, from+seen)*float64(every/seen))
	}
	return power.Reading{Counts: []uint64{uint64(m.joules[n] * 1e3)}}, nil
}

// Trap 15, of the counter: noise and a ripple of any period lie within the stated uncertainty. A load that repeats itself as often as the sensor looks does
// not, and nothing that is read tells: docs/energy.md says so with these figures.
func TestACounterThatSeesAQuarterOfTheTimeStatesItsUncertainty(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: hundreds of windows are simulated")
	}
	const trials = 400
	for _, tc := range []struct {
		name  string
		in    func(r *rand.Rand, l *powertest.Load)
		least int
	}{
		{"any period", func(*rand.Rand, *powertest.Load) {}, trials * 95 / 100},
		{"within a hundredth of the sensor's period", func(r *rand.Rand, l *powertest.Load) {
			l.Period = 99*time.Millisecond + time.Duration(r.Int64N(int64(2*time.Millisecond)))
		}, 0},
	} {
		for _, length := range []time.Duration{2 * time.Second, 5 * time.Second} {
			r := rand.New(rand.NewPCG(15, 16))
			inside, width, worst := 0, 0.0, 0.0
			for range trials {
				clock := &powertest.Clock{T: time.Second}
				l := randomLoad(r)
				l.From, l.Total = 0, 14*time.Second
				tc.in(r, &l)
				m := &sampled{powertest.NewSimulated(r, func() time.Duration { return clock.T }, l), time.Duration(r.Int64N(int64(100 * time.Millisecond))), []float64{0}}
				ws, err := power.NewObserver(m, clock.Power(), nil).Measure(t.Context(), power.Plan{Windows: 2, Length: length}, r.Float64)
				if err != nil {
					t.Fatal(err)
				}
				got, truth := power.Combine(ws), drawn(m, ws)
				if math.Abs(got.Joules-truth) <= got.Uncertainty {
					inside++
				}
				width += got.Uncertainty / got.Joules / trials
				worst = max(worst, math.Abs(got.Joules/truth-1))
			}
			t.Logf("%s, 2 windows of %v: %.1f %% inside ±%.2f %%, at most %.1f %% off", tc.name, length, 100*float64(inside)/trials, 100*width, 100*worst)
			if inside < tc.least {
				t.Errorf("%s, 2 windows of %v: %d of %d inside", tc.name, length, inside, trials)
			}
		}
	}
}
