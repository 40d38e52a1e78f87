package power

import (
	"math"
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestAReadingCountsByTheTimeThatItStandsFor(t *testing.T) {
	for _, tc := range []struct {
		name              string
		s                 series
		repeats           bool
		mean, independent float64
		updates           int
		held              time.Duration
	}{
		{"regular", series{{0, 1}, {100 * ms, 2}, {200 * ms, 3}, {300 * ms, 4}, {400 * ms, 5}}, false, 3, 1.6e5 / (2*50*100 + 3*1e4), 5, 0},
		{"one came late", series{{0, 1}, {100 * ms, 1}, {400 * ms, 9}}, false, (250.0 + 9*150) / 400, 1.6e5 / (250*250 + 150*150), 2, 0},
		{"one came after the end", series{{0, 1}, {300 * ms, 2}, {900 * ms, 50}}, false, (150.0 + 2*250) / 400, 1.6e5 / (150*150 + 250*250), 2, 0},
		{"one stands for long", series{{0, 1}, {100 * ms, 7}, {200 * ms, 7}, {300 * ms, 7}, {400 * ms, 7}}, false, (50.0 + 7*350) / 400, 1.6e5 / (50*100 + 350*350), 2, 50 * ms},
		{"one repeats itself", series{{0, 1}, {100 * ms, 7}, {200 * ms, 7}, {300 * ms, 7}, {400 * ms, 7}}, true, (50.0 + 7*350) / 400, 1.6e5 / (2*50*100 + 3*1e4), 2, 50 * ms},
		{"one reading", series{{70 * ms, 5}}, false, 5, 1, 1, 100 * ms},
	} {
		got := tc.s.over(0, 400*ms, 100*ms, 300*ms, tc.repeats)
		if math.Abs(got.mean-tc.mean) > 1e-9 || math.Abs(got.independent-tc.independent) > 1e-9 || got.updates != tc.updates || (got.held-tc.held).Abs() > time.Microsecond {
			t.Errorf("%s: %+v, want mean %v of %v independent, %d updates, held %v", tc.name, got, tc.mean, tc.independent, tc.updates, tc.held)
		}
	}
	if got := (series{}).all(); got != (summary{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// The interval is what was seen of it, not the maker's; what is read too seldom, or changes too seldom, tells none.
func TestASensorsIntervalIsSeenFromItsChanges(t *testing.T) {
	for _, tc := range []struct {
		name        string
		every, true time.Duration
		skips       func(n int) bool // updates that show the value before
		readings    int
		low, high   time.Duration
	}{
		{"100 ms", 25 * ms, 100 * ms, nil, 100, 95 * ms, 105 * ms},
		{"250 ms", 25 * ms, 250 * ms, nil, 100, 245 * ms, 255 * ms},
		{"250 ms, four changes", 25 * ms, 250 * ms, nil, 40, 0, 0},
		{"coarse: most updates show nothing new", 25 * ms, 100 * ms, func(n int) bool { return !slices.Contains([]int{0, 1, 3, 5, 10, 15, 20}, n%25) }, 400, 95 * ms, 105 * ms},
		{"read less often than it is updated", 100 * ms, 40 * ms, nil, 100, 0, 0},
		{"steady for longer than any interval", 25 * ms, 100 * ms, func(n int) bool { return n%40 > 0 }, 2000, 0, 0},
	} {
		var p pulse
		for i := range tc.readings {
			at := time.Duration(i) * tc.every
			n := int(at / tc.true)
			for n > 0 && tc.skips != nil && tc.skips(n) {
				n--
			}
			p.see(at, uint64(1000+n*7%13*5+n))
		}
		if got := p.interval(); got < tc.low || got > tc.high {
			t.Errorf("%s: %v, want %v to %v", tc.name, got, tc.low, tc.high)
		}
	}
}
