//go:build cuda && linux && cgo

package driver

import "testing"

func TestTheLeastStepOfEventsIsTheirResolution(t *testing.T) {
	for _, tc := range []struct {
		name string
		ns   []float64
		want float64 // 0: none
	}{
		{"steps of 32 ns, some missed", []float64{0, 32, 32, 96, 192, 224}, 32},
		{"out of order", []float64{0, 512, 0, 1536, 1024}, 512},
		{"a clock that stands still", []float64{0, 0, 0}, 0},
	} {
		got, err := leastStep(tc.ns)
		if got != tc.want || (err != nil) != (tc.want == 0) {
			t.Errorf("%s: %v, %v, want %v", tc.name, got, err, tc.want)
		}
	}
}
