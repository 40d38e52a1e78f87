package ceiling

import (
	"math/rand/v2"
	"testing"
)

// sweep makes a latency sweep over the capacities; noise is relative and uniform, drawn for
// working sets above from.
func sweep(perOctave int, capacities []int64, latency []float64, noise float64, from int64) []Point {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []Point
	for n := int64(8 * kib); n <= 256*mib; n *= 2 {
		for s := range perOctave {
			ws := n + n*int64(s)/int64(perOctave)
			v := latency[len(latency)-1]
			for i, c := range capacities {
				if ws <= c {
					v = latency[i]
					break
				}
			}
			if ws > from {
				v *= 1 + noise*(2*rng.Float64()-1)
			}
			out = append(out, Point{ws, v})
		}
	}
	return out
}

func TestPlateausAreTheLevelsOfMemory(t *testing.T) {
	capacities := []int64{32 * kib, 512 * kib, 32 * mib}
	latency := []float64{1.2, 3.5, 12, 95}
	victim := sweep(2, capacities, latency, 0, 0)
	for i, p := range victim { // an exclusive L3 adds the L2's capacity: between 32 and 33 MiB nothing shows, the slope above is soft
		if p.Bytes == 48*mib {
			victim[i].Value = 40
		}
	}
	spike := sweep(2, capacities, latency, 0, 0)
	spike[18].Value *= 1.5 // a neighbour's moment in the middle of L3
	for _, tc := range []struct {
		name   string
		points []Point
		want   []float64
	}{
		{"two points per octave", sweep(2, capacities, latency, 0, 0), latency},
		{"one point per octave", sweep(1, capacities, latency, 0, 0), latency},
		{"shared L3 with neighbours", sweep(2, capacities, latency, 0.06, mib), latency},
		{"victim cache with a slope", victim, latency},
		{"a disturbed point", spike, latency},
		{"no L3", sweep(1, []int64{64 * kib, mib}, []float64{1, 4, 110}, 0.03, 0), []float64{1, 4, 110}},
		{"flat", sweep(1, nil, []float64{7}, 0.05, 0), []float64{7}},
		{"one point", []Point{{1, 5}}, []float64{5}},
		{"nothing", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Plateaus(tc.points, 0.15)
			if len(got) != len(tc.want) {
				t.Fatalf("%d plateaus %+v, want %v", len(got), got, tc.want)
			}
			for i, p := range got {
				if d := differ(p.Value, tc.want[i]); d > 0.08 {
					t.Errorf("plateau %d at %.3g, want %.3g", i, p.Value, tc.want[i])
				}
				if i > 0 && p.From <= got[i-1].To {
					t.Errorf("plateau %d from %d overlaps the one to %d", i, p.From, got[i-1].To)
				}
			}
		})
	}
}

func TestPlateausAreMatchedToTheLevelsReported(t *testing.T) {
	levels := []Level{{"L1", 32 * kib, 0}, {"L2", 512 * kib, 0}, {"L3", 32 * mib, 0}, {Name: DRAM}}
	for _, tc := range []struct {
		name   string
		found  []Plateau
		levels []Level
		want   []string
	}{
		{"as reported", []Plateau{{From: 8 * kib, To: 32 * kib}, {From: 64 * kib, To: 512 * kib}, {From: mib, To: 16 * mib}, {From: 128 * mib, To: 256 * mib}}, levels,
			[]string{"L1", "L2", "L3", DRAM}},
		{"4 MiB of L3 are ours", []Plateau{{From: 8 * kib, To: 32 * kib}, {From: 64 * kib, To: 256 * kib}, {From: mib, To: 4 * mib}, {From: 8 * mib, To: 64 * mib}}, levels,
			[]string{"L1", "L2", "L3", DRAM}},
		{"one L2 plateau is missing", []Plateau{{From: 8 * kib, To: 32 * kib}, {From: mib, To: 16 * mib}, {From: 64 * mib, To: 64 * mib}}, levels, []string{"L1", "L3", DRAM}},
		{"a sweep that ends in the cache", []Plateau{{From: 8 * kib, To: 32 * kib}, {From: mib, To: 16 * mib}}, levels, []string{"L1", "L3"}},
		{"nothing reported", []Plateau{{From: 8 * kib, To: 32 * kib}, {From: mib, To: 16 * mib}}, []Level{{Name: DRAM}}, []string{"", ""}},
		{"nothing found", nil, levels, nil},
	} {
		got := Match(tc.found, tc.levels)
		if len(got) != len(tc.want) {
			t.Fatalf("%s: %v", tc.name, got)
		}
		for i, l := range got {
			if l.Name != tc.want[i] {
				t.Errorf("%s: plateau %d is %q, want %q", tc.name, i, l.Name, tc.want[i])
			}
		}
	}
}

func TestLevelsComeFromAPlausibleSweepOnly(t *testing.T) {
	found := []Plateau{{From: 8 * kib, To: 32 * kib}, {From: 64 * kib, To: 512 * kib}, {From: 128 * mib, To: 256 * mib}}
	got := LevelsOf(found)
	want := []Level{{"L1", 32 * kib, 32 * kib}, {"L2", 512 * kib, 512 * kib}, {Name: DRAM}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("level %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if got := LevelsOf(found[:1]); got != nil {
		t.Errorf("one plateau gives %+v", got)
	}
	if got := LevelsOf(append(found, found...)); got != nil {
		t.Errorf("six plateaus give %+v", got)
	}
}
