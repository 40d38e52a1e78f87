//go:build cgo && linux

package reduction_test

import (
	"math"
	"strings"
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
				if got, err := reduction.Extremum(k, name, x, 0); err != nil || got != v {
					t.Errorf("%s, %s at %d: %g, %v, want %g", k, name, at, got, err, v)
				}
				x[at] = 0
			}
		}
	}
}

// So it is in one from memory that is read as several runs, at their ends and between.
func TestTheExtremumOfSeveralRunsIsFoundAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 44 MiB")
	}
	const n, runs = 11<<20 + 77, 16
	part := ((n/(runs*16) - 1) | 1) * 16
	places := []int{0, 17, n - 1, runs*part - 1, runs * part}
	for i := 1; i < runs; i += 2 {
		places = append(places, i*part-1, i*part, i*part+part/2)
	}
	x := make([]float32, n)
	for name, v := range map[string]float32{"max": 1, "min": -1, "argmax": 1} {
		for _, k := range kerneltest.Names(native.New(), kerneltest.Op(t, name, record.FP32, params("rows", 1, "cols", 1))) {
			if strings.Contains(k, "portable") {
				continue // reads one run and takes seconds
			}
			for _, at := range places {
				x[at] = v
				if name == "argmax" {
					if got, err := reduction.Argmax(k, x, 4); err != nil || got != int64(at) {
						t.Errorf("%s: %d, %v, want %d", k, got, err, at)
					}
				} else if got, err := reduction.Extremum(k, name, x, 4); err != nil || got != v {
					t.Errorf("%s, %s at %d: %g, %v, want %g", k, name, at, got, err, v)
				}
				x[at] = 0
			}
		}
	}
}

// Of several runs read side by side the first of equals counts, and the first NaN, in whatever run; what grows from run to run is found too.
func TestArgmaxOfSeveralRunsGivesTheFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 44 MiB")
	}
	const n, run = 11<<20 + 77, 16384
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		puts map[int]float32
		want int64
	}{
		"equals in one group":    {map[int]float32{9*run + 5: 5, 14*run + 2: 5}, 9*run + 5},
		"equals in two groups":   {map[int]float32{37*run + 8: 5, 9*run + 9: 5}, 9*run + 9},
		"larger behind":          {map[int]float32{9*run + 5: 5, 14*run + 2: 6, 15 * run: 6}, 14*run + 2},
		"NaN behind":             {map[int]float32{9*run + 5: 5, 14*run + 2: nan, 15 * run: nan}, 14*run + 2},
		"NaN before what beats":  {map[int]float32{300*run + 5: nan, 300*run + 6: 7}, 300*run + 5},
		"ascending over the end": {map[int]float32{run: 1, 2 * run: 2, 11 * run: 3, 90 * run: 4, n - 1: 5}, n - 1},
	} {
		x := make([]float32, n)
		for at, v := range c.puts {
			x[at] = v
		}
		for _, k := range kerneltest.Names(native.New(), kerneltest.Op(t, "argmax", record.FP32, params("rows", 1, "cols", 1))) {
			if got, err := reduction.Argmax(k, x, 4); err != nil || got != c.want {
				t.Errorf("%s, %s: %d, %v, want %d", k, name, got, err, c.want)
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
			if got, err := reduction.Argmax(k, x, 0); err != nil || got != c.want {
				t.Errorf("%s, %s: %d, %v, want %d", k, name, got, err, c.want)
			}
		}
	}
}
