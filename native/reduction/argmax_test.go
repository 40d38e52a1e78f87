//go:build cgo && linux

package reduction_test

import (
	"math"
	"testing"

	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
	"ridge/native/reduction"
)

// Of a long run, which some kernels read as four streams, no element is left out: one that exceeds all others is found at the ends of the streams and
// between.
func TestTheExtremumOfALongRunIsFoundAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 4 MiB")
	}
	const n = 1<<20 + 4096 + 77
	places := []int{0, 15, 16, n - 1, n - 77, n - 78}
	for _, block := range []int{4096, 8192} { // of 64 rounds of eight vectors, whose lengths differ
		quarter := n / (4 * block) * block
		for i := 1; i <= 4; i++ {
			places = append(places, i*quarter-17, i*quarter-1, i*quarter, i*quarter+15, i*quarter-quarter/2)
		}
	}
	x := make([]float32, n)
	for name, v := range map[string]float32{"max": 1, "min": -1} {
		for _, k := range kerneltest.Names(native.New(), kerneltest.Op(t, name, record.FP32, params("rows", 1, "cols", 1))) {
			for _, at := range places {
				x[at] = v
				if got, err := reduction.Extremum(k, name, x); err != nil || got != v {
					t.Errorf("%s, %s at %d: %g, %v, want %g", k, name, at, got, err, v)
				}
				x[at] = 0
			}
		}
	}
}

func TestArgmaxGivesTheFirstOfEqualsAndTheFirstNaN(t *testing.T) {
	const n = 3*16384 + 77 // several blocks and a tail
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	negZero := float32(math.Copysign(0, -1))
	type put struct {
		at int
		v  float32
	}
	for name, c := range map[string]struct {
		fill float32
		puts []put
		want int64
	}{
		"all equal":            {1, nil, 0},
		"all -inf":             {-inf, nil, 0},
		"twice in a block":     {0, []put{{901, 5}, {333, 5}}, 333},
		"in two blocks":        {0, []put{{20000, 5}, {40000, 5}}, 20000},
		"in the tail":          {0, []put{{n - 1, 5}, {n - 2, 4}}, n - 1},
		"-0 and +0":            {-1, []put{{7, negZero}, {9, 0}}, 7},
		"+0 and -0":            {-1, []put{{7, 0}, {9, negZero}}, 7},
		"NaN above infinity":   {0, []put{{100, inf}, {17000, nan}, {17005, nan}}, 17000},
		"NaN first":            {0, []put{{0, nan}, {1, inf}}, 0},
		"NaN in the tail":      {0, []put{{5, inf}, {n - 3, nan}, {n - 1, nan}}, n - 3},
		"infinity after large": {3e38, []put{{30000, inf}}, 30000},
	} {
		x := make([]float32, n)
		for i := range x {
			x[i] = c.fill
		}
		for _, p := range c.puts {
			x[p.at] = p.v
		}
		for _, k := range kerneltest.Names(native.New(), kerneltest.Op(t, "argmax", record.FP32, params("rows", 1, "cols", 1))) {
			if got, err := reduction.Argmax(k, x); err != nil || got != c.want {
				t.Errorf("%s, %s: %d, %v, want %d", k, name, got, err, c.want)
			}
		}
	}
}
