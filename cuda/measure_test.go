//go:build cuda && linux && cgo

package cuda_test

import (
	"testing"
	"time"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/backend"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Samples lie on the clock of the observer, one after another, the last before Measure returned.
func TestSamplesArePlacedOnTheHostsClock(t *testing.T) {
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e, err := d.Prepare(op.Single(cudatest.Op(t, "copy", record.FP32, "rows=3,cols=1000")), backend.PrepareOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Release()
	if err := e.Fill(false, 0); err != nil {
		t.Fatal(err)
	}
	start := measure.MonotonicNow()
	got, err := e.Measure(t.Context(), 3, 20) // more than one chunk
	end := measure.MonotonicNow()
	if err != nil || len(got) != 20 {
		t.Fatalf("%d samples, %v", len(got), err)
	}
	for i, s := range got {
		if untimed := map[int]int{0: 3, 16: 1}[i]; s.Untimed != untimed {
			t.Errorf("sample %d follows %d untimed launches, want %d", i, s.Untimed, untimed)
		}
		if s.Launches != 3 || s.EndNS <= s.StartNS || i > 0 && s.StartNS < got[i-1].EndNS {
			t.Errorf("sample %d: %+v after %+v", i, s, got[max(0, i-1)])
		}
	}
	// The lead, three launches as a sample has, lies before the first sample.
	if lead := time.Duration(got[0].StartNS) - start; lead < time.Duration(got[0].EndNS-got[0].StartNS)/4 {
		t.Errorf("the first sample of %d ns began %v after the call: as many untimed launches lie before it", got[0].EndNS-got[0].StartNS, lead)
	}
	if time.Duration(got[19].EndNS) > end {
		t.Errorf("the last sample ended at %d, the call at %d", got[19].EndNS, end)
	}
}

func TestADeviceIsNamedByItsPlatformAndNumber(t *testing.T) {
	for _, id := range []string{"0", "cuda", "cuda:", "cuda:1", "cuda:-1", "cuda:x", "cpu:0", "cuda:cuda:0"} {
		if d, err := cuda.New().Open(id, backend.OpenOptions{}); !backend.IsUnsupported(err) {
			t.Errorf("%q: %v, %v", id, d, err)
		}
	}
}
