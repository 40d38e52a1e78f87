package power_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
)

// The mean over 20 updates holds no 21st, and what a counter shows at once after it stood still was not drawn at once.
func TestTheHighestPowerOfACounterWasDrawn(t *testing.T) {
	for _, tc := range []struct {
		name             string
		interval, stands time.Duration
	}{
		{"an update each millisecond", time.Millisecond, 0},
		{"an update each 20 ms", 20 * time.Millisecond, 0},
		{"an update each 100 ms", 100 * time.Millisecond, 0},
		{"one that stands still for 250 ms and catches up", time.Millisecond, 250 * time.Millisecond},
	} {
		clock := &powertest.Clock{T: time.Hour}
		d := rapl("package-0")
		d.Interval = tc.interval
		m := &shown{domain: d, now: func() time.Duration { return clock.T }, value: func(at time.Duration) uint64 {
			if from := time.Hour + 600*time.Millisecond; at > from && at < from+tc.stands {
				at = from
			}
			return uint64(700 * (at / tc.interval * tc.interval).Seconds() / d.Scale)
		}}
		c := clock.Power()
		sleep := c.Sleep
		c.Sleep = func(ctx context.Context, d time.Duration) error { return sleep(ctx, d+300*time.Microsecond) } // as a host's are
		w, err := power.NewObserver(m, c, nil).Window(t.Context(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if w.MaxWatts < w.MeanWatts() || w.MaxWatts > 700*1.002 {
			t.Errorf("%s: at most %.2f W, %.2f W on average, and 700 W were drawn all the time", tc.name, w.MaxWatts, w.MeanWatts())
		}
	}
}

// Means of a second, once a second, of a maker who states no interval: few of its updates are seen by the time that its values tell how fine it is.
func TestASensorOfOneHertzIsNotTakenForAStuckOne(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		clock := &powertest.Clock{T: time.Second + time.Duration(r.Int64N(int64(time.Second)))}
		l := randomLoad(r)
		l.From, l.Total = 7*time.Second, 17*time.Second
		m := powertest.NewSimulated(r, func() time.Duration { return clock.T }, l)
		m.Interval, m.Averaging, m.Stated = time.Second, time.Second, 0
		o := power.NewObserver(m, clock.Power(), nil)
		if _, _, err := o.Idle(t.Context(), 2*time.Second); err != nil {
			t.Fatal(err)
		}
		clock.T = l.From
		if _, err := o.Measure(t.Context(), power.Plan{Windows: 2, Length: 2 * time.Second}, r.Float64); err != nil {
			t.Fatal(err)
		}
	}
}
