package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/measure"
)

// controllers count 100 bytes with each launch that ran.
type controllers struct {
	ran    *int
	failAt int // reading that fails, from 1; 0: none
	reads  int
	closed bool
}

func (c *controllers) Read() ([]uint64, error) {
	c.reads++
	if c.reads == c.failAt {
		return nil, errors.New("others had the counter")
	}
	return []uint64{uint64(100 * *c.ran)}, nil
}

func (c *controllers) Rate(from, to []uint64, dt time.Duration) (float64, error) {
	return float64(to[0]-from[0]) / dt.Seconds(), nil
}

func (c *controllers) Close() error { c.closed = true; return nil }

// calls is a sampler that runs one launch ahead of its samples.
type calls struct{ ran *int }

func (c calls) Measure(_ context.Context, launches, samples int) ([]backend.Sample, error) {
	*c.ran += launches + launches*samples
	var out []backend.Sample
	for range samples {
		at := int64(measure.MonotonicNow())
		time.Sleep(time.Millisecond)
		out = append(out, backend.Sample{StartNS: at, EndNS: at + 1e6, Launches: launches})
	}
	return out, nil
}

func TestTheTrafficOfAnArmIsThatOfTheCallsThatTookItsSamples(t *testing.T) {
	for _, tc := range []struct {
		name   string
		failAt int
		want   [2]int64
		why    string
	}{
		{"two arms in turn", 0, [2]int64{100 * (4 + 2*3), 100 * 2 * 4}, ""},
		{"a reading before a call fails", 3, [2]int64{}, "others had the counter"},
		{"a reading after a call fails", 4, [2]int64{}, "others had the counter"},
	} {
		ran := 0
		from := &controllers{ran: &ran, failAt: tc.failAt}
		m := &moved{from: from}
		a, b := m.watch(calls{&ran}), m.watch(calls{&ran})
		var arms [2][]backend.Sample
		take := func(to *[]backend.Sample, s measure.Sampler, launches, samples int) {
			got, err := s.Measure(t.Context(), launches, samples)
			if err != nil || len(got) != samples {
				t.Fatalf("%s: %v, %v", tc.name, got, err)
			}
			*to = append(*to, got...)
		}
		var warm []backend.Sample
		take(&warm, a, 1, 5) // nobody's
		take(&arms[0], a, 1, 3)
		ran += 7 // something else between the calls
		take(&arms[1], b, 2, 3)
		take(&arms[0], a, 2, 2)
		code := make([]backend.CodeSamples, 2)
		m.tell(code, arms[:])
		for i, c := range code {
			refused := len(c.Refused) == 1 && c.Refused[0].Event == backend.DRAMBytes && strings.Contains(c.Refused[0].Reason, tc.why)
			if d := c.DRAMBytes - tc.want[i]; d < -2 || d > 2 || refused != (tc.why != "") {
				t.Errorf("%s, arm %d: %+v, want %d bytes", tc.name, i, c, tc.want[i])
			}
		}
		if m.close(); !from.closed {
			t.Error("the counters are left open")
		}
	}
}

func TestControllersThatAreRefusedLeaveTheMeasurementAlone(t *testing.T) {
	s := &Server{Traffic: func() (Traffic, error) { return nil, errors.New("no such counters") }, cur: &prepared{}}
	s.cur.c.Device = "cpu"
	m := s.moved(1000)
	ran := 0
	sampler := m.watch(calls{&ran})
	got, err := sampler.Measure(t.Context(), 1, 1)
	code := make([]backend.CodeSamples, 1)
	m.tell(code, [][]backend.Sample{got})
	m.close()
	if err != nil || ran != 2 || code[0].DRAMBytes != 0 || len(code[0].Refused) != 1 || code[0].Refused[0].Reason != "no such counters" {
		t.Errorf("%+v, %v, %d launches", code[0], err, ran)
	}
	if s.moved(0) != nil { // nothing is sampled
		t.Error("the counters are opened where nothing is sampled")
	}
	s.cur.c.Device = "cuda:0"
	if s.moved(1000) != nil {
		t.Error("the host's counters are opened for a GPU")
	}
	var none *moved
	none.tell(code, nil)
	none.close()
}
