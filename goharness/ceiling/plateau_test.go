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
