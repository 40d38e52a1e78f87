//go:build cgo && linux && (amd64 || arm64)

package sample_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ridge/internal/fakeperf"
	"ridge/native/sample"
)

var asked = []sample.Event{{Name: "first", Type: 7, Config: 0}, {Name: "second", Type: 7, Config: 1}, {Name: "third", Type: 7, Config: 2}}

// counted samples two threads for a while with the script's counters.
func counted(t *testing.T, s fakeperf.Script) *sample.Sampler {
	t.Helper()
	defer fakeperf.Install(s)()
	tm := start(t, 2)
	got, err := sample.Start(tm, 1000, asked)
	if err != nil {
		t.Fatal(err)
	}
	spin(t, tm, 30*time.Millisecond)
	if err := got.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := fakeperf.Open(); n != 0 {
		t.Errorf("%d counters are left open", n)
	}
	if len(got.Ticks[0]) < 2 || len(got.Ticks[1]) < 2 {
		t.Skipf("this machine is too busy: %d and %d ticks", len(got.Ticks[0]), len(got.Ticks[1]))
	}
	return got
}

// Each event is counted or refused by itself, and its counts stand in its own column whichever others are missing.
func TestAnEventThatIsRefusedTakesNoOtherWithIt(t *testing.T) {
	steps := []uint64{1000, 100, 10}
	for _, tc := range []struct {
		name  string
		err   [3]syscall.Errno // of each event; 0: it is counted
		opens [3]int           // before that
	}{
		{name: "all are there"},
		{name: "the leader is refused", err: [3]syscall.Errno{syscall.EACCES}},
		{name: "one in the middle is refused", err: [3]syscall.Errno{0, syscall.ENOENT}},
		{name: "the last is refused", err: [3]syscall.Errno{0, 0, syscall.EINVAL}},
		{name: "the first two, each for its own reason", err: [3]syscall.Errno{syscall.ENOENT, syscall.EMFILE}},
		{name: "the leader on one of two threads", err: [3]syscall.Errno{syscall.EMFILE}, opens: [3]int{1}},
		{name: "none is there", err: [3]syscall.Errno{syscall.EPERM, syscall.EPERM, syscall.EPERM}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			script := fakeperf.Script{PerMille: 1000}
			var want, refused []string
			var step []uint64
			for i, e := range asked {
				script.Events = append(script.Events, fakeperf.Event{Type: e.Type, Config: e.Config, Step: steps[i], Opens: tc.opens[i], Err: tc.err[i]})
				if tc.err[i] == 0 {
					want, step = append(want, e.Name), append(step, steps[i])
				} else {
					refused = append(refused, e.Name)
				}
			}
			s := counted(t, script)
			if !slices.Equal(s.Events(), want) {
				t.Fatalf("events %v, want %v", s.Events(), want)
			}
			for i, r := range s.Refused {
				if i >= len(refused) || r.Event != refused[i] || !strings.HasPrefix(r.Reason, "perf_event_open: ") {
					t.Errorf("refused %+v, want %v", s.Refused, refused)
				}
			}
			if len(s.Refused) != len(refused) {
				t.Errorf("refused %+v, want %v", s.Refused, refused)
			}
			for thread, ticks := range s.Ticks {
				for i := 1; i < len(ticks); i++ {
					for k, one := range step {
						if d := ticks[i].Counts[k] - ticks[i-1].Counts[k]; d != one {
							t.Fatalf("thread %d, tick %d: %s rose by %d, want %d: %+v", thread, i, want[k], d, one, ticks[i])
						}
					}
				}
			}
		})
	}
}

// A tick tells for how long the counters counted; where they could not be read it shows none of an older one.
func TestATickTellsForHowLongItsCountersCounted(t *testing.T) {
	events := []fakeperf.Event{{Type: 7, Config: 0, Step: 1000}, {Type: 7, Config: 1, Step: 100}, {Type: 7, Config: 2, Step: 10}}
	for _, tc := range []struct {
		name             string
		script           fakeperf.Script
		enabled, counted uint64 // from a tick to the next
	}{
		{"alone", fakeperf.Script{Events: events, PerMille: 1000}, 1e6, 1e6},
		{"shared", fakeperf.Script{Events: events, PerMille: 400}, 1e6, 4e5},
		{"never", fakeperf.Script{Events: events}, 1e6, 0},
		{"unreadable", fakeperf.Script{Events: events, PerMille: 1000, ReadErr: syscall.EIO}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for thread, ticks := range counted(t, tc.script).Ticks {
				for i := 1; i < len(ticks); i++ {
					a, b := ticks[i-1], ticks[i]
					if b.EnabledNS-a.EnabledNS != tc.enabled || b.CountedNS-a.CountedNS != tc.counted || tc.script.ReadErr != 0 && b.EnabledNS+b.Counts[0] != 0 {
						t.Fatalf("thread %d, tick %d: %+v after %+v", thread, i, b, a)
					}
				}
			}
		})
	}
}
