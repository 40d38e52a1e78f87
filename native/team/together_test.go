//go:build cgo && linux

package team

import (
	"errors"
	"testing"

	"ridge/goharness/backend"
)

func TestWorkOnAllThreadsIsComparedWithWorkOnOne(t *testing.T) {
	one, err := New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if _, err := one.TogetherOverAlone(); err == nil {
		t.Error("one thread was compared with itself")
	}
	two, err := New(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	// Threads that are not pinned may meet on one CPU, and beside other work the samples may be disturbed: only what cannot be is refused.
	if ratio, err := two.TogetherOverAlone(); !errors.Is(err, errDisturbed) && (err != nil || !(ratio >= 0.9)) {
		t.Errorf("work on two threads takes %g of the time on one, err %v", ratio, err)
	}
}

func TestSamplesOfOneThreadThatWereDisturbedAreTakenAgain(t *testing.T) {
	failed := errors.New("a launch failed")
	for name, c := range map[string]struct {
		together, alone [][]int64 // nanoseconds, by round; the last goes on
		ratio           float64
		err             error
	}{
		"cores of their own":                    {together: [][]int64{{14, 15, 14}}, alone: [][]int64{{14, 90, 14}}, ratio: 1},
		"a core between them":                   {together: [][]int64{{28, 29, 80}}, alone: [][]int64{{15, 14, 14}}, ratio: 2},
		"one thread was disturbed throughout":   {together: [][]int64{{14}, {90}}, alone: [][]int64{{50, 60}, {14, 50}}, ratio: 1},
		"the host never gives one thread a CPU": {together: [][]int64{{14}}, alone: [][]int64{{50}}, err: errDisturbed},
		"a launch fails":                        {together: [][]int64{{14}}, err: failed},
	} {
		var round [2]int
		ratio, err := togetherOverAlone(func(alone bool) ([]backend.Sample, error) {
			of, i := c.together, 0
			if alone {
				of, i = c.alone, 1
			}
			if len(of) == 0 {
				return nil, failed
			}
			var out []backend.Sample
			for _, ns := range of[min(round[i], len(of)-1)] {
				out = append(out, backend.Sample{StartNS: 1000, EndNS: 1000 + ns})
			}
			round[i]++
			return out, nil
		})
		if ratio != c.ratio || !errors.Is(err, c.err) {
			t.Errorf("%s: %g, %v; want %g, %v", name, ratio, err, c.ratio, c.err)
		}
	}
}
