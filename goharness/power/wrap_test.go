package power

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A counter that truly advances, seen modulo its range, gives back what it advanced by as long as no
// two wraps lie between two readings.
func TestWrapsAreUndoneWhateverTheCounter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Domain{Name: "x", Unit: Joules, Scale: 1e-6, Interval: time.Millisecond, Range: rapid.Uint64Range(1e6, 1<<62).Draw(t, "range")}
		truth := rapid.Uint64Range(0, d.Range-1).Draw(t, "start")
		shown := truth
		var total, want uint64
		for range rapid.IntRange(1, 20).Draw(t, "readings") {
			step := rapid.Uint64Range(0, d.Range-1).Draw(t, "advance")
			next := (shown + step) % d.Range
			n, err := d.Delta(shown, next)
			if err != nil {
				t.Fatal(err)
			}
			total, want, shown = total+n, want+step, next
		}
		if total != want {
			t.Fatalf("advanced by %d, counted %d", want, total)
		}
	})
}

func TestACounterWithoutWrapsThatGoesBackIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Uint64Range(1, 1<<63).Draw(t, "from")
		to := rapid.Uint64Range(0, from-1).Draw(t, "to")
		if n, err := (Domain{Name: "x"}).Delta(from, to); !errors.Is(err, ErrNoData) || n != 0 {
			t.Fatalf("from %d to %d: %d, %v", from, to, n, err)
		}
	})
}

// Whatever two readings show, the answer is a plausible power or a reason.
func TestNoPairOfReadingsGivesAnImplausiblePower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Domain{Name: "x", Unit: Joules, Scale: rapid.Float64Range(1e-10, 1e-3).Draw(t, "scale"), Interval: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "interval"))}
		if rapid.Bool().Draw(t, "wraps") {
			d.Range = rapid.Uint64Range(1, 1<<62).Draw(t, "range")
		}
		dt := time.Duration(rapid.Int64Range(-1e9, 100e9).Draw(t, "dt"))
		j, err := d.Used(rapid.Uint64().Draw(t, "from"), rapid.Uint64().Draw(t, "to"), dt)
		if err != nil {
			if !errors.Is(err, ErrNoData) || j != 0 {
				t.Fatalf("%v with %v J", err, j)
			}
			return
		}
		if w := (j - d.Scale) / (dt + d.Interval + time.Millisecond).Seconds(); j < 0 || w > plausibleWatts {
			t.Fatalf("%v J in %v", j, dt)
		}
	})
}

func TestPollsComeBeforeACounterCanWrapTwice(t *testing.T) {
	for _, tc := range []struct {
		d    Domain
		most time.Duration
	}{
		{Domain{Unit: Joules, Scale: 1e-6, Range: 65532610987}, time.Second},
		{Domain{Unit: Joules, Scale: 1e-6, Range: 1e9}, 100 * time.Millisecond},
		{Domain{Unit: Joules, Scale: 1e-3}, time.Second},
	} {
		got := within([]Domain{tc.d})
		if got != tc.most {
			t.Errorf("%+v: %v, want %v", tc.d, got, tc.most)
		}
		if tc.d.Range > 0 && got.Seconds()*plausibleWatts >= float64(tc.d.Range)*tc.d.Scale {
			t.Errorf("%+v: may wrap twice in %v", tc.d, got)
		}
	}
}
