package measure

import (
	"math"
	"slices"
	"testing"

	"ridge/goharness/record"
)

// The times that a profile shows are those of its ratio: half of the samples here were disturbed by a factor that differs between the arms.
func TestTheTimesOfAComparisonAreThoseOfItsRatio(t *testing.T) {
	var a, b []float64
	for i := range 24 {
		slow := 1.0
		if i%3 > 0 {
			slow = 2
		}
		a, b = append(a, 150*slow), append(b, 100*(1+2*(slow-1)))
	}
	var quartets []Quartet
	for i := 0; i+1 < len(a); i += 2 {
		quartets = append(quartets, Quartet{A: (a[i] + a[i+1]) / 2, B: (b[i] + b[i+1]) / 2})
	}
	times := [2]record.Time{{MedianNS: 300, SamplesNS: a}, {MedianNS: 300, SamplesNS: b}}
	several, err := ratioOfVisits(quartets, [2][]float64{a, b}, []int{6, 6}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	single := record.Ratio{Value: several.Value, Quartets: several.Quartets, Quiet: []int{0, 3, 6, 9}}
	for name, tc := range map[string]struct {
		r     record.Ratio
		times [2]record.Time
		level float64 // of both arms together
	}{
		"of several visits":           {several, times, 150 * 100},
		"of one visit":                {single, times, 225 * 200},
		"samples that were not kept":  {several, [2]record.Time{{MedianNS: 300}, {MedianNS: 300}}, 300 * 300},
		"visits that nobody measured": {record.Ratio{Value: 1.5, Quartets: several.Quartets, Visits: []int{100, -88}}, times, 300 * 300},
	} {
		u, f := Undisturbed(tc.r, tc.times)
		if math.Abs(u/f-tc.r.Value) > 1e-12*tc.r.Value || math.Abs(u*f/tc.level-1) > 1e-9 {
			t.Errorf("%s: %v and %v ns, ratio %v, want %v and a product of %v", name, u, f, u/f, tc.r.Value, tc.level)
		}
	}
	if math.Abs(several.Value-1.5) > 1e-9 {
		t.Errorf("ratio %v of times that undisturbed are 150 and 100", several.Value)
	}
}

// Few quartets that disagree have a pseudo-median far from the quotient of the arms' medians.
func TestNoTimeIsGivenThatNothingTook(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b []float64 // samples, two a quartet
	}{
		"one quartet slowed in an arm":   {[]float64{230, 235, 283, 280, 232, 231}, []float64{150, 151, 900, 880, 155, 152}},
		"every quartet in one sample":    {[]float64{100, 900, 100, 900, 100, 900}, []float64{100, 101, 100, 102, 100, 101}},
		"both arms, in other quartets":   {[]float64{100, 800, 790, 100, 101, 102}, []float64{50, 51, 52, 400, 410, 52}},
		"a single quartet":               {[]float64{100, 900}, []float64{300, 310}},
		"equal samples of equal quartet": {[]float64{100, 100}, []float64{50, 50}},
	} {
		var qs []Quartet
		for i := 0; i < len(tc.a); i += 2 {
			qs = append(qs, Quartet{tc.a[i] + tc.a[i+1], tc.b[i] + tc.b[i+1]})
		}
		r, err := ratioOf(qs, Confidence)
		if err != nil {
			t.Fatal(err)
		}
		u, f := Undisturbed(r, [2]record.Time{{MedianNS: Median(tc.a), SamplesNS: tc.a}, {MedianNS: Median(tc.b), SamplesNS: tc.b}})
		if math.Abs(u/f/r.Value-1) > 1e-9 {
			t.Errorf("%s: %v and %v ns, ratio %v, want %v", name, u, f, u/f, r.Value)
		}
		for arm, ns := range []float64{u, f} {
			of := [][]float64{tc.a, tc.b}[arm]
			if ns < slices.Min(of)*(1-1e-9) || ns > slices.Max(of)*(1+1e-9) {
				t.Errorf("%s: arm %d took %v ns, its samples %v", name, arm, ns, of)
			}
		}
	}
}
