package measure

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"ridge/goharness/record"
)

// visitTo compares arms of 60 and 40 µs on a machine where loud slows them by 1.9 and 1.3.
func visitTo(t *testing.T, loud bool, quartets int) Visit {
	t.Helper()
	m := &machine{}
	f := [2]float64{1, 1}
	if loud {
		f = [2]float64{1.9, 1.3}
	}
	n := 0
	arm := func(i int, us float64) onMachine {
		return onMachine{m, i, func(*machine) time.Duration {
			n++
			return time.Duration(us * 1e3 * f[i] * (1 + 0.001*float64(n%7)))
		}}
	}
	x, err := Compare(context.Background(), arm(0, 60), arm(1, 40), CompareOptions{Now: m.Now, Quartets: quartets, Warmup: 3})
	if err != nil {
		t.Fatal(err)
	}
	return Visit{x.Ratio, x.Times}
}

// A visit with the CPUs further apart does not count, even where it was the quickest; it does where nothing else has enough quartets.
func TestVisitsWithTheCPUsNearCount(t *testing.T) {
	for _, x := range []struct {
		name     string
		barriers [2]float64
		quartets [2]int
		want     float64
	}{
		{"near second", [2]float64{210, 100}, [2]int{20, 24}, 1.9 / 1.3 * 1.5},
		{"near first", [2]float64{100, 210}, [2]int{20, 24}, 1.5},
		{"both near", [2]float64{100, 149}, [2]int{24, 20}, 1.5},
		{"few near", [2]float64{210, 100}, [2]int{20, 7}, 1.5},
		{"unknown", [2]float64{0, 100}, [2]int{24, 20}, 1.5},
	} {
		v := [2]Visit{visitTo(t, false, x.quartets[0]), visitTo(t, true, x.quartets[1])}
		for i, ns := range x.barriers {
			if ns > 0 {
				v[i].Ratio.BarrierNS = []float64{ns}
			}
		}
		got, err := Pool(v[0], v[1], 0)
		if err != nil || math.Abs(got.Ratio.Value/x.want-1) > 0.01 || len(got.Ratio.Quartets) != x.quartets[0]+x.quartets[1] {
			t.Errorf("%s: %v of %d quartets, want %v, err %v", x.name, got.Ratio.Value, len(got.Ratio.Quartets), x.want, err)
		}
		counted := map[string][]int{"near second": {1}, "near first": {0}}[x.name]
		if counted == nil {
			counted = []int{0, 1}
		}
		if !slices.Equal(got.Ratio.Counted, counted) || got.Ratio.Quiet != nil {
			t.Errorf("%s: visits %v count, want %v", x.name, got.Ratio.Counted, counted)
		}
		if third, err := Pool(got, v[0], 0); err != nil || len(third.Ratio.BarrierNS) != 3 && x.name != "unknown" {
			t.Errorf("%s: barriers %v of three visits, err %v", x.name, third.Ratio.BarrierNS, err)
		}
	}
	same := [2]Visit{visitTo(t, false, 20), visitTo(t, false, 20)}
	same[0].Ratio.BarrierNS, same[1].Ratio.BarrierNS = []float64{100}, []float64{210}
	if got, err := Pool(same[0], same[1], 0); err != nil || len(got.Ratio.Counted) != 2 {
		t.Errorf("a visit with the CPUs apart that found the same does not count: %v, err %v", got.Ratio.Counted, err)
	} else if two, err := Pool(got, same[0], 0); err != nil || !slices.Equal(two.Ratio.Counted, []int{0, 2}) {
		t.Errorf("it counts beside two others: %v, err %v", two.Ratio.Counted, err)
	}
	for _, x := range []struct {
		r      record.Ratio
		common float64
		want   bool
	}{
		{record.Ratio{BarrierNS: []float64{210, 100}, Visits: []int{20, 20}}, 100, false}, // one of the two
		{record.Ratio{BarrierNS: []float64{210, 100}, Visits: []int{20, 7}}, 140, true},
		{record.Ratio{BarrierNS: []float64{210, 100, 35}, Visits: []int{20, 20, 20}}, 70, false}, // one apart, one on one core
		{record.Ratio{BarrierNS: []float64{100, 35, 110}, Visits: []int{20, 20, 20}}, 100, true},
		{record.Ratio{}, 100, true},
		{record.Ratio{BarrierNS: []float64{140}}, 100, true},
		{record.Ratio{BarrierNS: []float64{160}}, 100, false},
		{record.Ratio{BarrierNS: []float64{60}}, 100, false},
	} {
		if PlacedAlike(x.r, x.common) != x.want {
			t.Errorf("barriers %v of visits %v beside %v: PlacedAlike is %v", x.r.BarrierNS, x.r.Visits, x.common, !x.want)
		}
	}
}

func TestTheCommonBarrierIsTheShortestThatIsNoException(t *testing.T) {
	many := slices.Repeat([]float64{75, 78, 82}, 30)
	for _, x := range []struct {
		name     string
		barriers []float64
		want     float64
	}{
		{"none", nil, 0},
		{"one", []float64{80}, 80},
		{"two that differ", []float64{330, 80}, 80},
		{"two alike and a shorter one", []float64{80, 35, 78}, 78},
		{"two alike and longer ones", []float64{330, 80, 340, 78, 350}, 78},
		{"four of 94 on one core", slices.Concat(many, []float64{35, 36, 35, 35}), 75},
		{"apart for most of the time", slices.Concat(many, slices.Repeat([]float64{330}, 500)), 75},
		{"near for a moment", slices.Concat(many[:9], slices.Repeat([]float64{330}, 500)), 330},
	} {
		if got := CommonBarrier(x.barriers); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// A visit during which the host ran both CPUs on one core has the shortest barrier and times twice as long: it counts for nothing.
func TestAVisitOnOneCoreDoesNotDecide(t *testing.T) {
	at := func(loud bool, quartets int, ns float64) Visit {
		v := visitTo(t, loud, quartets)
		v.Ratio.BarrierNS = []float64{ns}
		return v
	}
	got, err := Pool(at(false, 20, 78), at(true, 20, 35), 76)
	if err != nil || math.Abs(got.Ratio.Value/1.5-1) > 0.01 || !slices.Equal(got.Ratio.Counted, []int{0}) {
		t.Errorf("%v, visits %v count, err %v", got.Ratio.Value, got.Ratio.Counted, err)
	}
	if got, err = Pool(got, at(false, 20, 80), 76); err != nil || math.Abs(got.Ratio.Value/1.5-1) > 0.01 || !slices.Equal(got.Ratio.Counted, []int{0, 2}) {
		t.Errorf("%v, visits %v count, err %v", got.Ratio.Value, got.Ratio.Counted, err)
	}
	// Where no visit was placed as is common, all count.
	if got, err = Pool(at(false, 20, 330), at(false, 20, 35), 76); err != nil || len(got.Ratio.Counted) != 2 {
		t.Errorf("visits %v count, err %v", got.Ratio.Counted, err)
	}
}

func TestPooledVisitsCountTheQuietOne(t *testing.T) {
	loud, still := visitTo(t, true, 20), visitTo(t, false, 24)
	if loud.Ratio.Value < 2 {
		t.Fatalf("a loud visit gives %v", loud.Ratio.Value)
	}
	loud.Times[1].Disturbed, still.Times[1].Disturbed = []int{3}, []int{0, 5}
	got, err := Pool(loud, still, 0)
	if err != nil || math.Abs(got.Ratio.Value-1.5) > 0.01 || !slices.Equal(got.Ratio.Visits, []int{20, 24}) || len(got.Ratio.Quartets) != 44 {
		t.Errorf("%v from visits %v of %d quartets, err %v", got.Ratio.Value, got.Ratio.Visits, len(got.Ratio.Quartets), err)
	}
	if want := []int{3, 40, 45}; !slices.Equal(got.Times[1].Disturbed, want) || len(got.Times[1].SamplesNS) != 88 {
		t.Errorf("disturbed samples %v of %d, want %v", got.Times[1].Disturbed, len(got.Times[1].SamplesNS), want)
	}
	third, err := Pool(got, still, 0)
	if err != nil || !slices.Equal(third.Ratio.Visits, []int{20, 24, 24}) {
		t.Errorf("visits %v, err %v", third.Ratio.Visits, err)
	}
	// The quiet visit alone may itself be the exception; two are not.
	if half := HalfWidth(got.Ratio); half < 0.1 {
		t.Errorf("±%.1f %% by a single quiet visit beside one of another ratio", 100*half)
	}
	if half := HalfWidth(third.Ratio); half > 0.02 {
		t.Errorf("the loud visit widens the interval to ±%.1f %%", 100*half)
	}
	if len(loud.Times[1].SamplesNS) != 40 || loud.Ratio.Visits != nil {
		t.Error("pooling changed the first visit")
	}
}

func TestVisitsThatCannotBePooledAreRefused(t *testing.T) {
	v := visitTo(t, false, 8)
	short := v
	short.Times[1].SamplesNS = short.Times[1].SamplesNS[1:]
	if _, err := Pool(v, short, 0); err == nil {
		t.Error("a visit that lacks a sample was pooled")
	}
	var err error
	for range MaxVisits - 1 {
		if v, err = Pool(v, visitTo(t, false, 8), 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Pool(v, v, 0); err == nil {
		t.Errorf("more than %d visits were pooled", MaxVisits)
	}
}

func TestSettledIsNarrowOrClearOfTheCuts(t *testing.T) {
	eight := make([]float64, 8)
	for _, c := range []struct {
		name     string
		lo, hi   float64
		quartets []float64
		want     bool
	}{
		{"narrow at a cut", 1.09, 1.11, eight, true},
		{"wide, clear of the cuts", 1.2, 1.4, eight, true},
		{"wide, over a cut", 1.0, 1.2, eight, false},
		{"too few", 1.2, 1.4, eight[:7], false},
	} {
		r := record.Ratio{Value: (c.lo + c.hi) / 2, CI95: [2]float64{c.lo, c.hi}, Quartets: c.quartets}
		if got := Settled(r, []float64{1.1, 1.5}, true); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestMarginTellsHowFarTheNearestCutIs(t *testing.T) {
	cuts := []float64{0.95, 1.1, 1.5}
	for _, c := range []struct {
		value, lo, hi float64
		cuts          []float64
		want          float64
	}{
		{1.0, 0.99, 1.01, cuts, math.Log(1/0.95) / math.Log(1/0.99)},
		{1.08, 1.04, 1.09, cuts, math.Log(1.1/1.08) / math.Log(1.09/1.08)}, // the nearer cut lies on the narrower side
		{1.09, 1.07, 1.11, cuts, math.Log(1.1/1.09) / math.Log(1.11/1.09)}, // below 1: it is within
		{1.1, 1.08, 1.12, cuts, 0},
		{3, 2.9, 3.1, cuts, math.Log(3/1.5) / math.Log(3/2.9)},
		{1.2, 1.2, 1.2, cuts, math.Inf(1)},
		{1.2, 1.1, 1.3, nil, math.Inf(1)},
		{1.2, 0, math.Inf(1), cuts, 0},
		{0, 0, 0, cuts, 0},
	} {
		if got := Margin(record.Ratio{Value: c.value, CI95: [2]float64{c.lo, c.hi}}, c.cuts); !(math.Abs(got-c.want) < 1e-12 || got == c.want) {
			t.Errorf("%g [%g, %g]: %g, want %g", c.value, c.lo, c.hi, got, c.want)
		}
	}
}
